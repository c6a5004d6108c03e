-- version 1
CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

CREATE TABLE visits(
  id INTEGER PRIMARY KEY, url TEXT NOT NULL, fingerprint INTEGER NOT NULL,
  host INTEGER NOT NULL, at REAL NOT NULL, generation INTEGER NOT NULL,
  queued REAL NOT NULL, score REAL NOT NULL, tries INTEGER NOT NULL,
  source TEXT, anchor TEXT NOT NULL, before TEXT NOT NULL, after TEXT NOT NULL,
  tag_path TEXT NOT NULL, rel TEXT NOT NULL, hreflang TEXT NOT NULL, channel TEXT NOT NULL,
  depth INTEGER NOT NULL, hops INTEGER NOT NULL, parent REAL NOT NULL, inlinks INTEGER NOT NULL,
  status INTEGER, started REAL, elapsed REAL, ip TEXT NOT NULL, size INTEGER NOT NULL,
  body_size INTEGER NOT NULL, etag TEXT NOT NULL, last_modified TEXT NOT NULL,
  payload_digest TEXT NOT NULL, has_page INTEGER NOT NULL, media_type TEXT NOT NULL,
  charset TEXT NOT NULL, language TEXT NOT NULL, title TEXT NOT NULL,
  description TEXT NOT NULL, canonical TEXT, may_index INTEGER NOT NULL,
  may_follow INTEGER NOT NULL, text_digest INTEGER, verdict REAL, reasons TEXT NOT NULL,
  relevant INTEGER NOT NULL, copy_of TEXT, copy_exact INTEGER NOT NULL, moved TEXT,
  failure TEXT, detail TEXT NOT NULL, final INTEGER NOT NULL,
  warc INTEGER, offset INTEGER, length INTEGER NOT NULL, request_length INTEGER NOT NULL,
  payload_of INTEGER
);
CREATE INDEX visits_fingerprint ON visits(fingerprint);
CREATE INDEX visits_host ON visits(host);
CREATE INDEX visits_relevant ON visits(id) WHERE relevant;
CREATE TABLE texts(visit INTEGER PRIMARY KEY, data BLOB NOT NULL);

CREATE TABLE hosts(
  id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE,
  visits INTEGER NOT NULL, relevant INTEGER NOT NULL, failures INTEGER NOT NULL
);
CREATE TABLE counters(
  name TEXT, part TEXT, value INTEGER NOT NULL, PRIMARY KEY(name, part)
) WITHOUT ROWID;
CREATE TABLE curve(visits INTEGER PRIMARY KEY, relevant INTEGER NOT NULL);

CREATE TABLE frontier_index(entry INTEGER PRIMARY KEY, data BLOB NOT NULL);
CREATE TABLE frontier_text(entry INTEGER PRIMARY KEY, data BLOB NOT NULL);
CREATE TABLE robots(
  origin TEXT PRIMARY KEY, at REAL NOT NULL, status INTEGER NOT NULL, data BLOB NOT NULL
) WITHOUT ROWID;

CREATE TABLE labels(
  id INTEGER PRIMARY KEY AUTOINCREMENT, url TEXT NOT NULL, fingerprint INTEGER NOT NULL,
  value REAL NOT NULL, by TEXT NOT NULL, at REAL NOT NULL, replaced INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX labels_fingerprint ON labels(fingerprint);
CREATE TABLE generations(
  number INTEGER PRIMARY KEY, name TEXT NOT NULL, note TEXT NOT NULL, at REAL NOT NULL,
  data BLOB NOT NULL
);

CREATE TABLE sketches(visit INTEGER PRIMARY KEY, keys BLOB NOT NULL);
CREATE TABLE signatures(visit INTEGER PRIMARY KEY, data BLOB NOT NULL);

CREATE TABLE warcs(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, length INTEGER NOT NULL);
CREATE TABLE payloads(key INTEGER PRIMARY KEY, visit INTEGER NOT NULL);

-- version 2
ALTER TABLE visits ADD COLUMN yields TEXT NOT NULL DEFAULT ''

-- version 3
ALTER TABLE visits ADD COLUMN topics TEXT NOT NULL DEFAULT '';
ALTER TABLE labels ADD COLUMN topic TEXT NOT NULL DEFAULT '';

-- version 4
CREATE TABLE pages(id INTEGER PRIMARY KEY, fingerprint INTEGER NOT NULL, url TEXT NOT NULL);
CREATE INDEX pages_fingerprint ON pages(fingerprint);
CREATE TABLE versions(
  page INTEGER NOT NULL, number INTEGER NOT NULL, at REAL NOT NULL, seen REAL NOT NULL,
  status INTEGER NOT NULL, content_type TEXT NOT NULL, body INTEGER NOT NULL,
  PRIMARY KEY(page, number)
) WITHOUT ROWID;
CREATE INDEX versions_body ON versions(body);
CREATE TABLE bodies(
  id INTEGER PRIMARY KEY, digest BLOB NOT NULL UNIQUE, size INTEGER NOT NULL,
  base INTEGER, depth INTEGER NOT NULL, data BLOB NOT NULL
);
CREATE INDEX bodies_base ON bodies(base) WHERE base IS NOT NULL;

CREATE TABLE watched(
  id INTEGER PRIMARY KEY, url TEXT NOT NULL, fingerprint INTEGER NOT NULL, host TEXT NOT NULL,
  edited INTEGER NOT NULL, added REAL NOT NULL, by TEXT NOT NULL, weight REAL NOT NULL,
  state TEXT NOT NULL, visited REAL, succeeded REAL, changed REAL, due REAL,
  etag TEXT NOT NULL, modified TEXT NOT NULL, digest BLOB NOT NULL, rate BLOB NOT NULL,
  visits INTEGER NOT NULL, changes INTEGER NOT NULL, failures INTEGER NOT NULL,
  masks TEXT NOT NULL, note TEXT NOT NULL
);
CREATE INDEX watched_fingerprint ON watched(fingerprint);
CREATE INDEX watched_host ON watched(host);
CREATE INDEX watched_edited ON watched(edited);
CREATE TABLE watch_facts(
  kind TEXT NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY(kind, name)
) WITHOUT ROWID;

CREATE TABLE changes(
  id INTEGER PRIMARY KEY AUTOINCREMENT, url TEXT NOT NULL, fingerprint INTEGER NOT NULL,
  host TEXT NOT NULL, at REAL NOT NULL, since REAL NOT NULL, kinds TEXT NOT NULL,
  significance REAL NOT NULL, masked INTEGER NOT NULL, detail TEXT NOT NULL,
  old INTEGER, new INTEGER, seen REAL, edits BLOB NOT NULL
);
CREATE INDEX changes_fingerprint ON changes(fingerprint);
CREATE INDEX changes_host ON changes(host);
CREATE INDEX changes_at ON changes(at);
CREATE TABLE outbox(
  channel TEXT NOT NULL, change INTEGER NOT NULL, queued REAL NOT NULL, message TEXT NOT NULL,
  tries INTEGER NOT NULL, next REAL, sent REAL, failed REAL, why TEXT NOT NULL,
  PRIMARY KEY(channel, change)
) WITHOUT ROWID;
CREATE INDEX outbox_next ON outbox(channel, next) WHERE sent IS NULL;
CREATE INDEX outbox_change ON outbox(change);

-- version 5
ALTER TABLE visits ADD COLUMN tongue TEXT NOT NULL DEFAULT '';
ALTER TABLE visits ADD COLUMN ungated REAL;

-- version 6
CREATE TABLE passes(
  fingerprint INTEGER NOT NULL, url TEXT NOT NULL, by TEXT NOT NULL, topic TEXT NOT NULL,
  word TEXT NOT NULL, at REAL NOT NULL, PRIMARY KEY(fingerprint, url, by, topic)
) WITHOUT ROWID;

-- version 7
CREATE TABLE searches(
  id INTEGER PRIMARY KEY AUTOINCREMENT, at REAL NOT NULL, engine TEXT NOT NULL,
  query TEXT NOT NULL, page INTEGER NOT NULL, by TEXT NOT NULL, address TEXT NOT NULL,
  outcome TEXT NOT NULL, detail TEXT NOT NULL, results INTEGER NOT NULL, more INTEGER NOT NULL,
  fresh INTEGER NOT NULL, promised REAL NOT NULL, price REAL NOT NULL
);
CREATE TABLE search_results(
  search INTEGER NOT NULL, place INTEGER NOT NULL, url TEXT NOT NULL,
  fingerprint INTEGER NOT NULL, title TEXT NOT NULL, snippet TEXT NOT NULL,
  PRIMARY KEY(search, place)
) WITHOUT ROWID;
CREATE INDEX search_results_fingerprint ON search_results(fingerprint);
CREATE TABLE asked_for(
  id INTEGER PRIMARY KEY AUTOINCREMENT, query TEXT NOT NULL, by TEXT NOT NULL, at REAL NOT NULL
);

-- version 8
CREATE TABLE letters(
  shard INTEGER NOT NULL, number INTEGER NOT NULL, data BLOB NOT NULL, PRIMARY KEY(shard, number)
);
CREATE TABLE heard(shard INTEGER PRIMARY KEY, number INTEGER NOT NULL);
CREATE TABLE gathered(
  shard INTEGER NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL, base INTEGER NOT NULL,
  PRIMARY KEY(shard, first)
) WITHOUT ROWID;

-- version 9
ALTER TABLE visits ADD COLUMN unproven INTEGER NOT NULL DEFAULT 0;
CREATE INDEX visits_unproven ON visits(host) WHERE unproven;

CREATE TABLE state(key TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE facts(
  visit INTEGER PRIMARY KEY, kind INTEGER NOT NULL, host TEXT NOT NULL, at REAL NOT NULL,
  verdict REAL, tongue TEXT NOT NULL, fingerprint INTEGER NOT NULL, changed REAL
);
CREATE INDEX facts_kind ON facts(kind);
CREATE INDEX facts_host ON facts(host);
CREATE INDEX facts_at ON facts(at);
CREATE INDEX facts_verdict ON facts(verdict);
CREATE INDEX facts_tongue ON facts(tongue);
CREATE INDEX facts_fingerprint ON facts(fingerprint);
CREATE INDEX facts_changed ON facts(changed) WHERE changed IS NOT NULL;
CREATE VIRTUAL TABLE words USING fts5(
  title, body, content='', prefix='3', tokenize="unicode61 remove_diacritics 2"
);

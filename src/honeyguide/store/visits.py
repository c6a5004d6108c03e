"""The journal of visits: its rows, and the texts of pages."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple, Self, cast, get_type_hints

from honeyguide.store import row_checks
from honeyguide.store.codec import (
    TextCodec,
    pack_link_stats,
    pack_names,
    pack_reasons,
    pack_topics,
    replace_surrogates,
    unpack_link_stats,
    unpack_names,
    unpack_reasons,
    unpack_topics,
)
from honeyguide.store.database import Database, SqlRow, to_int64, url_key
from honeyguide.types import (
    UNKNOWN_SCORE,
    DuplicateOf,
    Failure,
    FailureKind,
    Link,
    Page,
    Reason,
    Response,
    Url,
    Verdict,
    Visit,
)
from honeyguide.url import host_of, url_fingerprint

if TYPE_CHECKING:
    from honeyguide.store.warc import WarcLocation


class VisitRow(NamedTuple):
    """A visit as it lies in the journal; see :class:`honeyguide.types.Visit` for the words."""

    id: int
    url: Url
    at: float
    generation: int
    queued: float
    score: float
    tries: int
    source: Url | None
    anchor: str
    before: str
    after: str
    tag_path: str
    rel: str
    hreflang: str
    channel: str
    depth: int
    hops: int
    parent: float
    inlinks: int
    status: int | None
    """None: no answer came."""
    started: float | None
    elapsed: float | None
    ip: str
    size: int
    """Bytes of the payload as sent."""
    body_size: int
    etag: str
    last_modified: str
    payload_digest: str
    """``sha1:`` and base 32, as in the WARC file."""
    has_page: int
    media_type: str
    charset: str
    language: str
    title: str
    description: str
    canonical: Url | None
    may_index: int
    may_follow: int
    text_digest: int | None
    verdict: float | None
    reasons: str
    """Compact JSON; :attr:`verdict_reasons` reads it."""
    relevant: int
    copy_of: Url | None
    copy_exact: int
    moved: Url | None
    failure: str | None
    detail: str
    final: int
    offset: int | None
    length: int
    request_length: int
    payload_of: int | None
    """The visit whose WARC record holds this payload, where ours only refers to it."""
    yields: str
    """Compact JSON; part of :attr:`link`."""
    topics: str
    """Compact JSON; :attr:`topic_scores` reads it."""
    tongue: str
    """The detected language; ``language`` is the declared one."""
    ungated: float | None
    """The verdict before the language gate made it 0; None: the gate let the page through."""
    unproven: int
    """Its site is on probation (links/host_trust.py), so the page does not count as relevant."""
    warc: str | None
    """Name of the WARC file."""

    @property
    def verdict_reasons(self) -> tuple[Reason, ...]:
        return unpack_reasons(self.reasons)

    @property
    def topic_scores(self) -> dict[str, float]:
        """The verdict's score for each topic by name; empty where there was but one."""
        return unpack_topics(self.topics)

    @property
    def topical_score(self) -> float | None:
        """The verdict on what the page is about, whatever its language."""
        return self.verdict if self.ungated is None else self.ungated

    def to_followed_visit(self, verdict: Verdict | None) -> Visit:
        """The visit as far as it tells what came of its link; the verdict may be another by now."""
        copy = None if self.copy_of is None else DuplicateOf(self.copy_of, bool(self.copy_exact))
        failure = None
        if self.failure is not None:
            failure = Failure(cast("FailureKind", self.failure), self.detail, bool(self.final))
        return Visit(
            self.link,
            self.at,
            score=self.score,
            verdict=verdict,
            duplicate=copy,
            moved=self.moved,
            failure=failure,
            unproven=bool(self.unproven),
        )

    def is_enough(self, threshold: float) -> bool:
        """Whether it reaches the threshold, copies no other page and need not prove itself."""
        enough = (self.verdict or 0.0) >= threshold
        return enough and self.copy_of is None and not self.unproven

    def as_original(self, threshold: float) -> Self:
        """The same row as if its page copied no other."""
        if self.copy_of is None or self.relevant:
            return self
        row = self._replace(copy_of=None)
        return row._replace(relevant=int(row.is_enough(threshold)))

    @property
    def link(self) -> Link:
        """The link that led to the visit, as the strategy saw it."""
        facts = {name: getattr(self, name) for name in Link._fields}
        return Link(**(facts | {"yields": unpack_link_stats(self.yields)}))


def to_visit_row(values: SqlRow) -> VisitRow | None:
    """The row, with what cannot be true left out; None if it has no address."""
    if not row_checks.is_http_url(values[1]):
        return None
    row = _ROW_CHECKER(values)
    if max(map(len, _GET_TEXTS(row))) > _MAX_TEXT_CHARS:
        row = tuple(v[:_MAX_TEXT_CHARS] if n in _TEXT_PLACES else v for n, v in enumerate(row))
    return VisitRow._make(row)


_FIELD_CHECKS: dict[str, row_checks.ValueCheck] = {
    "url": row_checks.as_it_is,  # looked at before
    "parent": row_checks.chance_or_zero,
    "verdict": row_checks.chance_or_none,
    "ungated": row_checks.chance_or_none,
    "tongue": row_checks.language_or_empty,
    "reasons": row_checks.as_it_is,  # whoever reads them is told that they are damaged
    "failure": row_checks.line_or_none,
    "warc": row_checks.text_or_none,
}
_ROW_CHECKER = row_checks.RowChecker(VisitRow, _FIELD_CHECKS)
_ABSENT_BY_TYPE: dict[Any, object] = {int: 0, float: 0.0, str: ""}
_ABSENT: dict[str, object] = {
    name: _ABSENT_BY_TYPE.get(kind) for name, kind in get_type_hints(VisitRow).items()
} | {"may_index": 1, "may_follow": 1}
"""What a column holds of a visit that brought nothing for it; NULL where the type allows None."""
_TEXT_PLACES = tuple(
    place for place, check in enumerate(_ROW_CHECKER.checks) if check is row_checks.text_or_empty
)
_GET_TEXTS = itemgetter(*_TEXT_PLACES)
_MAX_TEXT_CHARS = 65_536
"""Characters of a text: more than any that we write. Ten million of them would be a stranger's."""


# --------------------------------------------------------------------------------------------------
# The journal: one row per attempt, and the texts of the pages they brought.
# --------------------------------------------------------------------------------------------------


_MAX_FIELD_CHARS = 4096
"""Most characters kept of a title, a description, a detail or a header."""


_VISIT_FIELDS = VisitRow._fields[1:-1]
_GET_COLUMNS = itemgetter(*_VISIT_FIELDS)
_INSERT_SQL = (
    f"INSERT INTO visits(fingerprint, host, warc, {', '.join(_VISIT_FIELDS)}) "
    f"VALUES({', '.join('?' * (len(_VISIT_FIELDS) + 3))})"
)
_SELECT_SQL = (
    f"SELECT visits.id, {', '.join('visits.' + name for name in _VISIT_FIELDS)}, warcs.name "  # noqa: S608
    "FROM visits LEFT JOIN warcs ON warcs.id = visits.warc WHERE "
)


class VisitTable:
    """Writes and reads the tables ``visits`` and ``texts``."""

    def __init__(self, db: Database, codec: TextCodec, words: bool = True) -> None:
        self._db = db
        self._codec = codec
        self._words = words
        """Whether texts are kept."""
        self.topics = unpack_names(db.get_meta("topics"))
        """Names of the topics that verdicts speak of, where there are several."""

    def add_visit(
        self, visit: Visit, host: int, relevant: bool, text: int | None, place: WarcLocation
    ) -> int:
        """Append one visit; ``text`` is its text's digest. The id of its row."""
        topics = ""
        if visit.verdict is not None and visit.verdict.topics:
            topics = pack_topics(self.topics, visit.verdict.topics)
        row = (
            to_int64(url_fingerprint(visit.link.url)),
            host,
            place.file,
            *_GET_COLUMNS(_visit_columns(visit, relevant, text, place, topics)),
        )
        connection = self._db.connection
        with self._db.guard:
            try:
                connection.execute(_INSERT_SQL, row)
            except UnicodeEncodeError:
                connection.execute(
                    _INSERT_SQL, [replace_surrogates(v) if isinstance(v, str) else v for v in row]
                )
            number = int(connection.last_insert_rowid())
            page = visit.page
            if self._words and page is not None and (page.text or page.headings):
                data = self._codec.pack_text(page.headings, page.text)
                connection.execute("INSERT INTO texts VALUES(?, ?)", (number, data))
        return number

    def set_topics(self, wanted: Sequence[str]) -> None:
        """Verdicts speak of these topics from now on; none: of one, whose name nobody needs."""
        topics = tuple(wanted)
        if topics != self.topics:
            self._db.set_meta("topics", pack_names(topics))
            self.topics = topics

    def attempts_at(self, url: str) -> list[VisitRow]:
        """Every attempt at this address, oldest first."""
        where = "visits.fingerprint = ? AND visits.url = ? ORDER BY visits.id"
        rows = self._db.fetch_all(_SELECT_SQL + where, url_key(url))
        return [found for row in rows if (found := to_visit_row(row))]

    def first_page_id(self, url: str) -> int:
        """The number of the first visit that brought a page from this address; 0: none did."""
        sql = "SELECT min(id) FROM visits WHERE fingerprint = ? AND url = ? AND has_page"
        return self._db.fetch_number(sql, url_key(url))

    def visit_by_id(self, number: int) -> VisitRow | None:
        row = self._db.fetch_one(_SELECT_SQL + "visits.id = ?", (number,))
        return None if row is None else to_visit_row(row)

    def iter_visits(
        self,
        *,
        relevant: bool | None = None,
        host: str | None = None,
        page: bool | None = None,
        copies_from: float | None = None,
        since: int = 0,
        limit: int | None = None,
    ) -> Iterator[VisitRow]:
        """Visits with an id above ``since`` that pass every filter given, oldest first.

        ``copies_from``: relevant pages, and copies whose verdict reaches this threshold.
        """
        filters: list[str] = []
        values: list[Any] = []
        if relevant is not None:
            # Written as the partial index has it, so that the index serves.
            filters.append("visits.relevant" if relevant else "NOT visits.relevant")
        if copies_from is not None:
            filters.append("(visits.relevant OR visits.copy_of NOT NULL AND visits.verdict >= ?)")
            values.append(copies_from)
        if page is not None:
            filters.append("visits.has_page = ?")
            values.append(int(page))
        if host is not None:
            filters.append("visits.host = (SELECT id FROM hosts WHERE name = ?)")
            values.append(host)
        filters.append("visits.id > max(?, ?)")
        values.append(since)
        where = " AND ".join(filters)
        pages = self._db.iter_pages(f"{_SELECT_SQL}{where} ORDER BY visits.id LIMIT ?", values)
        for count, row in enumerate(found for row in pages if (found := to_visit_row(row))):
            if count == limit:
                return
            yield row

    def last_id(self) -> int:
        """The number of the last visit."""
        return self._db.fetch_number("SELECT max(id) FROM visits")

    def iter_outcomes(self, since: int = 0) -> Iterator[tuple[bool, str, str, int]]:
        """Of every visit that somebody was asked for, oldest first: whether it was relevant, and
        if so its host; how the link came to us, and on how many pages it stood."""
        rows = self._db.iter_pages(
            "SELECT id, relevant, CASE WHEN relevant THEN url ELSE '' END, channel, inlinks "  # noqa: S608
            f"FROM visits WHERE {row_checks.REQUESTED_SQL} AND id > ? ORDER BY id LIMIT ?",
            size=5_000,
            after=since,
        )
        for _, relevant, url, channel, inlinks in rows:
            good = row_checks.count_or_zero(relevant) > 0
            if not good or row_checks.is_http_url(url):
                name = host_of(url) if good else ""
                found_by = row_checks.text_or_empty(channel)
                yield good, name, found_by, row_checks.count_or_zero(inlinks)

    def count_responses(self) -> tuple[int, dict[int, int]]:
        """How many redirects there were, and how many refusals by HTTP status; a whole scan."""
        rows = self._db.fetch_all(
            "SELECT status, count(moved), coalesce(sum(failure = 'status'), 0) FROM visits "
            "WHERE moved IS NOT NULL OR failure = 'status' GROUP BY status ORDER BY status"
        )
        return sum(row[1] for row in rows), {row[0]: row[2] for row in rows if row[0] and row[2]}

    def update_verdict(self, number: int, verdict: Verdict, tongue: str = "") -> None:
        """Another verdict on a visit's page, and its language; ``VisitCounter.recount_relevant``
        when all are."""
        self._db.execute(
            "UPDATE visits SET verdict = ?, reasons = ?, topics = ?, ungated = ?, tongue = ? "
            "WHERE id = ?",
            (
                *(verdict.score, pack_reasons(verdict.reasons)),
                *(pack_topics(self.topics, verdict.topics), verdict.ungated, tongue, number),
            ),
        )

    def set_probation(self, hosts: Collection[str]) -> list[VisitRow]:
        """The sites of these hosts are on probation and no others; the pages of which that is new,
        as they are now."""
        known = self._db.fetch_all(
            "SELECT DISTINCT hosts.name FROM visits JOIN hosts ON hosts.id = host WHERE unproven"
        )
        changed = set(hosts).symmetric_difference(name for (name,) in known)
        for name in changed:
            self._db.execute(
                "UPDATE visits SET unproven = ? WHERE host = (SELECT id FROM hosts WHERE name = ?)",
                (name in hosts, name),
            )
        return [row for name in changed for row in self.iter_visits(host=name, page=True)]

    def count_unproven(self, threshold: float) -> int:
        """Pages that would be relevant if their sites were not on probation."""
        return self._db.fetch_number(
            "SELECT count(*) FROM visits WHERE unproven AND NOT relevant AND copy_of IS NULL "
            "AND has_page AND verdict BETWEEN ? AND 1",
            (threshold,),
        )

    def sample_verdicts(self, most: int = 20_000) -> list[float]:
        """Verdicts on visited pages that nobody labelled, spread evenly over the visits; without
        copies, given examples, unwanted languages, and pages that could not be judged."""
        step = self.last_id() // most + 1
        rows = self._db.fetch_all(
            "SELECT verdict FROM visits WHERE has_page AND typeof(verdict) IN ('real', 'integer') "
            "AND verdict BETWEEN 0 AND 1 AND NOT (verdict = ? AND reasons = '') "
            "AND copy_of IS NULL AND NOT unproven AND ungated IS NULL AND channel != 'example' "
            "AND id % ? = 0 "
            "AND fingerprint NOT IN (SELECT fingerprint FROM labels WHERE NOT replaced)",
            (UNKNOWN_SCORE, step),
        )
        return [float(verdict) for (verdict,) in rows]

    def relevant_by_topic(self, threshold: float, first: str) -> dict[str, int]:
        """Relevant pages of each topic, by its name; a whole scan.

        A page that was judged when there was but one topic counts for the ``first``.
        """
        rows = self._db.fetch_all(
            "SELECT each.key, count(DISTINCT visits.id) FROM visits, "
            "json_each(CASE WHEN json_valid(topics) THEN topics ELSE '{}' END) AS each "
            "WHERE topics != '' AND length(topics) < 10000 AND each.type IN ('real', 'integer') "
            "AND each.value BETWEEN ? AND 1 AND visits.copy_of IS NULL AND NOT unproven "
            "GROUP BY each.key",
            (threshold,),
        )
        found = {str(name): int(count) for name, count in rows}
        sql = "SELECT count(*) FROM visits WHERE relevant AND topics = ''"
        if single := self._db.fetch_number(sql):
            found[first] = found.get(first, 0) + single
        return found

    def judged_by_generation(self) -> dict[int, tuple[int, int]]:
        """Generation → pages it judged, and how many of them were relevant; a whole scan."""
        rows = self._db.fetch_all(
            "SELECT generation, count(*), sum(relevant) FROM visits "
            "WHERE verdict IS NOT NULL GROUP BY generation"
        )
        return {row[0]: (row[1], row[2]) for row in rows}

    def page_text(self, number: int) -> tuple[tuple[str, ...], str]:
        """Headings and main text; both empty where nothing was kept."""
        data = self._db.fetch_value("SELECT data FROM texts WHERE visit = ?", (number,))
        return ((), "") if data is None else self._codec.unpack_text(data)

    def readable_text(self, row: VisitRow) -> str:
        """Title, headings and main text of a page, each on lines of its own."""
        headings, text = self.page_text(row.id)
        return "\n".join((row.title, *headings, text))

    def forget_texts(self, until: int) -> None:
        """Forget the texts of visits up to this one: a shard does when its collection has them."""
        with self._db.join_transaction():
            self._db.execute("DELETE FROM texts WHERE visit <= ?", (until,))

    def latest_page(self, url: str) -> Page | None:
        """The newest page that this address brought, without its links."""
        where = (
            "visits.fingerprint = ? AND visits.url = ? AND visits.has_page "
            "ORDER BY visits.id DESC LIMIT 1"
        )
        row = self._db.fetch_one(_SELECT_SQL + where, url_key(url))
        found = None if row is None else to_visit_row(row)
        return None if found is None else self.rebuild_page(found)

    def rebuild_page(self, row: VisitRow) -> Page:
        """The page of one visit, without its links."""
        headings, text = self.page_text(row.id)
        return Page(
            url=row.url,
            title=row.title,
            description=row.description,
            headings=headings,
            text=text,
            language=row.language,
            canonical=row.canonical,
            index=bool(row.may_index),
            follow=bool(row.may_follow),
            media_type=row.media_type,
            charset=row.charset,
            detected_language=row.tongue,
        )


def _visit_columns(
    visit: Visit, relevant: bool, text: int | None, place: WarcLocation, topics: str
) -> dict[str, object]:
    """Column → value. A link's and a WARC record's fields are columns of the same name; what a
    visit did not bring has the column's value in ``_ABSENT``."""
    link, response, page, verdict = visit.link, visit.response, visit.page, visit.verdict
    values = _ABSENT | dict(zip(Link._fields, link, strict=True)) | {
        "yields": pack_link_stats(link.yields) if link.yields else "",
        "at": visit.at,
        "generation": visit.generation,
        "queued": visit.initial_score,
        "score": visit.score,
        "tries": visit.tries,
        "relevant": relevant,
        "unproven": visit.unproven,
        "moved": visit.moved,
        "text_digest": text,
        "topics": topics,
        "payload_digest": place.digest,
        "offset": place.offset,
        "length": place.length,
        "request_length": place.request_length,
        "payload_of": place.payload_of,
    }  # fmt: skip
    if response is not None:
        values |= _response_columns(response)
    if page is not None:
        values |= _page_columns(page)
    if verdict is not None:
        values["verdict"] = verdict.score
        values["reasons"] = pack_reasons(verdict.reasons)
        values["ungated"] = verdict.ungated
    if visit.duplicate is not None:
        values["copy_of"], values["copy_exact"] = visit.duplicate
    if visit.failure is not None:
        kind, detail, final = visit.failure
        values |= {"failure": kind, "detail": detail[:_MAX_FIELD_CHARS], "final": final}
    return values


def _response_columns(response: Response) -> dict[str, object]:
    etag = modified = ""
    for name, value in response.headers:
        lower = name.lower()
        if lower == "etag":
            etag = etag or value[:_MAX_FIELD_CHARS]
        elif lower == "last-modified":
            modified = modified or value[:_MAX_FIELD_CHARS]
    return {
        "status": response.status,
        "started": response.started,
        "elapsed": response.elapsed,
        "ip": response.ip,
        "size": len(response.payload),
        "body_size": len(response.body),
        "etag": etag,
        "last_modified": modified,
        "media_type": response.media_type[:256],
    }


def _page_columns(page: Page) -> dict[str, object]:
    return {
        "has_page": 1,
        "media_type": page.media_type,
        "charset": page.charset,
        "language": page.language,
        "title": page.title[:_MAX_FIELD_CHARS],
        "description": page.description[:_MAX_FIELD_CHARS],
        "canonical": page.canonical,
        "may_index": page.index,
        "may_follow": page.follow,
        "tongue": page.detected_language,
    }

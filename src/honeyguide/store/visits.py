"""The journal: one row per attempt, and the texts of the pages they brought."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from honeyguide.store import row_checks as sound
from honeyguide.store.archive import Place
from honeyguide.store.codec import (
    Codec,
    clean,
    pack_names,
    pack_reasons,
    pack_topics,
    pack_yields,
    unpack_names,
)
from honeyguide.store.database import Database, Row, signed
from honeyguide.store.rows import VisitRow as VisitRow
from honeyguide.store.rows import row_of
from honeyguide.types import UNASKED, Page, Response, Verdict, Visit
from honeyguide.url import fingerprint, host

_LONG = 4096
"""Most characters kept of a title, a description, a detail or a header."""


_FIELDS = VisitRow._fields[1:-1]
_INSERT = (
    f"INSERT INTO visits(fingerprint, host, warc, {', '.join(_FIELDS)}) "
    f"VALUES({', '.join('?' * (len(_FIELDS) + 3))})"
)
_SELECT = (
    f"SELECT visits.id, {', '.join('visits.' + name for name in _FIELDS)}, warcs.name "  # noqa: S608
    "FROM visits LEFT JOIN warcs ON warcs.id = visits.warc WHERE "
)


class Visits:
    """Writes and reads the tables ``visits`` and ``texts``."""

    def __init__(self, db: Database, codec: Codec, words: bool = True) -> None:
        self._db = db
        self._codec = codec
        self._words = words
        """Whether texts are kept."""
        row = db.one("SELECT value FROM meta WHERE key = 'topics'")
        self.topics = unpack_names(row[0]) if row else ()
        """Names of the topics that verdicts speak of, where there are several."""

    def add(self, visit: Visit, host: int, relevant: bool, text: int | None, place: Place) -> int:
        """Append one visit; ``text`` is its text's digest. The id of its row."""
        topics = ""
        if visit.verdict is not None and visit.verdict.topics:
            topics = pack_topics(self.topics, visit.verdict.topics)
        row = (
            signed(fingerprint(visit.link.url)),
            host,
            place.file,
            *_values(visit, relevant, text, place, topics),
        )
        connection = self._db.connection
        with self._db.guard:
            try:
                connection.execute(_INSERT, row)
            except UnicodeEncodeError:
                connection.execute(_INSERT, [clean(v) if isinstance(v, str) else v for v in row])
            number = int(connection.last_insert_rowid())
            page = visit.page
            if self._words and page is not None and (page.text or page.headings):
                data = self._codec.pack_text(page.headings, page.text)
                connection.execute("INSERT INTO texts VALUES(?, ?)", (number, data))
        return number

    def follow(self, topics: tuple[str, ...]) -> None:
        """Verdicts speak of these topics from now on."""
        if topics != self.topics:
            with self._db.joined():
                values = ("topics", pack_names(topics))
                self._db.run("INSERT OR REPLACE INTO meta VALUES(?, ?)", values)
            self.topics = topics

    def of(self, url: str) -> list[VisitRow]:
        """Every attempt at this address, oldest first."""
        where = "visits.fingerprint = ? AND visits.url = ? ORDER BY visits.id"
        rows = self._db.all(_SELECT + where, (signed(fingerprint(url)), url))
        return [found for row in rows if (found := row_of(row))]

    def at(self, number: int) -> VisitRow | None:
        row = self._db.one(_SELECT + "visits.id = ?", (number,))
        return None if row is None else row_of(row)

    def stream(
        self,
        relevant: bool | None = None,
        host: str | None = None,
        page: bool | None = None,
        since: int = 0,
        limit: int | None = None,
    ) -> Iterator[VisitRow]:
        """Visits with an id above ``since`` that pass every filter given, oldest first."""
        filters: list[str] = []
        values: list[Any] = []
        if relevant is not None:
            # Written as the partial index has it, so that the index serves.
            filters.append("visits.relevant" if relevant else "NOT visits.relevant")
        if page is not None:
            filters.append("visits.has_page = ?")
            values.append(int(page))
        if host is not None:
            filters.append("visits.host = (SELECT id FROM hosts WHERE name = ?)")
            values.append(host)
        filters.append("visits.id > max(?, ?)")
        values.append(since)
        where = " AND ".join(filters)
        pages = self._db.pages(f"{_SELECT}{where} ORDER BY visits.id LIMIT ?", values)
        for count, row in enumerate(found for row in pages if (found := row_of(row))):
            if count == limit:
                return
            yield row

    def finds(self, since: int = 0) -> Iterator[tuple[bool, str, str, int]]:
        """Of every visit that somebody was asked for, oldest first: whether it was relevant, and
        if so its host; how the link came to us, and on how many pages it stood."""
        marks = ", ".join("?" * len(UNASKED))
        rows = self._db.pages(
            "SELECT id, relevant, CASE WHEN relevant THEN url ELSE '' END, channel, inlinks "  # noqa: S608
            "FROM visits WHERE (failure IS NULL OR status IS NOT NULL OR failure NOT IN "
            f"({marks})) AND id > ? ORDER BY id LIMIT ?",
            tuple(UNASKED),
            size=5_000,
            after=since,
        )
        for _, relevant, url, channel, inlinks in rows:
            good = sound.whole(relevant) > 0
            if not good or sound.is_address(url):
                name = host(url) if good else ""
                yield good, name, sound.text(channel), sound.whole(inlinks)

    def answers(self) -> tuple[int, dict[int, int]]:
        """How many redirects there were, and how many refusals by HTTP status; a whole scan."""
        rows = self._db.all(
            "SELECT status, count(moved), coalesce(sum(failure = 'status'), 0) FROM visits "
            "WHERE moved IS NOT NULL OR failure = 'status' GROUP BY status ORDER BY status"
        )
        return sum(row[1] for row in rows), {row[0]: row[2] for row in rows if row[0] and row[2]}

    def rejudge(self, number: int, verdict: Verdict, tongue: str) -> None:
        self._db.run(
            "UPDATE visits SET verdict = ?, reasons = ?, topics = ?, ungated = ?, tongue = ? "
            "WHERE id = ?",
            (
                verdict.score,
                pack_reasons(verdict.reasons),
                pack_topics(self.topics, verdict.topics),
                verdict.ungated,
                tongue,
                number,
            ),
        )

    def by_topic(self, threshold: float, first: str) -> dict[str, int]:
        """Relevant pages of each topic, by its name; a whole scan.

        A page that was judged when there was but one topic counts for the ``first``.
        """
        rows = self._db.all(
            "SELECT each.key, count(DISTINCT visits.id) FROM visits, "
            "json_each(CASE WHEN json_valid(topics) THEN topics ELSE '{}' END) AS each "
            "WHERE topics != '' AND length(topics) < 10000 AND each.type IN ('real', 'integer') "
            "AND each.value BETWEEN ? AND 1 GROUP BY each.key",
            (threshold,),
        )
        found = {str(name): int(count) for name, count in rows}
        row = self._db.one("SELECT count(*) FROM visits WHERE relevant AND topics = ''")
        if row and row[0]:
            found[first] = found.get(first, 0) + int(row[0])
        return found

    def decided(self) -> dict[int, tuple[int, int]]:
        """Generation → pages it judged, and how many of them were relevant; a whole scan."""
        rows = self._db.all(
            "SELECT generation, count(*), sum(relevant) FROM visits "
            "WHERE verdict IS NOT NULL GROUP BY generation"
        )
        return {row[0]: (row[1], row[2]) for row in rows}

    def text(self, number: int) -> tuple[tuple[str, ...], str]:
        """Headings and main text; both empty where nothing was kept."""
        row = self._db.one("SELECT data FROM texts WHERE visit = ?", (number,))
        return ((), "") if row is None else self._codec.unpack_text(row[0])

    def page(self, url: str) -> Page | None:
        """The newest page that this address brought, without its links."""
        where = (
            "visits.fingerprint = ? AND visits.url = ? AND visits.has_page "
            "ORDER BY visits.id DESC LIMIT 1"
        )
        row = self._db.one(_SELECT + where, (signed(fingerprint(url)), url))
        found = None if row is None else row_of(row)
        return None if found is None else self.rebuilt(found)

    def rebuilt(self, row: VisitRow) -> Page:
        headings, text = self.text(row.id)
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
            tongue=row.tongue,
        )


def _values(visit: Visit, relevant: bool, text: int | None, place: Place, topics: str) -> Row:
    """The values of ``_FIELDS``, in their order."""
    link, page, verdict, failure = visit.link, visit.page, visit.verdict, visit.failure
    return (
        (link.url, visit.at, visit.generation, visit.queued, visit.score, visit.tries)
        + (link.source, link.anchor, link.before, link.after, link.tag_path, link.rel)
        + (link.hreflang, link.channel, link.depth, link.hops, link.parent, link.inlinks)
        + (_NO_ANSWER if visit.response is None else _answer(visit.response))
        + (place.digest,)
        + (_no_page(visit.response) if page is None else _page(page))
        + (text, *((None, "") if verdict is None else (verdict.score, pack_reasons(verdict[1]))))
        + (relevant, *((None, 0) if visit.copy is None else visit.copy), visit.moved)
        + ((None, "", 0) if failure is None else (failure[0], failure[1][:_LONG], failure[2]))
        + (place.offset, place.length, place.request_length, place.payload_of)
        + (pack_yields(link.yields) if link.yields else "", topics)
        + ("" if page is None else page.tongue, None if verdict is None else verdict.ungated)
    )


_NO_ANSWER: Row = (None, None, None, "", 0, 0, "", "")


def _answer(response: Response) -> Row:
    etag = modified = ""
    for name, value in response.headers:
        lower = name.lower()
        if lower == "etag":
            etag = etag or value[:_LONG]
        elif lower == "last-modified":
            modified = modified or value[:_LONG]
    return (
        response.status, response.started, response.elapsed, response.ip,
        len(response.payload), len(response.body), etag, modified,
    )  # fmt: skip


def _page(page: Page) -> Row:
    return (
        1, page.media_type, page.charset, page.language, page.title[:_LONG],
        page.description[:_LONG], page.canonical, page.index, page.follow,
    )  # fmt: skip


def _no_page(response: Response | None) -> Row:
    media_type = "" if response is None else response.media_type[:256]
    return (0, media_type, "", "", "", "", None, 1, 1)

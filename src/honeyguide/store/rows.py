"""A row of the journal, as the rest of the house sees it."""

from __future__ import annotations

from operator import itemgetter
from typing import Any, NamedTuple, cast, get_type_hints

from honeyguide.store import row_checks as sound
from honeyguide.store.codec import unpack_reasons, unpack_topics, unpack_yields
from honeyguide.store.database import Row
from honeyguide.types import Copy, Failure, FailureKind, Link, Reason, Url, Verdict, Visit


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
    """Compact JSON; :attr:`why` reads it."""
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
    """Compact JSON; :attr:`scores` reads it."""
    tongue: str
    """The language that was heard; ``language`` is the declared one."""
    ungated: float | None
    """The verdict before the language gate made it 0; None: the gate let the page through."""
    warc: str | None
    """Name of the WARC file."""

    @property
    def why(self) -> tuple[Reason, ...]:
        return unpack_reasons(self.reasons)

    @property
    def scores(self) -> dict[str, float]:
        """The verdict's score for each topic by name; empty where there was but one."""
        return unpack_topics(self.topics)

    @property
    def topical(self) -> float | None:
        """The verdict on what the page is about, whatever its language."""
        return self.verdict if self.ungated is None else self.ungated

    def followed(self, verdict: Verdict | None) -> Visit:
        """The visit as far as it tells what came of its link; the verdict may be another by now."""
        copy = None if self.copy_of is None else Copy(self.copy_of, bool(self.copy_exact))
        failure = None
        if self.failure is not None:
            failure = Failure(cast("FailureKind", self.failure), self.detail, bool(self.final))
        return Visit(
            self.link,
            self.at,
            score=self.score,
            verdict=verdict,
            copy=copy,
            moved=self.moved,
            failure=failure,
        )

    @property
    def link(self) -> Link:
        """The link that led to the visit, as the strategy saw it."""
        facts = {name: getattr(self, name) for name in Link._fields}
        return Link(**(facts | {"yields": unpack_yields(self.yields)}))


def row_of(values: Row) -> VisitRow | None:
    """The row, with what cannot be true left out; None if it has no address."""
    if not sound.is_address(values[1]):
        return None
    row = _SIEVE(values)
    if max(map(len, _TEXTS(row))) > _LONG:
        row = tuple(v[:_LONG] if n in _PLACES else v for n, v in enumerate(row))
    return VisitRow._make(row)


_BY_KIND: dict[Any, sound.Check] = {
    int: sound.whole,
    float: sound.number,
    str: sound.text,
    int | None: sound.some_whole,
    float | None: sound.some_number,
    str | None: sound.some_text,
    Url | None: sound.some_address,
}
_BY_NAME: dict[str, sound.Check] = {
    "url": sound.anything,  # looked at before
    "parent": sound.chance,
    "verdict": sound.some_chance,
    "ungated": sound.some_chance,
    "tongue": sound.code,
    "reasons": sound.anything,  # whoever reads them is told that they are damaged
    "failure": sound.some_word,
    "warc": sound.some_text,
}
_CHECKS = tuple(
    _BY_NAME.get(name) or _BY_KIND[kind] for name, kind in get_type_hints(VisitRow).items()
)
_SIEVE = sound.Sieve(_CHECKS)
_PLACES = tuple(place for place, check in enumerate(_CHECKS) if check is sound.text)
_TEXTS = itemgetter(*_PLACES)
_LONG = 65_536
"""Characters of a text: more than any that we write. Ten million of them would be a stranger's."""

"""What somebody wants to see of a collection, and how SQLite is asked for it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, Literal, NamedTuple

from honeyguide.errors import ConfigError

FAILED, OTHER, PAGE, RELEVANT = range(4)
"""Kinds of visits: brought nothing, no page (a redirect, a sitemap), a page, a relevant page."""

Sort = Literal["newest", "oldest", "best", "worst", "match", "changed"]
"""By time, by verdict, by how well the words match, or by the last change."""

_MATCHES = 10_000
"""Of the visits that match, so many of the newest are put in order by how well they do."""
_TERMS = 16
_PREFIX = 3
"""Letters that a word must have before it may go on: what begins with one letter is everything."""
_PIECES = re.compile(r'(-?)(?:"([^"]*)"|(\S+))')
_UNSPACED = re.compile(
    "([\u0e01-\u0eff\u1000-\u109f\u1780-\u17d3\u3005-\u3007\u3041-\u30ff\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af])"
)
"""Scripts without blanks between words: each character is a word here, and a word a phrase."""


class Wish(NamedTuple):
    """What somebody wants to see."""

    words: str = ""
    least: float | None = None
    """Verdicts from here …"""
    most: float | None = None
    """… to there."""
    host: str = ""
    tongue: str = ""
    since: float | None = None
    until: float | None = None
    kinds: tuple[int, ...] = ()
    changed: bool = False
    among: Sequence[int] | None = None
    """Only pages with these fingerprints."""
    besides: Sequence[int] | None = None
    """Only pages without these fingerprints."""


class Hit(NamedTuple):
    visit: int
    key: float
    """What it was sorted by: where the next page of results goes on."""


def spread(text: str) -> str:
    """With blanks around each character of a script that has none."""
    return _UNSPACED.sub(r" \1 ", text)


def phrases(words: str) -> list[tuple[bool, str, bool]]:
    """What a person typed: (wanted or not, a word or a phrase, whether it may go on)."""
    found = []
    for minus, quoted, bare in _PIECES.findall(words)[:_TERMS]:
        longer = bare.endswith("*") and len(bare) > _PREFIX
        said = (quoted or bare.rstrip("*")).strip('"')
        if re.search(r"\w", said):
            found.append((not minus, said, longer))
    return found


def matching(words: str) -> str:
    """The same as FTS5 wants it; whatever was typed, it is no syntax error."""
    wanted: list[str] = []
    unwanted: list[str] = []
    for good, said, longer in phrases(words):
        term = '"' + " ".join(spread(said).replace('"', " ").replace("\0", " ").split()) + '"'
        (wanted if good else unwanted).append(term + ("*" if longer else ""))
    if not wanted:
        raise ConfigError("say at least one word that the pages should have")
    return " AND ".join(wanted) + "".join(f" NOT {term}" for term in unwanted)


def ways(wish: Wish) -> Iterator[tuple[str, str, tuple[Any, ...]]]:
    """Indexes by which it can be narrowed down, each with its condition and values."""
    if wish.kinds:
        yield "facts_kind", f"kind IN ({', '.join('?' * len(wish.kinds))})", wish.kinds
    if wish.host:
        yield "facts_host", "host = ?", (wish.host,)
    if wish.tongue:
        yield "facts_tongue", "tongue = ?", (wish.tongue,)
    if wish.since is not None or wish.until is not None:
        yield "facts_at", "at BETWEEN ? AND ?", (wish.since or 0.0, wish.until or 1e300)
    if wish.least is not None or wish.most is not None:
        bounds = wish.least or 0.0, 1.0 if wish.most is None else wish.most
        yield "facts_verdict", "verdict BETWEEN ? AND ?", bounds


def where(wish: Wish, source: str = "facts") -> tuple[str, str, list[Any]]:
    """Where to look, the condition, and its values."""
    parts, values = ["1"], list[Any]()
    if wish.words:
        source = "words CROSS JOIN facts ON facts.visit = words.rowid"
        parts.append("words MATCH ?")
        values.append(matching(wish.words))
    elif wish.among is not None:
        # Few pages are labelled: from their names to their visits is the short way.
        source = (
            "(SELECT DISTINCT value FROM json_each(?)) AS said "
            "CROSS JOIN facts ON facts.fingerprint = said.value"
        )
        values.append(json.dumps(list(wish.among)))
        wish = wish._replace(among=None)
    elif wish.changed:
        source = "facts INDEXED BY facts_changed"
    if wish.kinds:
        parts.append(f"kind IN ({', '.join('?' * len(wish.kinds))})")
        values += wish.kinds
    for condition, value in (
        ("verdict >= ?", wish.least),
        ("verdict <= ?", wish.most),
        ("host = ?", wish.host or None),
        ("tongue = ?", wish.tongue or None),
        ("at >= ?", wish.since),
        ("at < ?", wish.until),
        ("fingerprint IN (SELECT value FROM json_each(?))", wish.among),
        ("fingerprint NOT IN (SELECT value FROM json_each(?))", wish.besides),
    ):
        if value is not None:
            parts.append(condition)
            values.append(value if isinstance(value, float | str) else json.dumps(list(value)))
    if wish.changed:
        parts.append("changed IS NOT NULL")
    return source, " AND ".join(parts), values


def select(
    wish: Wish, sort: Sort, after: Hit | None, source: str = "facts"
) -> tuple[str, list[Any]]:
    source, condition, values = where(wish, source)
    number = "words.rowid" if wish.words else "visit"
    if sort == "match" and wish.words:
        inner = (
            f"SELECT visit, bm25(words, 4.0, 1.0) AS key FROM {source} WHERE {condition} "  # noqa: S608
            f"ORDER BY words.rowid DESC LIMIT {_MATCHES}"
        )
        beyond = "WHERE (key, -visit) > (?, ?) " if after else ""
        values += [after.key, -after.visit] if after else []
        return f"SELECT visit, key FROM ({inner}) {beyond}ORDER BY key, visit DESC", values  # noqa: S608
    if sort in ("best", "worst", "changed"):
        column = "changed" if sort == "changed" else "verdict"
        sign, way = (">", "ASC") if sort == "worst" else ("<", "DESC")
        condition += f" AND {column} IS NOT NULL"
        if after:
            condition += f" AND ({column}, visit) {sign} (?, ?)"
            values += [after.key, after.visit]
        order = f"{column} {way}, visit {way}"
        return f"SELECT visit, {column} FROM {source} WHERE {condition} ORDER BY {order}", values  # noqa: S608
    sign, way = (">", "ASC") if sort == "oldest" else ("<", "DESC")
    if after:
        condition += f" AND {number} {sign} ?"
        values.append(after.visit)
    return f"SELECT visit, 0.0 FROM {source} WHERE {condition} ORDER BY {number} {way}", values  # noqa: S608

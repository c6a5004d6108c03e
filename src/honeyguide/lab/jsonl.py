"""Read pages and aliases from compressed JSON lines, one page a line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from honeyguide.errors import ConfigError
from honeyguide.lab.gzip_io import Unreadable, open_packed, pack
from honeyguide.lab.web import Recorded
from honeyguide.url import canonical

SUFFIXES = (".jsonl.gz", ".jsonl.xz", ".jsonl")

T = TypeVar("T")
_CODE = 20
"""Characters of a language's name."""


class PageLine(msgspec.Struct):
    """A line of a page file; fields that are not named here are skipped."""

    url: str = ""
    html: str | None = None
    charset: str | None = None
    content_type: str | None = None
    title: str | None = None
    labels: list[str] = []
    lang: Any = None
    """Told by whoever recorded it; a page in Turkish is labelled ``language=tr``."""
    outlinks: list[str] = []


class AliasLine(msgspec.Struct):
    alias: str
    url: str


def read_pages(path: Path) -> Iterator[Recorded]:
    """Every line that has an address and HTML; other lines are not pages and are skipped."""
    for line in _lines(path, PageLine):
        url = canonical(line.url)
        if url is None or line.html is None:
            continue
        charset, body = _encoded(line.html, line.charset or "utf-8")
        yield Recorded(
            url,
            200,
            (("Content-Type", _typed(line.content_type or "text/html", charset)),),
            pack(body),
            (*line.labels, *_spoken(line.lang)),
            line.title or "",
            pack("\n".join(line.outlinks).encode("utf-8", "replace")),
        )


def read_aliases(path: Path) -> dict[str, str]:
    return {line.alias: line.url for line in _lines(path, AliasLine)}


def aliases_beside(path: Path) -> Iterable[Path]:
    """Alias files that belong to a page file: ``x.aliases.jsonl.gz`` to ``x`` and ``x-small``."""
    name = _stem(path)
    for other in path.parent.glob("*.aliases.jsonl*"):
        theirs = _stem(other).removesuffix(".aliases")
        if name == theirs or name.startswith(theirs + "-"):
            yield other


def _lines(path: Path, kind: type[T]) -> Iterator[T]:
    if not path.name.endswith(SUFFIXES):
        raise ConfigError(f"{path} is no recorded web: {', '.join(SUFFIXES)}, .warc or .warc.gz")
    decoder = msgspec.json.Decoder(kind)
    number = 0
    try:
        with open_packed(path) as file:
            for line in file:
                number += 1
                if not line.isspace():
                    yield decoder.decode(line)
    except msgspec.MsgspecError as error:
        raise ConfigError(f"{path}, line {number}: {error}") from error
    except Unreadable as error:
        raise ConfigError(f"{path} cannot be read: {error}") from error


def _spoken(said: object) -> tuple[str, ...]:
    return (f"language={said}",) if isinstance(said, str) and 0 < len(said) < _CODE else ()


def _stem(path: Path) -> str:
    return next((path.name.removesuffix(s) for s in SUFFIXES if path.name.endswith(s)), path.stem)


def _encoded(html: str, charset: str) -> tuple[str, bytes]:
    try:
        return charset, html.encode(charset, "xmlcharrefreplace")
    except (LookupError, UnicodeError):
        return "utf-8", html.encode("utf-8", "replace")


def _typed(content_type: str, charset: str) -> str:
    # The corpora were transcoded, so a page's own meta charset may be wrong: the header says.
    if content_type.startswith("text/") and "charset=" not in content_type.lower():
        return f"{content_type}; charset={charset}"
    return content_type

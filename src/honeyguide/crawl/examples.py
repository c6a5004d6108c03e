"""The topic's own examples: addresses that are fetched first, and files that lie on disk."""

from __future__ import annotations

import mimetypes
from pathlib import Path

from honeyguide.config import Settings
from honeyguide.errors import ConfigError, ParseError
from honeyguide.parse.read import read
from honeyguide.types import Example, Link, Page, Response, Url
from honeyguide.url import canonical

_MOST = 1_000
"""Files of each kind."""
_BYTES = 10_000_000


def judged(settings: Settings) -> dict[Url, float]:
    """Addresses the user gave as good (1) and bad (0): labels that came before the crawl."""
    labels: dict[Url, float] = {}
    for value, key in ((1.0, "good"), (0.0, "bad")):
        for text in getattr(settings.topic, key):
            url = canonical(text.strip())
            if url is None:
                raise ConfigError(
                    f"topic.{key}: {text!r} is no http or https address; "
                    f"for files there is topic.{key}_files"
                )
            if labels.setdefault(url, value) != value:
                raise ConfigError(f"{url} is both in topic.good and in topic.bad; say which it is")
    return labels


def examples_of(folder: Path, settings: Settings) -> list[Example]:
    """The files the user gave as examples, read as if they had been fetched."""
    found: list[Example] = []
    for value, key in ((1.0, "good_files"), (0.0, "bad_files")):
        for pattern in getattr(settings.topic, key):
            paths = _matching(folder, pattern)
            if not paths:
                raise ConfigError(f"topic.{key}: there is no file {pattern!r} in {folder}")
            if len(paths) > _MOST:
                raise ConfigError(f"topic.{key}: {pattern!r} means more than {_MOST} files")
            for path in paths:
                page = _read(path, f"topic.{key}")
                found.append(Example(Link(page.url, channel="example"), page, value, "seed"))
    return found


def _matching(folder: Path, pattern: str) -> list[Path]:
    given = Path(pattern).expanduser()
    base, rest = (Path(given.anchor), str(given)[len(given.anchor) :]) if given.anchor else (
        folder, pattern,
    )  # fmt: skip
    try:
        return sorted(path for path in base.glob(rest) if path.is_file())
    except (ValueError, OSError, NotImplementedError) as error:
        raise ConfigError(f"{pattern!r} is no pattern for files: {error}") from error


def _read(path: Path, key: str) -> Page:
    try:
        with path.open("rb") as file:
            body = file.read(_BYTES)
    except OSError as error:
        raise ConfigError(f"{key}: {path} cannot be read: {error}") from error
    kind = mimetypes.guess_type(path.name)[0] or "text/html"
    url = Url(f"file://localhost{path.resolve().as_posix()}")
    answer = Response(url, 200, (("Content-Type", kind),), body, body, b"", b"", "", 0.0, 0.0)
    try:
        return read(answer, Link(url))
    except ParseError as error:
        raise ConfigError(f"{key}: {path} holds no text that can be read: {error}") from error

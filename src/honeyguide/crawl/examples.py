"""The topic's own examples: addresses that are fetched first, and files that lie on disk."""

from __future__ import annotations

import mimetypes
import shutil
from collections.abc import Iterable, Sequence
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
        for wanted in getattr(settings.topic, key):
            paths = _matching(folder, wanted, key)
            if not paths:
                raise ConfigError(f"topic.{key}: there is no file {wanted!r} in {folder}")
            if len(paths) > _MOST:
                raise ConfigError(f"topic.{key}: {wanted!r} means more than {_MOST} files")
            for path in paths:
                page = _read(path, f"topic.{key}")
                found.append(Example(Link(page.url, channel="example"), page, value, "seed"))
    return found


def checked(files: Iterable[str], key: str) -> list[Path]:
    """The user's own files, each of which can be read as a page."""
    paths = [Path(file).expanduser() for file in files]
    for path in paths:
        _read(path, key)
    return paths


def bring(folder: Path, files: Sequence[Path], kind: str) -> None:
    """Copy them to where :func:`pattern` looks for them."""
    place = folder / "examples" / kind
    try:
        place.mkdir(parents=True, exist_ok=True)
        for number, path in enumerate(files, 1):
            shutil.copyfile(path, place / f"{number:03d}-{path.name}")
    except OSError as error:
        raise ConfigError(f"the examples cannot be copied to {place}: {error}") from error


def pattern(kind: str) -> str:
    return f"examples/{kind}/*"


def _matching(folder: Path, wanted: str, key: str) -> list[Path]:
    """Files inside the collection only: a topic.toml may come from a stranger, and what is learned
    from a file is kept where others may read it."""
    inside = not Path(wanted).anchor
    try:
        found = sorted(p for p in folder.glob(wanted) if p.is_file()) if inside else []
    except (ValueError, OSError) as error:
        raise ConfigError(f"topic.{key}: {wanted!r} is no pattern for files: {error}") from error
    home = folder.resolve()
    if not inside or any(home not in path.resolve().parents for path in found):
        raise ConfigError(
            f"topic.{key}: {wanted!r} leads out of {folder}; copy the files into it, as "
            "honeyguide new --good-file does"
        )
    return found


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
        page = read(answer, Link(url))
    except ParseError as error:
        raise ConfigError(f"{key}: {path} holds no text that can be read: {error}") from error
    if not any(text.strip() for text in (page.title, page.text, *page.headings)):
        what = "holds no words" if body.strip() else "is empty"
        raise ConfigError(f"{key}: {path} {what}: nothing can be learned from it; leave it out")
    return page

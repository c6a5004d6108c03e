"""Names that come with requests: of collections, of people, of uploaded files."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote

from honeyguide.errors import ConfigError

_NAME = 100
_PERSON = 60
_MOST = 2_000
"""Folders that are looked at in the root."""
_SUFFIX = re.compile(r"(\.[a-z0-9]{1,6}){0,2}\Z")


def found(root: Path, name: str) -> Path | None:
    """The collection of that name directly in the root; None: there is none.

    A link in the root's place would lead out of it, and is not followed.
    """
    if unfit(name):
        return None
    folder = root / name
    try:
        whole = not folder.is_symlink() and (folder / "topic.toml").is_file()
    except OSError:
        return None
    return folder if whole else None


def collections(root: Path) -> list[Path]:
    """All in the root, the one that was changed last first."""
    dated: list[tuple[int, Path]] = []
    try:
        for place, entry in enumerate(root.iterdir()):
            if place >= _MOST:
                break
            if (folder := found(root, entry.name)) is not None:
                dated.append((max(when for when, _ in stamp(folder)), folder))
    except OSError as error:
        raise ConfigError(f"{root} cannot be read: {error.strerror}") from error
    return [folder for _, folder in sorted(dated, key=lambda pair: (-pair[0], pair[1].name))]


def unfit(name: str) -> str:
    """Why no collection may have this name; '' if one may."""
    if not name or name != name.strip() or len(name) > _NAME:
        return f"a name has 1 to {_NAME} characters, and no blanks around it"
    if not name.isprintable() or any(c in '/\\:*?"<>|' for c in name):
        return 'a name has none of these characters: / \\ : * ? " < > |'
    if name.startswith((".", "-", "~")) or name.endswith("."):
        return "a name begins with a letter or a digit, and does not end with a dot"
    return "" if len(name.encode("utf-8", "replace")) <= 200 else "this name is too long"


def person(header: str) -> str:
    """Who labels, as the browser says it (percent-encoded); cleaned and short."""
    said = unquote(header[: 12 * _PERSON], errors="replace")
    shown = "".join(c if c.isprintable() else " " for c in said)
    return " ".join(shown.split())[:_PERSON].strip()


def file(name: str, fallback: str = "upload") -> str:
    """An uploaded file's name, harmless as one of ours; its ending says what it is."""
    last = re.split(r"[/\\]", name)[-1]
    plain = re.sub(r"[^\w.-]+", "-", last[-50:]).strip(".-")
    stem = plain.partition(".")[0] or fallback
    ending = _SUFFIX.search(plain.lower())
    return f"{stem}{ending.group() if ending else ''}"


def stamp(folder: Path) -> tuple[tuple[int, int], ...]:
    """When a collection's files were last written, and how large they are."""
    found = []
    for name in ("topic.toml", "collection.db", "collection.db-wal"):
        try:
            state = (folder / name).stat()
        except OSError:
            found.append((0, 0))
        else:
            found.append((state.st_mtime_ns, state.st_size))
    return tuple(found)

"""What the user agreed to: which engine a collection may send a key to, or reach in private.

A topic.toml may come from a stranger. It must not choose by itself where a key of the user's goes,
nor what is asked for inside the user's own network. So the agreement lies outside every collection,
in the user's configuration, and holds for one folder, engine, server and key.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import shlex
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from honeyguide.errors import ConfigError
from honeyguide.seeds.api_keys import config_folder, key_name
from honeyguide.seeds.private_hosts import private
from honeyguide.url import canonical, host, origin

if TYPE_CHECKING:
    from honeyguide.config import SearchSettings

BYTES: Final = 1_000_000
"""Largest file of agreements …"""
MOST: Final = 1_000
"""… and most of them: the oldest are forgotten."""
_PLACE = re.compile(r"\{[^{}]*\}")
_KNOWN = {"brave": "https://api.search.brave.com"}
"""Where engines are that need no ``search.url``."""


class Agreement(NamedTuple):
    """This collection may ask that engine there, with that key."""

    folder: str
    """The collection's real path."""
    engine: str
    origin: str
    """Scheme, host and port of ``search.url``; '' if an engine has an address of its own."""
    key: str
    """Name of the variable, or of the file; '': no key is sent."""

    @property
    def where(self) -> str:
        return self.origin or f"wherever the engine {self.engine!r} is"

    @property
    def private(self) -> bool:
        """Whether that is certainly in a private network."""
        return bool(self.origin) and private(f"{self.origin}/")


def origin_of(settings: SearchSettings) -> str:
    """Scheme, host and port of the engine's address; '' if nothing says."""
    url = canonical(_PLACE.sub("1", settings.url.strip())) if settings.url.strip() else None
    if url is None or not host(url):
        return _KNOWN.get(settings.engine, "")
    return origin(url)


def agreement_of(settings: SearchSettings, folder: Path) -> Agreement:
    """What would have to be agreed to."""
    place = str(folder.resolve())
    return Agreement(place, settings.engine, origin_of(settings), key_name(settings))


def agreed(wanted: Agreement, environ: Mapping[str, str] | None = None) -> bool:
    """Whether the user agreed to it; raises ConfigError if that cannot be read."""
    return wanted in _read(_file(environ))


def agree(wanted: Agreement, environ: Mapping[str, str] | None = None) -> Path:
    """Note that the user agreed; where. Raises ConfigError."""
    path = _file(environ)
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with _alone(path.parent):
            known = [one for one in _read(path) if one != wanted]
            _write(path, [*known, wanted][-MOST:])
    except OSError as error:
        raise ConfigError(
            f"{path} cannot be written: {error.strerror}. The search engine cannot be asked "
            "before it can"
        ) from None
    return path


def check(settings: SearchSettings, folder: Path, *, keyed: bool) -> None:
    """A ConfigError unless the user agreed, where that is needed: a public engine that gets no key
    may be asked by anybody. ``keyed``: there is a key."""
    wanted = agreement_of(settings, folder)
    needed = [
        *([f"is sent the key {wanted.key}"] if keyed and wanted.key else []),
        *(["lies in a private network"] if wanted.private else []),
    ]
    if needed and not agreed(wanted):
        raise ConfigError(
            f"search.url: {wanted.where} {' and '.join(needed)}, and nobody allowed that yet for "
            "this collection. If it is what you want: honeyguide queries allow "
            f"{shlex.quote(str(folder))}"
        )


def _file(environ: Mapping[str, str] | None) -> Path:
    return config_folder(environ) / "engines.json"


def _read(path: Path) -> list[Agreement]:
    try:
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            about = os.fstat(file.fileno())
            if not stat.S_ISREG(about.st_mode):
                raise ConfigError(_damaged(path, "no ordinary file"))
            if about.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
                raise ConfigError(f"others can write {path}. Mend it with: chmod 600 {path}")
            raw = file.read(BYTES + 1)
    except FileNotFoundError:
        return []
    except OSError as error:
        raise ConfigError(_damaged(path, str(error.strerror))) from None
    if len(raw) > BYTES:
        raise ConfigError(_damaged(path, "too large"))
    try:
        return [
            Agreement(*(str(one[field]) for field in Agreement._fields))
            for one in json.loads(raw)["agreed"][:MOST]
        ]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise ConfigError(_damaged(path, "not what was written there")) from None


def _write(path: Path, all_: list[Agreement]) -> None:
    """All or nothing: whoever reads meanwhile sees the old ones."""
    text = json.dumps({"agreed": [one._asdict() for one in all_]}, indent=1)
    new = path.with_name(f"engines.{os.getpid()}.new")
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
        with os.fdopen(os.open(new, flags, 0o600), "w", encoding="ascii") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        new.replace(path)
    finally:
        with suppress(OSError):
            new.unlink(missing_ok=True)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """No other process writes meanwhile: neither may forget what the other agreed to."""
    fd = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


def _damaged(path: Path, why: str) -> str:
    return (
        f"{path}, which says what engines may be asked, cannot be read: {why}. Move it away, and "
        "allow them again with: honeyguide queries allow NAME"
    )

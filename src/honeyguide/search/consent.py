"""What belongs to this machine or its network, as far as an address tells."""

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
from honeyguide.fetch.ip_policy import forbidden_reason, is_loopback_host
from honeyguide.search.api_keys import config_folder, sent_key_name
from honeyguide.url import canonical_url, host_of, is_ip, site_origin

if TYPE_CHECKING:
    from honeyguide.config.settings import SearchSettings


_PRIVATE_SUFFIXES = ("local", "internal", "intranet", "lan", "corp", "home", "private", "home.arpa")
"""Ends of names that no public name server answers for (RFC 6762, RFC 8375, and custom)."""


def is_private_url(url: str, ip: str = "") -> bool:
    """Whether this address leads to a file or into a private network.

    ``ip``: where the answer came from, if that is known: a name may lead anywhere.
    """
    if not url.startswith(("http://", "https://")):
        return True
    if ip and forbidden_reason(ip):
        return True
    name = host_of(url).rstrip(".").lower()
    if is_ip(name):
        return bool(forbidden_reason(name))
    return (
        "." not in name
        or is_loopback_host(name)
        or name.endswith(tuple(f".{end}" for end in _PRIVATE_SUFFIXES))
    )


# --------------------------------------------------------------------------------------------------
# What the user agreed to: which engine a collection may send a key to, or reach in private.
#
# A topic.toml may come from a stranger. It must not choose by itself where a key of the user's
# goes, nor what is asked for inside the user's own network. So the agreement lies outside every
# collection, in the user's configuration, and holds for one folder, engine, server and key.
# --------------------------------------------------------------------------------------------------


MAX_CONSENT_BYTES: Final = 1_000_000
"""Largest file of agreements …"""
MAX_CONSENTS: Final = 1_000
"""… and most of them: the oldest are forgotten."""
_TEMPLATE_FIELD = re.compile(r"\{[^{}]*\}")
_KNOWN_ORIGINS = {"brave": "https://api.search.brave.com"}
"""Where engines are that need no ``search.url``."""


class EngineConsent(NamedTuple):
    """This collection may ask that engine there, with that key."""

    folder: str
    """The collection's real path."""
    engine: str
    origin: str
    """Scheme, host and port of ``search.url``; '' if an engine has an address of its own."""
    key: str
    """Name of the variable, or of the file; '': no key is sent."""

    @property
    def server_name(self) -> str:
        return self.origin or f"wherever the engine {self.engine!r} is"

    @property
    def is_private(self) -> bool:
        """Whether that is certainly in a private network."""
        return bool(self.origin) and is_private_url(f"{self.origin}/")


def engine_origin(settings: SearchSettings) -> str:
    """Scheme, host and port of the engine's address; '' if nothing says."""
    url = (
        canonical_url(_TEMPLATE_FIELD.sub("1", settings.url.strip()))
        if settings.url.strip()
        else None
    )
    if url is None or not host_of(url):
        return _KNOWN_ORIGINS.get(settings.engine, "")
    return site_origin(url)


def required_consent(settings: SearchSettings, folder: Path) -> EngineConsent:
    """What would have to be agreed to."""
    place = str(folder.resolve())
    return EngineConsent(place, settings.engine, engine_origin(settings), sent_key_name(settings))


def has_consent(wanted: EngineConsent, environ: Mapping[str, str] | None = None) -> bool:
    """Whether the user agreed to it; raises ConfigError if that cannot be read."""
    return wanted in _read_consents(_consent_file(environ))


def grant_consent(wanted: EngineConsent, environ: Mapping[str, str] | None = None) -> Path:
    """Note that the user agreed; where. Raises ConfigError."""
    path = _consent_file(environ)
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with _lock_folder(path.parent):
            known = [one for one in _read_consents(path) if one != wanted]
            _write_consents(path, [*known, wanted][-MAX_CONSENTS:])
    except OSError as error:
        raise ConfigError(
            f"{path} cannot be written: {error.strerror}. The search engine cannot be asked "
            "before it can"
        ) from None
    return path


def require_consent(settings: SearchSettings, folder: Path, *, keyed: bool) -> None:
    """A ConfigError unless the user agreed, where that is needed: a public engine that gets no key
    may be asked by anybody. ``keyed``: there is a key."""
    wanted = required_consent(settings, folder)
    needed = [
        *([f"is sent the key {wanted.key}"] if keyed and wanted.key else []),
        *(["lies in a private network"] if wanted.is_private else []),
    ]
    if needed and not has_consent(wanted):
        raise ConfigError(
            f"search.url: {wanted.server_name} {' and '.join(needed)}, which is not allowed yet "
            "for this collection. To allow it: honeyguide queries allow "
            f"{shlex.quote(str(folder))}"
        )


def _consent_file(environ: Mapping[str, str] | None) -> Path:
    return config_folder(environ) / "engines.json"


def _read_consents(path: Path) -> list[EngineConsent]:
    try:
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            about = os.fstat(file.fileno())
            if not stat.S_ISREG(about.st_mode):
                raise ConfigError(_damaged_message(path, "not an ordinary file"))
            if about.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
                raise ConfigError(f"others can write {path}. Mend it with: chmod 600 {path}")
            raw = file.read(MAX_CONSENT_BYTES + 1)
    except FileNotFoundError:
        return []
    except OSError as error:
        raise ConfigError(_damaged_message(path, str(error.strerror))) from None
    if len(raw) > MAX_CONSENT_BYTES:
        raise ConfigError(_damaged_message(path, "too large"))
    try:
        return [
            EngineConsent(*(str(one[field]) for field in EngineConsent._fields))
            for one in json.loads(raw)["agreed"][:MAX_CONSENTS]
        ]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise ConfigError(_damaged_message(path, "not what was written there")) from None


def _write_consents(path: Path, all_: list[EngineConsent]) -> None:
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
def _lock_folder(folder: Path) -> Iterator[None]:
    """No other process writes meanwhile: neither may forget what the other agreed to."""
    fd = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


def _damaged_message(path: Path, why: str) -> str:
    return (
        f"{path}, which says what engines may be asked, cannot be read: {why}. Move it away, and "
        "allow them again with: honeyguide queries allow NAME"
    )

"""The user's key to an engine: read once, sent, and never shown."""

from __future__ import annotations

import json
import logging
import os
import re
import stat
from base64 import b64decode, b64encode, urlsafe_b64encode
from collections.abc import Iterator, Mapping
from contextlib import suppress
from hashlib import blake2b
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Final, NoReturn
from urllib.parse import quote, quote_plus

from honeyguide.errors import ConfigError

if TYPE_CHECKING:
    from honeyguide.config.settings import SearchSettings


MAX_KEY_BYTES: Final = 4096
"""Largest key …"""
MIN_KEY_LENGTH: Final = 6
"""… and smallest: a letter or two could not be taken out of a text and leave it readable."""
REDACTED: Final = "[key]"
"""What stands where the key stood."""
VARIABLE_PREFIX: Final = "HONEYGUIDE_"
"""How a variable begins that may hold a key: a topic.toml from a stranger must not name others."""
_is_printable_key = re.compile(r"[!-~](?:[ -~]*[!-~])?").fullmatch
_log = logging.getLogger(__name__)


class ApiKey:
    """A secret that shows itself to nobody who does not ask for it by :meth:`reveal`."""

    __slots__ = ("_forms", "_pattern", "_text")

    def __init__(self, text: str = "") -> None:
        if text and not (MIN_KEY_LENGTH <= len(text) <= MAX_KEY_BYTES and _is_printable_key(text)):
            raise ConfigError(
                f"the key must be {MIN_KEY_LENGTH} to {MAX_KEY_BYTES} printable ASCII characters on one line"
            )
        self._text = text
        # Whatever case: the hexadecimal digits of %2F may be written in either.
        self._forms = sorted({form.lower() for form in _encoded_forms(text)}, key=len, reverse=True)
        either = "|".join(map(re.escape, self._forms))
        self._pattern = re.compile(either, re.IGNORECASE) if either else None

    def __bool__(self) -> bool:
        return bool(self._text)

    def __repr__(self) -> str:
        return "Key([key])" if self else "Key()"

    def __str__(self) -> str:
        return REDACTED if self else ""

    def __format__(self, spec: str) -> str:
        return format(str(self), spec)

    def __reduce__(self) -> NoReturn:
        raise TypeError("a key must not be saved")

    def reveal(self) -> str:
        """The key itself, for the request that needs it."""
        return self._text

    def redact(self, text: str) -> str:
        """The text without the key, in whatever form it may be there."""
        # Looking for plain text is a hundred times as fast as looking for a pattern.
        folded = text.lower()
        if self._pattern is None or not any(form in folded for form in self._forms):
            return text
        return self._pattern.sub(REDACTED, text)

    def account_hash(self, salt: bytes) -> str:
        """Tells two keys apart without telling either."""
        return blake2b(self._text.encode(), digest_size=8, salt=salt[:16]).hexdigest()


def load_api_key(
    settings: SearchSettings,
    folder: Path | None = None,
    environ: Mapping[str, str] | None = None,
) -> ApiKey:
    """The key that the settings name, or none; ``folder`` is the collection's, which may
    be given away, so that no key may lie in it. Raises ConfigError."""
    if settings.key_env and not settings.key_env.startswith(VARIABLE_PREFIX):
        raise ConfigError(
            f"search.key_env: {settings.key_env!r} does not begin with {VARIABLE_PREFIX}, and no other "
            f"variables are ever sent. Keep the key in {VARIABLE_PREFIX}SEARCH_KEY, say"
        )
    if settings.key_file:
        return _read_key_file(_checked_key_path(settings.key_file, folder, environ))
    variables = os.environ if environ is None else environ
    text = variables.get(settings.key_env, "").strip() if settings.key_env else ""
    try:
        return ApiKey(text)
    except ConfigError as error:
        raise ConfigError(f"search.key_env: {settings.key_env}: {error}") from None


def sent_key_name(settings: SearchSettings) -> str:
    """Name of the variable or file whose key the engine is sent; '' if it is sent none."""
    silent = {"": True, "searxng": True, "json": "{key}" not in settings.url}
    if silent.get(settings.engine, False) and not settings.header:
        return ""
    return settings.key_file or settings.key_env


def config_folder(environ: Mapping[str, str] | None = None) -> Path:
    """Where the user keeps what is Honeyguide's: keys, and what was agreed to."""
    variables = os.environ if environ is None else environ
    told = variables.get("XDG_CONFIG_HOME", "")
    if told.startswith("/"):  # the XDG standard has relative paths ignored
        return Path(told) / "honeyguide"
    try:
        return Path.home() / ".config" / "honeyguide"
    except RuntimeError:
        raise ConfigError("you have no home folder; set XDG_CONFIG_HOME to one") from None


def _checked_key_path(name: str, folder: Path | None, environ: Mapping[str, str] | None) -> Path:
    """The file, which must lie where keys do: a stranger's topic.toml must not name others."""
    try:
        path = Path(name).expanduser()
        if not path.is_absolute():
            raise ConfigError(f"search.key_file: {name!r} must be a whole path, from / or ~")
        home = config_folder(environ)
        if ".." in path.parts or not path.is_relative_to(home):
            raise ConfigError(
                f"search.key_file: {name} does not lie in {home}, and no other files are ever "
                "sent. Put the key there"
            )
        if folder is not None:
            ours = folder.resolve()
            if any(where.is_relative_to(ours) for where in (path, path.resolve())):
                raise ConfigError(
                    f"search.key_file: {path} lies inside the collection, which may be given to "
                    "others. Move the collection elsewhere"
                )
    except (OSError, RuntimeError, ValueError) as error:
        # RuntimeError: no home for ~, or links in a ring; ValueError: a NUL in the name.
        raise ConfigError(f"search.key_file: {name} cannot be read: {_error_text(error)}") from None
    return path


def _read_key_file(path: Path) -> ApiKey:
    try:
        with open(path, "rb", opener=_open_nonblocking) as file:
            about = os.fstat(file.fileno())
            if not stat.S_ISREG(about.st_mode):
                raise ConfigError(f"search.key_file: {path} is not an ordinary file")
            raw = file.read(MAX_KEY_BYTES + 2)
    except (OSError, ValueError) as error:
        raise ConfigError(f"search.key_file: {path} cannot be read: {_error_text(error)}") from None
    if about.st_mode & (stat.S_IRGRP | stat.S_IROTH):
        _log.warning("search.key_file: others can read %s. Mend it with: chmod 600 %s", path, path)
    return _parse_key(raw, path)


def _error_text(error: Exception) -> object:
    return error.strerror if isinstance(error, OSError) else error


def _parse_key(raw: bytes, path: Path) -> ApiKey:
    if len(raw) > MAX_KEY_BYTES:
        raise ConfigError(f"search.key_file: {path} is larger than a key, {MAX_KEY_BYTES} bytes")
    text = raw.decode("latin-1").strip()
    if not text:
        raise ConfigError(f"search.key_file: {path} is empty; write the key into it")
    try:
        return ApiKey(text)
    except ConfigError as error:
        raise ConfigError(f"search.key_file: {path}: {error}") from None


def _open_nonblocking(path: str, flags: int) -> int:
    """Opening a pipe must not wait for somebody to write into it."""
    return os.open(path, flags | os.O_NONBLOCK)


def _encoded_forms(text: str) -> Iterator[str]:
    """The key and its parts as they may stand in an address, a header, JSON or HTML."""
    for form in dict.fromkeys(_key_parts(text)):
        if len(form) < MIN_KEY_LENGTH:
            continue
        yield form
        yield quote(form, safe="")
        yield quote(form)
        yield quote_plus(form)
        yield quote(quote(form, safe=""), safe="")
        yield escape(form)
        yield json.dumps(form)[1:-1]
        yield form.encode().hex()
        for code in (b64encode, urlsafe_b64encode):
            yield code(form.encode()).decode().rstrip("=")


def _key_parts(text: str) -> Iterator[str]:
    """``Bearer KEY``, ``Token token=KEY``, ``name:KEY`` and what ``Basic`` hides: whoever shows one
    of these shows the key."""
    bare = text.rpartition(" ")[2]
    said = [text, bare]
    if text[:6].lower() == "basic ":
        with suppress(ValueError):  # not what the scheme asks for; the key is known as it is
            hidden = b64decode(bare + "=" * (-len(bare) % 4), validate=True)
            said += [hidden.decode("latin-1"), hidden.decode("utf-8", "replace")]
    for one in said:
        yield one
        padded = one.rstrip("=")  # base64 may end so
        for mark in "=:":
            yield padded.rpartition(mark)[2].strip("\"',; ")
            yield one.partition(mark)[2].strip("\"',; ")

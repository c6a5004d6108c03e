"""API keys of search engines, and the user's consent to send a key or reach a private network."""

from __future__ import annotations

import fcntl
import json
import logging
import os
import re
import shlex
import stat
from base64 import b64decode, b64encode, urlsafe_b64encode
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import blake2b
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, NoReturn
from urllib.parse import quote, quote_plus

from honeyguide.errors import ConfigError
from honeyguide.fetch.ip_policy import forbidden_reason, is_loopback_host
from honeyguide.store.collection_files import xdg_folder
from honeyguide.url import canonical_url, host_of, is_ip, site_origin

if TYPE_CHECKING:
    from honeyguide.config.settings import SearchSettings, TeacherSettings


MAX_KEY_BYTES: Final = 4096
"""Largest key."""
MIN_KEY_LENGTH: Final = 6
"""Shortest key; a shorter one could not be redacted from a text without spoiling it."""
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
                f"the key must be {MIN_KEY_LENGTH} to {MAX_KEY_BYTES} printable ASCII characters "
                "on one line"
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
    settings: SearchSettings | TeacherSettings, folder: Path | None = None, table: str = "search"
) -> ApiKey:
    """The key that this table of the settings names, or none; ``folder`` is the collection's, which
    may be given away, so that no key may lie in it. Raises ConfigError."""
    if settings.key_env and not settings.key_env.startswith(VARIABLE_PREFIX):
        raise ConfigError(
            f"{table}.key_env: {settings.key_env!r} does not begin with {VARIABLE_PREFIX}, and no "
            "other variables are ever sent. Keep the key in "
            f"{VARIABLE_PREFIX}{table.upper()}_KEY, say"
        )
    try:
        if settings.key_file:
            return _read_key_file(_checked_key_path(settings.key_file, folder))
        text = os.environ.get(settings.key_env, "").strip() if settings.key_env else ""
        return _named_key(text, settings.key_env)
    except ConfigError as error:
        raise ConfigError(f"{table}.{error}") from None


def _named_key(text: str, name: str) -> ApiKey:
    try:
        return ApiKey(text)
    except ConfigError as error:
        raise ConfigError(f"key_env: {name}: {error}") from None


def sent_key_name(settings: SearchSettings) -> str:
    """Name of the variable or file whose key the engine is sent; '' if it is sent none."""
    silent = {"": True, "searxng": True, "json": "{key}" not in settings.url}
    if silent.get(settings.engine, False) and not settings.header:
        return ""
    return settings.key_file or settings.key_env


def config_folder() -> Path:
    """Where the user keeps what is Honeyguide's: keys, and what was agreed to."""
    try:
        return xdg_folder("XDG_CONFIG_HOME", ".config")
    except RuntimeError:
        raise ConfigError("you have no home folder; set XDG_CONFIG_HOME to one") from None


def _checked_key_path(name: str, folder: Path | None) -> Path:
    """The file, which must lie where keys do: a stranger's topic.toml must not name others."""
    try:
        path = Path(name).expanduser()
        if not path.is_absolute():
            raise ConfigError(f"key_file: {name!r} must be a whole path, from / or ~")
        home = config_folder()
        if ".." in path.parts or not path.is_relative_to(home):
            raise ConfigError(
                f"key_file: {name} does not lie in {home}, and no other files are ever "
                "sent. Put the key there"
            )
        if folder is not None:
            ours = folder.resolve()
            if any(where.is_relative_to(ours) for where in (path, path.resolve())):
                raise ConfigError(
                    f"key_file: {path} lies inside the collection, which may be given to "
                    "others. Move the collection elsewhere"
                )
    except (OSError, RuntimeError, ValueError) as error:
        # RuntimeError: no home for ~, or links in a ring; ValueError: a NUL in the name.
        raise ConfigError(f"key_file: {name} cannot be read: {_error_text(error)}") from None
    return path


def _read_key_file(path: Path) -> ApiKey:
    try:
        # Opening a pipe must not wait for somebody to write into it.
        with open(path, "rb", opener=lambda at, flags: os.open(at, flags | os.O_NONBLOCK)) as file:
            about = os.fstat(file.fileno())
            if not stat.S_ISREG(about.st_mode):
                raise ConfigError(f"key_file: {path} is not an ordinary file")
            raw = file.read(MAX_KEY_BYTES + 2)
    except (OSError, ValueError) as error:
        raise ConfigError(f"key_file: {path} cannot be read: {_error_text(error)}") from None
    if about.st_mode & (stat.S_IRGRP | stat.S_IROTH):
        _log.warning("others can read the key in %s. Mend it with: chmod 600 %s", path, path)
    if len(raw) > MAX_KEY_BYTES:
        raise ConfigError(f"key_file: {path} is larger than a key, {MAX_KEY_BYTES} bytes")
    text = raw.decode("latin-1").strip()
    if not text:
        raise ConfigError(f"key_file: {path} is empty; write the key into it")
    try:
        return ApiKey(text)
    except ConfigError as error:
        raise ConfigError(f"key_file: {path}: {error}") from None


def _error_text(error: Exception) -> object:
    return error.strerror if isinstance(error, OSError) else error


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
    texts = [text, bare]
    if text[:6].lower() == "basic ":
        with suppress(ValueError):  # not what the scheme asks for; the key is known as it is
            hidden = b64decode(bare + "=" * (-len(bare) % 4), validate=True)
            texts += [hidden.decode("latin-1"), hidden.decode("utf-8", "replace")]
    for one in texts:
        yield one
        padded = one.rstrip("=")  # base64 may end so
        for mark in "=:":
            yield padded.rpartition(mark)[2].strip("\"',; ")
            yield one.partition(mark)[2].strip("\"',; ")


# -- Private networks --

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


# -- Consent --
#
# A topic.toml may come from a stranger. It must not choose by itself where a key of the user's
# goes, nor what is asked for inside the user's own network. So the agreement lies outside every
# collection, in the user's configuration, and holds for one folder, engine, server and key.


MAX_CONSENT_BYTES: Final = 1_000_000
"""Largest file of consents."""
MAX_CONSENTS: Final = 1_000
"""Most consents in the file; the oldest are dropped."""
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
    text = settings.url.strip()
    url = canonical_url(_TEMPLATE_FIELD.sub("1", text)) if text else None
    if url is None or not host_of(url):
        return _KNOWN_ORIGINS.get(settings.engine, "")
    return site_origin(url)


def required_consent(settings: SearchSettings, folder: Path) -> EngineConsent:
    """What would have to be agreed to."""
    place = str(folder.resolve())
    return EngineConsent(place, settings.engine, engine_origin(settings), sent_key_name(settings))


def has_consent(wanted: EngineConsent) -> bool:
    """Whether the user agreed to it; raises ConfigError if that cannot be read."""
    return wanted in _read_consents(_consent_file())


def grant_consent(wanted: EngineConsent) -> Path:
    """Note that the user agreed; where. Raises ConfigError."""
    path = _consent_file()
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
    command = f"honeyguide queries allow {shlex.quote(str(folder))}"
    check_consent(required_consent(settings, folder), keyed, "search.url", command)


def check_consent(wanted: EngineConsent, keyed: bool, setting: str, command: str) -> None:
    """The same of anything that is asked; ``command`` is how to agree."""
    needed = [
        *([f"is sent the key {wanted.key}"] if keyed and wanted.key else []),
        *(["lies in a private network"] if wanted.is_private else []),
    ]
    if needed and not has_consent(wanted):
        raise ConfigError(
            f"{setting}: {wanted.server_name} {' and '.join(needed)}, which is not allowed yet "
            f"for this collection. To allow it: {command}"
        )


def _consent_file() -> Path:
    return config_folder() / "engines.json"


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

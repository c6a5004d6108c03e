"""Reading ``topic.toml`` strictly.

An unknown key, a wrong type or a value out of range is a :class:`ConfigError` that names the
key and the nearest right one, before anything is opened or fetched.
"""

from __future__ import annotations

import json
import logging
import os
import re
import stat
import tomllib
from contextlib import suppress
from dataclasses import fields, is_dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

from honeyguide import language_codes
from honeyguide.config import validation
from honeyguide.config.settings import (
    KEEP_WORDS,
    FurtherTopic,
    Settings,
    TopicSettings,
    has_bang_command,
)
from honeyguide.config.validation import build_dataclass
from honeyguide.errors import ConfigError
from honeyguide.types import MAX_TOPICS

_log = logging.getLogger(__name__)


def load_settings(path: Path) -> Settings:
    try:
        settings = parse_settings(read_toml(path), str(path))
    except FileNotFoundError:
        raise ConfigError(
            f"{path} does not exist. Make a collection with: honeyguide new NAME"
        ) from None
    except RecursionError as error:
        raise ConfigError(f"{path} cannot be read: it is nested too deeply") from error
    return replace(
        settings,
        topic=_resolve_paths(settings.topic, path.parent),
        topics=tuple(_resolve_paths(topic, path.parent) for topic in settings.topics),
    )


T = TypeVar("T", TopicSettings, FurtherTopic)


def _resolve_paths(topic: T, folder: Path) -> T:
    """An ontology, or a model, is looked for beside topic.toml first."""
    if topic.ontology and path_exists(ontology := folder / topic.ontology):
        topic = replace(topic, ontology=str(ontology))
    if topic.model and path_exists(model := folder / topic.model):
        topic = replace(topic, model=str(model))
    return topic


RENAMED_KEYS = {
    "topic.words": "keyword_language",
    "crawl.seed": "random_seed",
    "politeness.domain_hosts": "concurrent_hosts_per_domain",
    "store.texts": "keep_text",
    "stop.after": "min_visits",
    "search.private": "allow_private_text",
    "watch.value": "objective",
    "watch.shortest_s": "min_interval_s",
    "watch.longest_days": "max_interval_days",
    "notify.quiet": "quiet_hours",
    "notify.zone": "time_zone",
}
"""Old name of a key, with its table → the new name. Files with old names are still read."""


def with_current_keys(raw: dict[str, Any], where: str) -> dict[str, Any]:
    """The same settings with renamed keys under their new names."""
    found = dict(raw)
    for path, new in RENAMED_KEYS.items():
        table, _, old = path.partition(".")
        one = found.get(table)
        if isinstance(one, dict):
            found[table] = _rename_key(one, table, old, new, where)
        elif isinstance(one, list | tuple):
            found[table] = [
                _rename_key(each, table, old, new, where) if isinstance(each, dict) else each
                for each in one
            ]
    return found


def _rename_key(table: dict[str, Any], name: str, old: str, new: str, where: str) -> dict[str, Any]:
    if old not in table:
        return table
    if new in table:
        raise ConfigError(
            f"{where}: {name}.{old} is the old name of {name}.{new}, and both are set; "
            f"remove {name}.{old}"
        )
    _hint_renamed(where, f"{name}.{old}", f"{name}.{new}")
    return {new if key == old else key: value for key, value in table.items()}


@cache
def _hint_renamed(where: str, old: str, new: str) -> None:
    """Log it once for a file and key."""
    _log.warning("%s: %s is now called %s; the old name still works", where, old, new)


def parse_settings(raw: dict[str, Any], where: str = "settings") -> Settings:
    """Settings from nested dictionaries, every key and value checked."""
    if isinstance(raw.get("topics"), dict):
        raise ConfigError(f"{where}: further topics are a list of tables; write [[topics]]")
    if isinstance(raw.get("notify"), dict):
        raise ConfigError(f"{where}: each channel is a table of its own; write [[notify]]")
    topic = raw.get("topic")
    if isinstance(topic, dict) and isinstance(topic.get("language"), str):
        code = topic["language"]
        raise ConfigError(
            f"{where}: topic.language is a list of the languages that pages must be written in. "
            f"Write language = [{json.dumps(code)}] to keep only such pages, or "
            f"keyword_language = {json.dumps(code)} if it is the language of the keywords"
        )
    raw = with_current_keys(raw, where)
    if isinstance(topic := raw.get("topic"), dict):
        raw = raw | {"topic": topic | _stated_keep(topic)}
    settings = cast("Settings", build_dataclass(Settings, raw, where, ""))
    check_settings(settings, where)
    return settings


def _stated_keep(topic: dict[str, Any]) -> dict[str, Any]:
    """``topic.keep`` as text: a precision may be written as a number, and a threshold rules it
    out."""
    keep = topic.get("keep")
    if "threshold" in topic:
        return {"keep": ""}
    return {"keep": repr(keep)} if type(keep) in (int, float) else {}


def check_keep(keep: str, where: str) -> None:
    """A ConfigError unless it is a word of the dial, or a precision."""
    if not is_keep(keep):
        words = ", ".join(KEEP_WORDS)
        raise ConfigError(f"{where} must be {words}, or a precision such as 0.9, not {keep!r}")


def is_keep(text: str) -> bool:
    """Whether it is a word of the dial ``topic.keep``, or a precision."""
    with suppress(ValueError):
        return text in KEEP_WORDS or 0 < float(text) < 1
    return False


# --------------------------------------------------------------------------------------------------
# Settings that could not work: values out of range, and combinations that exclude each other.
# --------------------------------------------------------------------------------------------------


_NAME_CHARS = 60
"""Characters of a topic's name."""
_MAX_LANGUAGES = 20
"""Languages that may be wanted at once."""
_QUERY_CHARS = 400
"""Characters of a query."""


def check_settings(settings: Settings, where: str) -> None:
    """Ranges, and combinations that could not work."""
    for table in fields(settings):
        group = getattr(settings, table.name)
        if not is_dataclass(group):
            continue
        for item in fields(group):
            value = getattr(group, item.name)
            if type(value) in (int, float):
                validation.check_number(f"{where}: {table.name}.{item.name}", value)
    _check_languages(settings, where)
    _check_topics(settings, where)
    _check_search(settings, where)
    if settings.politeness.delay_s < 1.0:
        raise ConfigError(
            f"{where}: politeness.delay_s must be at least 1 second; for this machine itself "
            "and for the lab, set politeness.loopback_delay_s"
        )
    if settings.politeness.max_delay_s < settings.politeness.delay_s:
        raise ConfigError(f"{where}: politeness.max_delay_s is less than politeness.delay_s")
    if settings.crawl.concurrency < 1:
        raise ConfigError(f"{where}: crawl.concurrency must be at least 1")
    validation.check_number(f"{where}: topic.threshold", settings.topic.threshold, 0, 1, above=True)
    if settings.topic.keep:
        check_keep(settings.topic.keep, f"{where}: topic.keep")
    for key in ("precision", "coverage"):
        if getattr(settings.stop, key) > 1:
            raise ConfigError(f"{where}: stop.{key} is a share and must not be more than 1")
    if settings.fetch.lab and settings.fetch.proxy:
        raise ConfigError(f"{where}: fetch.lab and fetch.proxy exclude each other")
    for key in ("connect_s", "read_s", "total_s", "html_mb", "document_mb", "inflate_ratio"):
        if getattr(settings.fetch, key) <= 0:
            raise ConfigError(f"{where}: fetch.{key} must be more than 0")
    cluster = settings.cluster
    if not 0 < cluster.save_s <= cluster.lease_s / 2:
        raise ConfigError(
            f"{where}: cluster.save_s must be more than 0 and at most half of cluster.lease_s"
        )


def _check_languages(settings: Settings, where: str) -> None:
    topic = settings.topic
    for place, code in enumerate(topic.language):
        language_codes.check_language_code(code, f"{where}: topic.language[{place}]")
    if len(set(topic.language)) < len(topic.language) or len(topic.language) > _MAX_LANGUAGES:
        raise ConfigError(
            f"{where}: topic.language names a language twice, or more than {_MAX_LANGUAGES}"
        )
    language_codes.check_language_code(topic.keyword_language, f"{where}: topic.keyword_language")
    if settings.language.threshold > 1:
        raise ConfigError(f"{where}: language.threshold is a share and must not be more than 1")


def _check_search(settings: Settings, where: str) -> None:
    search = settings.search
    if search.mode == "search_only" and not search.engine:
        raise ConfigError(
            f'{where}: search.mode = "search_only" visits what an engine finds: set search.engine'
        )
    for place, query in enumerate(search.queries):
        if not query.strip() or len(query) > _QUERY_CHARS:
            raise ConfigError(
                f"{where}: search.queries[{place}] must be a query of at most "
                f"{_QUERY_CHARS} characters"
            )
        if has_bang_command(query):
            raise ConfigError(
                f"{where}: search.queries[{place}] has a word that begins with !!, which sends the "
                "question to another engine; leave the !! out"
            )


def _check_topics(settings: Settings, where: str) -> None:
    """Several topics need names, and something to know them by from the start: what nobody knows
    anything of would be worth 0.49, which is more than a bad page for all the others."""
    if not settings.topics:
        return
    if len(settings.topics) >= MAX_TOPICS:
        raise ConfigError(f"{where}: more than {MAX_TOPICS} topics are too many for one crawl")
    topics: tuple[TopicSettings | FurtherTopic, ...] = (settings.topic, *settings.topics)
    seen: set[str] = set()
    for place, topic in enumerate(topics):
        key, name = f"topics[{place - 1}]" if place else "topic", topic.name
        if not name or name != name.strip() or len(name) > _NAME_CHARS or not name.isprintable():
            raise ConfigError(
                f"{where}: {key}.name must be a name of at most {_NAME_CHARS} characters, because "
                f"there are several topics, not {name!r}"
            )
        if name.casefold() in seen:
            raise ConfigError(f"{where}: two topics have the name {name!r}")
        seen.add(name.casefold())
        validation.check_number(f"{where}: {key}.distance", topic.distance)
        stated = (topic.keywords, topic.description, topic.good, topic.good_files, topic.ontology)
        if not any((*stated, topic.model)):
            raise ConfigError(
                f"{where}: nothing says what the topic {name!r} is: add {key}.keywords, "
                "description, good, ontology or model"
            )


# --------------------------------------------------------------------------------------------------
# A TOML file that may come from elsewhere: bounded, plain files only.
#
# A file that is none, that is endless, or that would keep the parser busy for hours is a
# ConfigError, like one that is no TOML.
# --------------------------------------------------------------------------------------------------


MAX_TOML_BYTES = 1_000_000
"""Bytes of a file."""
_MAX_KEY_PARTS = 200
_LONG_KEY = re.compile(
    r"""(?<![\w-])(?:(?:[\w-]++|"(?:[^"\\\n]|\\.)*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+)"""
    rf"{{{_MAX_KEY_PARTS}}}"
).search
"""A dotted key: tomllib takes a time that grows with the square of its parts."""


def read_toml(path: Path) -> dict[str, Any]:
    """The tables in that file. Raises FileNotFoundError if there is none."""
    try:
        text = _read_bytes(path).decode("utf-8").replace("\r\n", "\n")
        if _LONG_KEY(text):
            raise ConfigError(f"{path} has a key of more than {_MAX_KEY_PARTS} parts")
        return tomllib.loads(text)
    except FileNotFoundError:
        raise
    except (OSError, ValueError, RecursionError) as error:
        if isinstance(error, tomllib.TOMLDecodeError):
            raise ConfigError(f"{path} is not valid TOML: {error}") from error
        why = "it is nested too deeply" if isinstance(error, RecursionError) else error
        raise ConfigError(f"{path} cannot be read: {why}") from error


def _read_bytes(path: Path) -> bytes:
    # A link could lead out of the collection; opening a pipe would wait for its other end.
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        descriptor = os.open(path, flags)
    except OSError:
        if path.is_symlink():
            raise ConfigError(f"{path} is a link; put the file itself in its place") from None
        raise
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise ConfigError(f"{path} is not a plain file")
    with os.fdopen(descriptor, "rb") as file:
        content = file.read(MAX_TOML_BYTES + 1)
    if len(content) > MAX_TOML_BYTES:
        raise ConfigError(f"{path} is larger than {MAX_TOML_BYTES // 1_000_000} MB")
    return content


def path_exists(path: Path) -> bool:
    """Whether there is such a file or folder; a name that no file can have is none."""
    try:
        return path.exists()
    except (OSError, ValueError):
        return False

"""Watch lists of changedetection.io: its backup (a zip file), its old ``url-watches.json``, one
``watch.json``, or what its API lists.

In a backup every watch is a ``<number>/watch.json`` and every group of watches a
``<number>/tag.json``; before version 0.50 all were in ``url-watches.json``.
"""

from __future__ import annotations

import json
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

from honeyguide.errors import ConfigError
from honeyguide.watch.imports.plain import ImportCollector
from honeyguide.watch.notify.message import clean_line

_UNITS = {"weeks": 604800, "days": 86400, "hours": 3600, "minutes": 60, "seconds": 1}
_LONGEST = 10 * 365 * 86400.0
_FILE = 200_000
"""Bytes of one unpacked watch, which takes about 4,000 …"""
_LIST = 30_000_000
"""… of a list of all watches …"""
_ALL = 100_000_000
"""… and of all that are read."""
_MEMBERS = 1_000_000
_WANTED = ("/watch.json", "/tag.json", "changedetection.json", "url-watches.json")

_WHOLE = "the whole page is compared; what changes at every visit is masked automatically"
_TELL = "choose changes with the words and kinds of a rule"
_BROWSER = "pages are read without a browser; what scripts write is not seen"
_WHYS = {
    "include_filters": _WHOLE, "subtractive_selectors": _WHOLE, "extract_text": _WHOLE,
    "ignore_text": _WHOLE, "trigger_text": _TELL, "text_should_not_be_present": _TELL,
    "conditions": _TELL, "browser_steps": _BROWSER, "webdriver_js_execute_code": _BROWSER,
    "headers": "all pages are asked for with the same headers",
    "proxy": "set fetch.proxy for the whole collection",
    "notification_urls": "write them into the collection's channels; they hold passwords",
    "llm_intent": _TELL,
}  # fmt: skip


def read_backup(file: BinaryIO) -> ImportCollector:
    """The pages of a backup."""
    try:
        with zipfile.ZipFile(file) as archive:
            files = dict(_read_members(archive))
    # What a damaged or hostile archive makes the module raise; RuntimeError: a password is needed,
    # and NotImplementedError: it is packed in a way that the module does not know.
    except (
        zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, RuntimeError,
        NotImplementedError, OverflowError,
    ) as error:  # fmt: skip
        raise ConfigError(f"the zip file cannot be read: {error}; make a new backup") from error
    if old := files.get("url-watches.json"):
        return read_watches(_parse_json(old, "url-watches.json"))
    tags, watches = {}, {}
    for name, data in files.items():
        number, _, kind = name.rpartition("/")
        if kind == "tag.json":
            tags[number] = _parse_json(data, name)
        elif kind == "watch.json":
            watches[number] = _parse_json(data, name)
    if not watches:
        raise ConfigError("the zip file holds no watch.json: it is not a backup of "
                          "changedetection.io")
    settings = _parse_json(files.get("changedetection.json", b"{}"), "changedetection.json")
    return _read_entries(watches, _default_interval(settings), tags)


def read_watches(raw: Any) -> ImportCollector:
    """The pages of ``url-watches.json``, of one watch, or of a mapping of watches."""
    if not isinstance(raw, dict):
        raise ConfigError("this JSON is not a watch list of changedetection.io: it must be an "
                          "object")
    if isinstance(raw.get("watching"), dict):
        tags = _get_table(_get_table(raw, "settings"), "application").get("tags")
        return _read_entries(
            raw["watching"], _default_interval(raw), tags if isinstance(tags, dict) else {}
        )
    watches = {"": raw} if isinstance(raw.get("url"), str) else raw
    if not any(isinstance(w, dict) and "url" in w for w in watches.values()):
        raise ConfigError(
            "this JSON is not a watch list of changedetection.io: it has neither “watching” nor "
            "“url”"
        )
    return _read_entries(watches, None, {})


def _read_members(archive: zipfile.ZipFile) -> Iterator[tuple[str, bytes]]:
    """The files that matter, unpacked in memory: nothing is written, so names can do no harm."""
    room = _ALL
    infos = archive.infolist()
    if len(infos) > _MEMBERS:
        raise ConfigError(f"the zip file holds more than {_MEMBERS:,} files")
    for info in infos:
        if not info.filename.endswith(_WANTED):
            continue
        with archive.open(info) as file:
            # What the archive says of its sizes may be a lie: count what comes.
            most = _FILE if info.filename.endswith(_WANTED[:2]) else _LIST
            data = file.read(min(most, room) + 1)
        room -= len(data)
        if len(data) > most or room < 0:
            raise ConfigError(f"{clean_line(info.filename, 80)} unpacks to more than is sensible")
        yield info.filename, data


def _parse_json(data: bytes, name: str) -> dict[str, Any]:
    try:
        raw = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{clean_line(name, 80)} is not JSON: {error}") from error
    return raw if isinstance(raw, dict) else {}


def _read_entries(
    watches: Mapping[str, Any], default: float | None, tags: Mapping[str, Any]
) -> ImportCollector:
    basket = ImportCollector()
    for number, watch in watches.items():
        if isinstance(watch, dict):
            _take_watch(basket, clean_line(str(number), 40) or "watch", watch, default, tags)
        else:
            basket.skip_entry(clean_line(str(number), 40), "watch", "it is not an object")
    return basket


def _take_watch(
    basket: ImportCollector,
    where: str,
    watch: Mapping[str, Any],
    default: float | None,
    tags: Mapping[str, Any],
) -> None:
    address = _get_text(watch, "url")
    if _get_text(watch, "method").upper() not in ("", "GET") or watch.get("body"):
        why = "it sends a form; only pages that have an address of their own are watched"
        basket.skip_entry(where, clean_line(address), why)
        return
    own = None if watch.get("time_between_check_use_default") else _check_interval(watch)
    named = [_get_text(_get_table(tags, str(tag)), "title") for tag in _get_list(watch, "tags")]
    if not basket.add_page(
        where,
        address,
        _get_text(watch, "title") or _get_text(watch, "page_title"),
        own or default,
        [*named, *_get_text(watch, "tag").split(",")],
        paused=bool(watch.get("paused")),
    ):
        return
    for key, why in _WHYS.items():
        if watch.get(key):
            basket.skip_entry(where, key, why)
    if _get_text(watch, "fetch_backend") not in ("", "system", "html_requests"):
        basket.skip_entry(where, "fetch_backend", _BROWSER)
    if _get_text(watch, "processor") not in ("", "text_json_diff"):
        basket.skip_entry(
            where, "processor", "prices and stock that a page states are found automatically"
        )
    if _get_table(watch, "time_schedule_limit").get("enabled"):
        basket.skip_entry(
            where, "time_schedule_limit", "pages are visited when they are likely to change"
        )


def _check_interval(table: Mapping[str, Any]) -> float | None:
    """Seconds between two checks."""
    spans = _get_table(table, "time_between_check")
    total = 0.0
    for unit, size in _UNITS.items():
        count = spans.get(unit)
        if isinstance(count, int | float) and 0 < count < _LONGEST:
            total += count * size
    old = table.get("minutes_between_check")
    if not total and isinstance(old, int | float) and 0 < old < _LONGEST:
        total = old * 60.0
    return min(total, _LONGEST) or None


def _default_interval(raw: Mapping[str, Any]) -> float | None:
    return _check_interval(_get_table(_get_table(raw, "settings"), "requests"))


def _get_table(raw: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = raw.get(key)
    return value if isinstance(value, dict) else {}


def _get_text(raw: Mapping[str, Any], key: str) -> str:
    value = raw.get(key)
    return value if isinstance(value, str) else ""


def _get_list(raw: Mapping[str, Any], key: str) -> list[Any]:
    value = raw.get(key)
    return value if isinstance(value, list) else []

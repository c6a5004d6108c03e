"""Values that a program passes: each is checked where it comes in, and named if it is wrong."""

from __future__ import annotations

import math
import os
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, Literal, get_args

from honeyguide.config.settings import CrawlSettings
from honeyguide.errors import ConfigError

_SHOWN_CHARS = 80


def show_value(value: object) -> str:
    """What was passed, for a message."""
    text = repr(value)
    return text if len(text) <= _SHOWN_CHARS else f"{text[: _SHOWN_CHARS - 1]}…"


def check_count(name: str, value: Any, wanted: str, least: int = 0) -> int:
    """A whole number of at least so many; ``wanted`` says what it is."""
    if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < least:
        raise ConfigError(f"{name} must be {wanted}: {show_value(value)}")
    return int(value)


def check_hours(value: Any) -> float:
    right = isinstance(value, Real) and not isinstance(value, bool)
    if not right or not 0 <= float(value) < math.inf:
        raise ConfigError(
            f"hours must be a number of hours, or 0 for no limit: {show_value(value)}"
        )
    return float(value)


def check_choice(name: str, value: object, choices: Any) -> None:
    """One of the texts of a Literal, or of a union of them."""
    parts = [choices] if isinstance(choices, type(Literal[""])) else get_args(choices)
    known = [text for part in parts for text in (get_args(part) or (part,))]
    if value not in known:
        raise ConfigError(f"{name} must be one of {', '.join(known)}: {show_value(value)}")


def check_label_value(url: str, value: Any) -> float:
    """A label, from 0 to 1; also one of NumPy, or a truth value."""
    try:
        number = math.nan if isinstance(value, str | bytes) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not 0 <= number <= 1:
        raise ConfigError(f"{url}: a label is a number between 0 and 1, not {show_value(value)}")
    return number


def check_labels(judged: Any) -> list[tuple[str, float]]:
    """Pairs of an address and its label."""
    found = []
    for pair in judged:
        if not isinstance(pair, tuple | list) or len(pair) != 2 or not isinstance(pair[0], str):
            raise ConfigError(
                "labels are pairs of an address and a number between 0 and 1, such as "
                f"('https://example.org/', 1): {show_value(pair)}"
            )
        found.append((pair[0], check_label_value(*pair)))
    return found


def override_limits(limits: CrawlSettings, pages: Any, hours: Any) -> CrawlSettings:
    """Other limits of visits and hours; None: as they are."""
    if pages is not None:
        wanted = "a number of visits, or 0 for no limit"
        limits = replace(limits, pages=check_count("pages", pages, wanted))
    return limits if hours is None else replace(limits, hours=check_hours(hours))


def check_shards(shards: Any) -> None:
    """A number of shards, or None."""
    if shards is not None:
        check_count("shards", shards, "a number of processes, 1 or more", 1)


def check_processes(shards: int | None) -> None:
    """Each shard is a process: many more than cores only take memory and time."""
    cores = os.cpu_count() or 1
    most = max(16, 4 * cores)
    if shards is not None and shards > most:
        noun = "core" if cores == 1 else "cores"
        raise ConfigError(
            f"{shards} shards are {shards} processes, and this machine has {cores} {noun}: "
            f"at most {most} make sense here"
        )

"""Mistakes in what people send: in which field they are, and in words that people use."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from honeyguide.errors import ConfigError

_PLACE = re.compile(r" - at `\$\.?(\w*)[^`]*`$")
_NAMED = re.compile(r"^Object missing required field `(\w+)`$")
_LENGTH = re.compile(r"^Expected `(\w+)` of length ([<>])= (\d+)$")
_BOUND = re.compile(r"^Expected `(?:int|float)` ([<>])= (\S+)$")
_KIND = re.compile(r"^Expected `(int|float)(?: \| null)?`, got ")
_KEY = re.compile(r"\b(topic|crawl|fetch|scope|search)\.(\w+)")
_FIRST = re.compile(rf"^(?:settings: )?{_KEY.pattern}(?:\[\d+\])?: ")
_ADVICE = re.compile(r": add topic\.\w+ to topic\.toml\Z")
_PATH = re.compile(r"(?<![\w:/.])(?:/[^\s/:'\"]+)+/([^\s/:'\"]+)")
_OTHERWISE = {
    ("scope", "rule"): "scope",
    ("search", "engine"): "search_engine",
    ("search", "url"): "search_url",
}
"""Keys of topic.toml that are called otherwise where a topic is made; the rest have their names."""


class Mistake(ConfigError):
    """A mistake, and the field of what was sent that it is in."""

    def __init__(self, field: str, why: str) -> None:
        super().__init__(why)
        self.field = field


@contextmanager
def naming(field: str) -> Iterator[None]:
    """Whatever is wrong in here is wrong with that field."""
    try:
        yield
    except Mistake:
        raise
    except ConfigError as error:
        raise Mistake(field, _plain(str(error))) from error


@contextmanager
def naming_keys() -> Iterator[None]:
    """What is wrong in here names a key of topic.toml, which nobody has seen yet who fills in a
    form: the field is named instead."""
    try:
        yield
    except Mistake:
        raise
    except ConfigError as error:
        if (key := _KEY.search(str(error))) is None:
            raise
        raise Mistake(_field(key), _plain(str(error))) from error


def _field(key: re.Match[str]) -> str:
    return _OTHERWISE.get((key[1], key[2]), key[2])


def _plain(said: str) -> str:
    """Without the keys of the file, and with names of files for their paths."""
    bare = _ADVICE.sub("", _FIRST.sub("", said))
    return _PATH.sub(r"\1", _KEY.sub(_field, bare))


def shape(what: str, said: str) -> tuple[str, str]:
    """What msgspec says of a body or a query: (the field or '', the same in words)."""
    place = _PLACE.search(said)
    field, bare = (place[1], said[: place.start()]) if place else ("", said)
    if missing := _NAMED.match(bare):
        return missing[1], f"{missing[1]} is missing"
    if (words := _words(bare)) and field:
        return field, f"{field} {words}"
    return field, f"the {what} is not what it should be: {said}"


def _words(said: str) -> str:
    if length := _LENGTH.match(said):
        what = "entries" if length[1] == "array" else "characters"
        if length[2] == "<":
            return f"must have no more than {length[3]} {what}"
        return "must not be empty" if length[3] == "1" else f"must have {length[3]} {what} or more"
    if bound := _BOUND.match(said):
        return f"must be {bound[2]} or {'more' if bound[1] == '>' else 'less'}"
    if kind := _KIND.match(said):
        return "must be a whole number" if kind[1] == "int" else "must be a number"
    return ""

"""What the HTTP headers say about a page, and the sanity of what it says about itself."""

from __future__ import annotations

import re
from collections.abc import Iterable

_TAG = re.compile(r"([a-z]{2,3})(?:-[a-z0-9]{1,8})*\Z").match
_LANGUAGE = 16
_LINK = re.compile(r"<([^<>]++)>([^<>]++)").findall
_HEADERS = 10
_LENGTH = 2_000
"""Most Link headers, and characters of each, that are looked at."""


def language_tag(said: str) -> str:
    """A language as declared, lower case; '' if it cannot be one.

    >>> language_tag("tr_TR")
    'tr-tr'
    """
    if not said:
        return ""
    tag = said[:100].partition(",")[0].strip().lower().replace("_", "-")
    match = _TAG(tag)
    if match is None:
        return ""
    return tag if len(tag) <= _LANGUAGE else match[1]


def linked_canonical(headers: Iterable[tuple[str, str]]) -> str:
    """The address of ``Link: <…>; rel="canonical"``, or ''."""
    values = [value for name, value in headers if name.lower() == "link"]
    for value in values[:_HEADERS]:
        for address, parameters in _LINK(value[:_LENGTH]):
            if any(map(_is_canonical, parameters.split(";"))):
                return str(address)
    return ""


def _is_canonical(parameter: str) -> bool:
    """Whether it is ``rel=canonical``, perhaps quoted and among other relations."""
    name, _, value = parameter.partition("=")
    return name.strip().lower() == "rel" and "canonical" in value.strip(' \t",').lower().split()

"""What the HTTP headers say about a page, and the sanity of what it says about itself."""

from __future__ import annotations

import re
from collections.abc import Iterable

_TAG = re.compile(r"([a-z]{2,3})(?:-[a-z0-9]{1,8})*\Z").match
_LANGUAGE = 16
_CANONICAL = re.compile(
    r"<([^<>]{1,4096})>([^<>]{0,500}?;\s*rel\s*=\s*\"?[\w \-]{0,100}?\bcanonical\b)",
    re.IGNORECASE,
).search


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
    for name, value in headers:
        if name.lower() == "link" and (match := _CANONICAL(value[:10_000])):
            return match[1]
    return ""

"""What an element's name, class and role say of its place: a step of the path, and a weight."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

INLINE = frozenset(
    """
    a abbr acronym b bdi bdo big cite code data del dfn em font i ins kbd label mark nobr q rp rt
    ruby s samp small span strike strong sub sup time tt u var wbr
    """.split()  # noqa: SIM905 - forty quotes would hide the names
)
"""Elements within a line of text; every other one begins a new block."""

SILENT = frozenset(
    "audio canvas embed head iframe noscript object script style svg template video".split()  # noqa: SIM905 - as above
)

_STEPS = 8
_LENGTH = 200
_NAME = 40
_CLASSES = 3
_ATTRIBUTE = 200

_GENERATED = re.compile(r"[A-Za-z]*\d[A-Za-z\d]*").sub
"""``css-1q2w3e``, ``post-4711``: made by a program, perhaps anew each time."""
_STATES = frozenset({"active", "current", "even", "first", "last", "odd", "open", "selected"})
"""Classes of the moment, not of the place."""

ASIDE = 0.1
"""What menus, footers and the like count for …"""
OUTSIDE = 0.5
"""… and what stands beside the main content without being one of them."""
_MINOR_TAGS = frozenset({"aside", "footer", "form", "menu", "nav", "select", "dialog"})
_MINOR_ROLES = frozenset(
    {"alert", "banner", "complementary", "contentinfo", "dialog", "menu", "menubar", "navigation",
     "search", "status", "timer", "toolbar"}
)  # fmt: skip
_MINOR_NAMES = re.compile(
    r"(?:^|[-_])(?:ad|ads|advert\w*|banner|breadcrumbs?|consent|cookies?|copyright|footer|header"
    r"|masthead|menu|nav|navbar|navigation|newsletter|pager|pagination|popup|promo\w*|related"
    r"|share|sharing|sidebar|social|sponsor\w*|toolbar|widget)(?:$|[-_])",
    re.IGNORECASE,
).search


class Step(NamedTuple):
    name: str
    minor: bool
    """It is a menu, a footer, an advertisement or the like."""


@lru_cache(maxsize=4_096)
def step(tag: str, classes: str, id_: str, role: str) -> Step:
    """The element's name with its classes, or its id; what is generated in them is ``#``."""
    tag = tag[:_NAME].replace("/", "#")
    names = [n[:_NAME] for n in classes.split() if n.lower() not in _STATES][:_CLASSES]
    marks = names or id_.split()[:1]
    minor = (
        tag in _MINOR_TAGS
        or role in _MINOR_ROLES
        or any(_MINOR_NAMES(name) for name in (*names, id_[:_NAME]))
    )
    if tag == "body" or tag == "html":
        return Step("", False)
    said = "".join(
        f"{'.' if names else '#'}{_GENERATED('#', mark[:_NAME]).replace('/', '#')}"
        for mark in marks
    )
    return Step(tag + said, minor)


def clipped(attribute: str | None) -> str:
    return attribute[:_ATTRIBUTE] if attribute else ""


@lru_cache(maxsize=4_096)
def below(path: str, name: str) -> str:
    """The path one step further down; of a long one its innermost steps."""
    if not name:
        return path
    path = f"{path}/{name}" if path else name
    while len(path) > _LENGTH or path.count("/") >= _STEPS:
        head, slash, rest = path.partition("/")
        if not slash:
            return head[:_LENGTH]
        path = rest
    return path

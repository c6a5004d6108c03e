"""Where in the page's build a link stands: ``div.nav/ul/li``."""

from __future__ import annotations

import re
from typing import Protocol, cast

_STEPS = 8
_LENGTH = 120
_NAME = 40
_CLIMB = 64
"""Ancestors looked at; whatever lies deeper than that stands for itself."""
_NUMBER = re.compile(r"[0-9/]").sub
_TOP = frozenset({"body", "html"})


class Tag(Protocol):
    """The little of an element that is needed here."""

    @property
    def tag(self) -> str: ...
    @property
    def parent(self) -> object: ...
    def attr(self, name: str, /) -> str | None: ...


class Paths:
    """Tag paths of one tree; neighbours share their ancestors, so each is named once."""

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: dict[Tag, str] = {}

    def above(self, element: Tag) -> str:
        """The innermost steps from below the body down to the element's parent."""
        known = self._known
        climbed: list[Tag] = []
        path = ""
        # A parsed element has a parent, up to the root, which is always html.
        node = cast(Tag, element.parent)
        while node not in known:
            if len(climbed) >= _CLIMB or node.tag in _TOP:
                break
            climbed.append(node)
            node = cast(Tag, node.parent)
        else:
            path = known[node]
        for node in reversed(climbed):
            step = _step(node)
            path = f"{path}/{step}" if path else step
            while len(path) > _LENGTH or path.count("/") >= _STEPS:
                path = path.partition("/")[2]
            known[node] = path
        return path


def _step(node: Tag) -> str:
    """The element's name with its first class, or its id; numbers in them do not matter."""
    tag = node.tag[:_NAME]
    if (names := node.attr("class")) and (first := names[:_NAME].split(None, 1)):
        return f"{tag}.{_NUMBER('#', first[0])}"
    if (names := node.attr("id")) and (first := names[:_NAME].split(None, 1)):
        return f"{tag}#{_NUMBER('#', first[0])}"
    return tag

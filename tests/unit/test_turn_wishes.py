"""What a page's reader asks about its links, and whom."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from honeyguide.crawl.turn import _Wishes
from honeyguide.protocols import Frontier
from honeyguide.types import Url

_NEW, _DONE, _OUTSIDE = Url("http://a/new"), Url("http://a/done"), Url("http://b/")


class _Asked:
    def __init__(self) -> None:
        self.urls: list[Url] = []

    def wanted(self, urls: Sequence[Url]) -> list[bool]:
        self.urls += urls
        return [url == _NEW for url in urls]


def test_the_frontier_is_asked_once_and_only_of_what_lies_within_the_fence() -> None:
    frontier = _Asked()
    wishes = _Wishes(cast("Frontier", frontier), lambda url: url != _OUTSIDE)
    assert wishes([_NEW, _OUTSIDE, _DONE]) == [True, False, False]
    assert wishes([_DONE, _NEW]) == [False, True]
    assert frontier.urls == [_NEW, _DONE]

"""What a page's reader asks about its links, and whom."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import cast

from honeyguide.crawl.visit import _WantedLinks
from honeyguide.protocols import Frontier
from honeyguide.types import Url

_NEW, _DONE, _OUTSIDE = Url("http://a/new"), Url("http://a/done"), Url("http://b/")


class _Asked:
    def __init__(self) -> None:
        self.urls: list[Url] = []

    def still_wanted(self, urls: Sequence[Url]) -> list[bool]:
        self.urls += urls
        return [url == _NEW for url in urls]


def _inside(urls: Iterable[Url]) -> list[Url]:
    return [url for url in urls if url != _OUTSIDE]


def test_the_frontier_is_asked_once_and_only_of_what_lies_within_the_fence() -> None:
    frontier = _Asked()
    settled: set[Url] = set()
    wishes = _WantedLinks(cast("Frontier", frontier), _inside, settled)
    assert set(wishes([_NEW, _OUTSIDE, _DONE])) == {_NEW}
    assert set(wishes([_DONE, _NEW])) == {_NEW}
    assert frontier.urls == [_NEW, _DONE]
    assert settled == {_OUTSIDE}


def test_of_what_is_settled_nobody_is_asked_again() -> None:
    frontier = _Asked()
    wishes = _WantedLinks(cast("Frontier", frontier), list, {_NEW})
    assert not wishes([_NEW, _NEW])
    assert not frontier.urls

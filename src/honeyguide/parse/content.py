"""The words that matter on a page: its main text, or all of it."""

from __future__ import annotations

from honeyguide.parse.decoded import TEXT_LIMIT

_SHORT = 200
_SHARE = 0.1


def choose(main: str, body: str) -> str:
    """The main text, unless so little was found that it cannot be all there is."""
    if len(main) < _SHORT or len(main) < _SHARE * len(body):
        main = body
    return main[:TEXT_LIMIT].strip()

"""Names of masks: parts of a page whose differences are not reported.

A mask is a string, so that it can be stored, shown and typed:

``div.foot/p``
    whatever stands at that path;
``div.foot/p~5c1f…``
    what programs put (numbers, dates, tokens) into a block of just these words;
``td~5c1f…^09ab…+1``, ``td^09ab…+1``
    the same, but only next after a certain other block: the table's other cells are not meant;
``div.foot/p=5c1f…``
    a block of just these words, whatever its numbers and prices are, also if it comes and goes:
    what a person means who points at a line;
``link:…``, ``data:…``, ``order:…``, ``shape:``
    links alike but for generated parts (or all in a folder: ``…/*``), a field of its data, the
    order of the blocks at a path, and the tags without their texts.
"""

from __future__ import annotations

import re
import tomllib
from functools import lru_cache
from importlib.resources import files
from typing import NamedTuple

from xxhash import xxh3_64_hexdigest

SHAPE_MASK = "shape:"
TITLE_PATH = "title"
"""Path of the page's title, which is compared like a block."""
_DIGEST = 10
_LINK = 300

_MONEY = re.compile(r"[$€£¥₺₹₽%]|^(?:usd|eur|gbp|chf|jpy|tl|try|euro?s?|dollars?|lira)\b").search
"""A number beside one of these was put there by a person, as far as a watcher is concerned."""
_NUMBER = re.compile(r"\d").search
_RANDOM = re.compile(
    r"\d|^[0-9a-f]{8,}$|[bcdfghjklmnpqrstvwxz]{6}|[a-z][A-Z][A-Za-z]*[a-z][A-Z]"
).search
_WORDS: dict[str, str] = tomllib.loads(
    files("honeyguide.watch.compare").joinpath("time_words.toml").read_text("utf-8")
)
_DAYS, _TIMES = frozenset(_WORDS["days"].split()), frozenset(_WORDS["times"].split())
"""Words of time beside a number; elsewhere they are words like others."""
_EDGES = ".,:;!?()[]{}<>\"'«»“”|/·•-–—"
_TOKEN = re.compile(r"(?<=[/;=])(?=[^/;=]*\d)[A-Za-z0-9_~%\-]{12,}").sub
"""Parts of a path that no person would think of: session names and the like."""
_NAME = re.compile(rf"=[0-9a-f]{{{_DIGEST}}}$").search
_VALUE = re.compile(r"=(?:[^&]*\d[^&]*|[^&]{12,})").sub


class BlockAnchor(NamedTuple):
    """A block that stays, by which others that do not are found."""

    text: str
    behind: int = 1
    """How many blocks behind it the other one stands."""


@lru_cache(maxsize=1_024)
def word_skeleton(text: str, prices: bool = False) -> str:
    """The words of a block without what a program may have put between them.

    ``prices``: also without those, which are news as long as nobody says otherwise.
    """
    kept: list[str] = []
    words = text.split()
    for at, word in enumerate(words):
        bare = word.strip(_EDGES)
        lower = bare.lower()
        behind = bool(kept) and kept[-1] == "#"
        if (
            not bare
            or lower in _DAYS
            or (lower in _TIMES and (behind or any(map(_NUMBER, words[at + 1 : at + 2]))))
            or (_RANDOM(bare) and (prices or not _is_price(words, at)))
        ):
            if not behind:
                kept.append("#")
        else:
            # 1 visitor, 2 visitors
            kept.append(lower.removesuffix("s") if behind else lower)
    return " ".join(kept)


def _is_price(words: list[str], at: int) -> bool:
    neighbours = words[max(0, at - 1) : at + 2]
    return any(_MONEY(word.lower()) for word in neighbours)


def text_digest(text: str) -> str:
    """Of a skeleton, as masks name it."""
    return xxh3_64_hexdigest(text.encode("utf-8", "replace"))[:_DIGEST]


def soft_mask(path: str, text: str) -> str:
    """Blocks of the same words at this path, whatever a program put between them."""
    return f"{path}~{text_digest(word_skeleton(text))}"


def line_mask(path: str, text: str) -> str:
    """This very line at this path, whatever its numbers, and whether or not it is there."""
    return f"{path}={text_digest(word_skeleton(text, prices=True))}"


def anchored_mask(key: str, anchor: BlockAnchor) -> str:
    """The same, but only so far behind this other block."""
    return f"{key}^{text_digest(word_skeleton(anchor.text))}+{anchor.behind}"


def link_mask(url: str) -> str:
    """Links that differ only in tokens have the same."""
    path, mark, query = url.partition("?")
    start = path.find("/", path.find("//") + 2)
    masked = f"{path[:start]}{_TOKEN('#', path[start:])}{mark}{_VALUE('=#', query)}"
    return f"link:{masked}"[:_LINK]


def folder_mask(url: str) -> str:
    """All links into the folder of this one."""
    path = url.partition("?")[0]
    return f"link:{path[: path.rfind('/') + 1]}"[: _LINK - 1] + "*"


def data_mask(name: str) -> str:
    return f"data:{name}"


def order_mask(path: str) -> str:
    return f"order:{path}"


def mask_path(mask: str) -> str:
    """Where a mask applies, for people to read."""
    path, tilde, _ = mask.partition("~")
    if tilde or mask.startswith(("link:", "data:", "order:")):
        return path
    found = _NAME(path)
    return path[: found.start()] if found else path.rpartition("^")[0] or path

"""What is known of a page that is visited again: a version as it is compared, and what differed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

from honeyguide.types import Url

ChangeKind = Literal[
    "new", "content", "minor", "data", "links", "structure", "cosmetic", "moved", "gone", "back",
    "blocked", "soft_404",
]  # fmt: skip
"""What a revisit found; a change can be of several kinds."""


class Block(NamedTuple):
    """A paragraph, heading, list item or cell: the unit in which pages are compared."""

    path: str
    """Element names with their classes from the body down: ``div.post/ul/li``."""
    text: str
    """White space collapsed."""
    weight: float = 1.0
    """How much it counts: 1 in the main content, little in menus and footers."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A version of a page, as far as versions are compared."""

    url: Url
    title: str = ""
    blocks: tuple[Block, ...] = ()
    links: tuple[Url, ...] = ()
    data: tuple[tuple[str, str], ...] = ()
    """Fields that the page states for machines (JSON-LD): ``offers.price`` → ``12.50``."""
    shape: int = 0
    """Digest of its tags without their texts: equal if only words differ."""


class PageEdit(NamedTuple):
    """One block, or one field of its data, that is not as it was."""

    what: Literal["added", "removed", "changed", "moved", "data"]
    path: str
    old: str = ""
    new: str = ""
    weight: float = 0.0
    """How much it counted in the change's significance."""


@dataclass(frozen=True, slots=True)
class Change:
    """What differed when a page was revisited."""

    url: Url
    at: float
    kinds: tuple[ChangeKind, ...]
    """The weightiest first."""
    significance: float = 0.0
    """0..1: how much of what matters on the page is new."""
    since: float = 0.0
    """When the version before was seen."""
    edits: tuple[PageEdit, ...] = ()
    links_added: tuple[Url, ...] = ()
    links_removed: tuple[Url, ...] = ()
    masked: int = 0
    """Blocks that differed and are known to differ at every visit."""
    detail: str = ""
    """Where it moved to, the status it answered, what blocked us."""

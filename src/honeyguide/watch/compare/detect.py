"""What differs between two versions of a page, and how much of it matters.

The upper steps of the ladder: equal bodies never come here. Blocks are matched as multisets
(:mod:`honeyguide.watch.compare.match`), what is known to differ at every visit is masked
(:mod:`honeyguide.watch.compare.mask_names`), and the rest is weighed: how much of the main content
is new, how much it has to do with the topic, and whether such blocks stay (Olston and Pandey 2008
tell ephemeral from persistent content; we multiply by persistence where they model it).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from honeyguide.change import Block, Change, Snapshot
from honeyguide.parse.blocks import read_snapshot
from honeyguide.types import Url
from honeyguide.watch.compare.edit_counts import Relevance, Tally
from honeyguide.watch.compare.mask_names import SHAPE, TITLE, folder_key, link_key
from honeyguide.watch.compare.match import match

_LINKS = 500


def compare(
    old: Snapshot,
    new: Snapshot,
    masks: Collection[str] = (),
    relevance: Relevance | None = None,
    *,
    persistence: Mapping[str, float] | None = None,
    at: float = 0.0,
    since: float = 0.0,
) -> Change | None:
    """The change from one version to the next; None: nothing that is not masked differs.

    ``relevance`` says how much a changed text has to do with the topic, 0..1, and
    ``persistence`` how often what appears at a path is still there at the next visit.
    """
    if (
        old.blocks == new.blocks
        and old.links == new.links
        and old.data == new.data
        and (old.title, old.shape) == (new.title, new.shape)
    ):
        return None
    masks = frozenset(masks)
    before, after = with_title(old), with_title(new)
    tally = Tally(masks, relevance, persistence or {})
    tally.blocks(before, after, match(before, after))
    tally.fields(old.data, new.data)
    added, removed = links_changed(old, new, masks)
    tally.links = len(added) + len(removed)
    kinds = tally.kinds(old.shape != new.shape and SHAPE not in masks)
    if not kinds:
        return None
    return Change(
        new.url,
        at,
        kinds,
        tally.significance(),
        since,
        tally.shown(),
        added[:_LINKS],
        removed[:_LINKS],
        tally.masked,
    )


def compare_bodies(
    old: bytes,
    new: bytes,
    url: str = "http://localhost/",
    masks: Collection[str] = (),
    content_type: str = "text/html",
) -> Change | None:
    """The change between two bodies of a page, without anything else being known of it."""
    if old == new:
        return None
    address = Url(url)
    return compare(
        read_snapshot(old, address, content_type), read_snapshot(new, address, content_type), masks
    )


def with_title(snapshot: Snapshot) -> tuple[Block, ...]:
    if not snapshot.title:
        return snapshot.blocks
    return (Block(TITLE, snapshot.title), *snapshot.blocks)


def links_changed(
    old: Snapshot, new: Snapshot, masks: Collection[str] = ()
) -> tuple[tuple[Url, ...], tuple[Url, ...]]:
    """Links added and removed, as far as they are not masked."""
    if old.links == new.links:
        return (), ()
    before, after = set(old.links), set(new.links)
    if before == after:
        return (), ()
    added = [url for url in new.links if url not in before]
    removed = [url for url in old.links if url not in after]
    if any(mask.startswith("link:") for mask in masks):
        added = [url for url in added if not _covered(url, masks)]
        removed = [url for url in removed if not _covered(url, masks)]
    return tuple(added), tuple(removed)


def _covered(url: Url, masks: Collection[str]) -> bool:
    return link_key(url) in masks or folder_key(url) in masks

"""Links to other shards' hosts go out in letters, as often as they say something new."""

from __future__ import annotations

from pathlib import Path

import pytest

from honeyguide.cluster.messages import LinkOutbox, unpack_links
from honeyguide.cluster.sharded_frontier import (
    SIGHTINGS,
    HostLeases,
    ShardedFrontier,
    ShardPartition,
    shard_of,
)
from honeyguide.frontier.frontier import LinkFrontier
from honeyguide.frontier.order import make_order
from honeyguide.store.store import Store
from honeyguide.types import Candidate, Link, Url
from tests.contracts.logs import MemoryFrontierLog

NEAR, FAR = (
    next(f"site{n}.org" for n in range(100) if shard_of(f"site{n}.org", 2) == shard)
    for shard in range(2)
)


def _url(host: str, page: int) -> Url:
    return Url(f"http://{host}/{page}")


@pytest.mark.parametrize("sightings", [1, SIGHTINGS])
def test_a_far_link_is_told_so_often_and_no_more(tmp_path: Path, sightings: int) -> None:
    with Store.open(tmp_path, "crawl") as store:
        own = LinkFrontier(MemoryFrontierLog(), make_order("best", 1))
        post = LinkOutbox(0, 2, store.shard_messages, lambda _: None)
        loans = HostLeases(0, own, 60.0, lambda _: None)
        border = ShardedFrontier(own, ShardPartition(0, 2), post, loans, lambda: 1.0, sightings)
        page = [_url(NEAR, 1), _url(FAR, 1), _url(NEAR, 2), _url(FAR, 2)]
        for met in range(5):
            wanted = border.still_wanted(page)
            assert wanted == [True, met < sightings, True, met < sightings]
            border.push(Candidate(Link(url), 0.5) for url in page)
        assert border.still_wanted([_url(FAR, 1), _url(FAR, 3), _url(FAR, 3), _url(NEAR, 3)]) == [
            False, True, True, True,
        ]  # fmt: skip
        assert len(border) == 2
        assert border.links == 2 * sightings
        with store.transaction():
            border.flush()
        told = [
            link.url
            for _, _, data in store.shard_messages.iter_messages()
            for _, link in unpack_links(data)
        ]
        assert told == page[1::2] * sightings

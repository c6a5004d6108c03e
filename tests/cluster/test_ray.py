"""A crawl on three machines: one dies, one is cut off and comes back, the command is killed."""

from __future__ import annotations

from collections import Counter
from importlib.util import find_spec
from pathlib import Path

import pytest

from honeyguide.api.collection import Collection
from honeyguide.cluster.sharded_crawl import unite_shards
from honeyguide.cluster.sharded_frontier import shard_of
from honeyguide.types import Url
from honeyguide.url import host_of
from tests.cluster import web
from tests.cluster.crawling import Crawl, one_writer, until
from tests.cluster.machines import Machines, end, missing
from tests.cluster.nodes import start_head, start_node
from tests.end_to_end.crawling import journal

REST_S = 0.2
HOSTS, PAGES = 12, 200


@pytest.fixture(scope="module", autouse=True)
def _possible() -> None:
    if why := missing():
        pytest.skip(why)


@pytest.mark.slow
@pytest.mark.skipif(not find_spec("ray"), reason="needs Ray: honeyguide[cluster]")
def test_a_crawl_outlives_machines_and_its_command(tmp_path: Path) -> None:
    with Machines("a", "b", "c") as (a, b, c):
        start_head(a, cpus=2)
        start_node(b, a)
        start_node(c, a)
        crawl = Crawl(a, tmp_path, REST_S, "--hosts", str(HOSTS), "--pages", str(PAGES))
        crawl.reach(b)
        crawl.reach(c)
        crawl.make("http://h0.example/")
        command = crawl.start("--shards", "3")
        until(lambda: len(crawl.asked()) > 150, 90, "the crawl does not begin")

        end(command)  # kill -9
        before = len(crawl.asked())
        until(lambda: len(crawl.asked()) > before + 40, 30, "shards do not go on alone")
        told = crawl.status()
        assert {row["machine"] for row in told["rows"]} == {"a", "b", "c"}
        assert all(row["answers"] and row["window_s"] == 1.0 for row in told["rows"])

        gathered = len(journal(crawl.folder))
        command = crawl.start()
        until(lambda: _shards(crawl, gathered) == {0, 1, 2}, 60, "the command does not come back")
        c.kill()
        until(lambda: crawl.moved("c"), 60, "c's shard stays lost")
        b.cut()
        until(lambda: crawl.moved("b"), 60, "b's shard stays lost")
        b.reconnect()
        assert command.wait(180) == 0, crawl.said.read_text()
        log, said = crawl.asked(), crawl.said.read_text()
        crawl.close()

    wanted = web.Small(HOSTS, PAGES).urls()
    visits = _visits(crawl)
    assert set(visits) == wanted, "a page was not visited"
    assert max(visits.values()) == 1, "a visit came twice"
    assert crawl.report()["pages"] == len(wanted)
    assert web.offences(log, REST_S) == []
    heads = crawl.heads()
    assert sorted(heads) == [0, 1, 2]
    assert all(one_writer(each) for each in heads.values())
    assert sum(head.kind == "claim" for each in heads.values() for head in each) >= 3 + 3 + 2
    assert "was lost on c and reopened" in said
    assert "was lost on b and reopened" in said
    again = len(log) - len({(asked.host, asked.path) for asked in log})
    assert again < 0.2 * len(wanted), "more was done again than the window allows"
    unite_shards(crawl.folder, Collection(crawl.folder).settings)
    assert _visits(crawl) == visits


def _shards(crawl: Crawl, after: int) -> set[int]:
    """Whose visits came into the collection since."""
    return {shard_of(host_of(Url(row.url)), 3) for row in journal(crawl.folder)[after:]}


def _visits(crawl: Crawl) -> Counter[str]:
    """Pages that came; a machine that is cut off may have failed at others before it stopped."""
    return Counter(row.url for row in journal(crawl.folder) if row.status == 200)

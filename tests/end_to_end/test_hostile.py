"""The whole catalogue of misbehaviour in one crawl: it ends, and each case is in the journal."""

from __future__ import annotations

from pathlib import Path

import pytest

from honeyguide.net import politeness
from honeyguide.store.visits import VisitRow
from tests.end_to_end.crawling import collection, honeyguide, journal
from tests.site.behaviours import CATALOGUE
from tests.site.exchange import page
from tests.site.redirects import redirect
from tests.site.robots import ROBOTS, mount_robots
from tests.site.server import Site

CASES = {f"http://case{number}.test{path}": path for number, path in enumerate(sorted(CATALOGUE))}
"""Each case has a host to itself, so that one's back-off does not hold up another."""


@pytest.fixture(scope="module")
def crawled(wild: Site, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[VisitRow]]:
    folder = tmp_path_factory.mktemp("hostile") / "bees"
    collection(
        folder,
        list(CASES),
        # By way of the proxy, as every name means this machine; robots.txt is 404 there.
        fetch={"proxy": wild.proxy, "private_addresses": False, "total_s": 2, "read_s": 1},
        crawl={"pages": 1200, "patience_s": 2, "concurrency": 32},
        scope={"pages_per_domain": 15, "exclude": [r"^https"]},
    )
    done = honeyguide("crawl", folder, "--json", timeout=300)
    assert done.returncode == 0, done.stderr
    rows: dict[str, list[VisitRow]] = {}
    for row in journal(folder):
        rows.setdefault(row.url, []).append(row)
    return rows


def test_every_case_has_a_clear_outcome(crawled: dict[str, list[VisitRow]]) -> None:
    missing = [path for url, path in CASES.items() if url not in crawled]
    assert not missing, f"{len(missing)} cases left no trace: {missing[:10]}"
    for url in CASES:
        for row in crawled[url]:
            outcome = row.failure or row.moved or row.has_page
            assert outcome, f"{CASES[url]}: status {row.status}, but neither page nor failure"
            if row.failure:
                assert row.failure != "fetch", f"{CASES[url]}: {row.detail}"


def test_nobody_was_led_to_a_private_address(
    crawled: dict[str, list[VisitRow]], wild: Site
) -> None:
    private = ("169.254.", "10.0.0.", "localhost", "[::1]", "127.")
    asked = {hit.host for hit in wild.log}
    assert not [host for host in asked if host.startswith(private)]
    refused = [row for rows in crawled.values() for row in rows if row.failure == "forbidden"]
    assert refused, "redirects to private addresses must be in the journal"


def test_traps_end(crawled: dict[str, list[VisitRow]]) -> None:
    per_host: dict[str, int] = {}
    for url in crawled:
        host = url.split("/")[2]
        per_host[host] = per_host.get(host, 0) + 1
    worst = max(per_host, key=lambda host: per_host[host])
    # The quota of 15 grows by 20 with every relevant page, and traps have none.
    assert per_host[worst] <= 40, f"{worst}: {per_host[worst]} addresses"


def test_every_shape_of_robots_txt_has_an_outcome(site: Site, tmp_path: Path) -> None:
    mount_robots(site)
    site.route(None, "/", page("<title>Bees</title>honey bee hive"))
    seeds = {name: f"http://{name}.test/" for name in ROBOTS}
    collection(
        tmp_path / "bees",
        list(seeds.values()),
        fetch={"proxy": site.proxy, "private_addresses": False, "total_s": 2, "read_s": 1},
        crawl={"patience_s": 8, "concurrency": 32},
        scope={"exclude": [r"^https"]},
    )
    done = honeyguide("crawl", tmp_path / "bees", "--json", timeout=200)
    assert done.returncode == 0, done.stderr
    told = {row.url for row in journal(tmp_path / "bees")}
    missing = [name for name, url in seeds.items() if url not in told]
    assert not missing, f"no outcome for {missing}"


def test_two_robots_txt_that_point_at_each_other_keep_nobody(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(politeness, "_OTHER_HOST_WAIT_S", 1.0)
    hosts = site.addresses[:2]
    for one, other in (hosts, hosts[::-1]):
        site.route(one, "/robots.txt", redirect(site.url(other, "/robots.txt")))
    seeds = [site.url(host, "/") for host in hosts]
    made = collection(
        tmp_path / "bees", seeds, crawl={"patience_s": 2}, politeness={"loopback_delay_s": 0.1}
    )
    report = made.crawl()
    assert report.reason.startswith("no host is ready"), report.reason
    assert {row.failure for row in journal(tmp_path / "bees")} == {"robots"}
    assert {row.url for row in journal(tmp_path / "bees")} == set(seeds)
    assert {hit.path for hit in site.log} == {"/robots.txt"}

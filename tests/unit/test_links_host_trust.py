"""Trust spreads over links between sites; what only leads to itself waits for it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

import msgspec
import pytest

from honeyguide.links.host_trust import HostTrust, SiteNews
from honeyguide.types import Label, Link, Url

SEED = Url("http://seed.example/")


def page(site: str, number: int = 0) -> Url:
    return Url(f"http://www.{site}.example/{number}")


def link(source: str, target: str) -> Link:
    return Link(page(target), page(source), depth=1)


def visit(trust: HostTrust, source: str, target: str, onward: Sequence[str] = ()) -> bool:
    """Whether the visit may be made; then the links of its page are told."""
    if trust.must_wait(link(source, target), 0.9):
        return False
    trust.record_links(page(target), [link(target, name) for name in onward])
    return True


def start(honest: Iterable[str], share: float = 0.1) -> HostTrust:
    """A seed that links to all these sites, which link to each other."""
    trust = HostTrust(share, [SEED])
    trust.must_wait(Link(SEED), 1.0)
    names = list(honest)
    trust.record_links(SEED, [Link(page(name), SEED) for name in names])
    for name in names:
        assert visit(trust, "seed", name, [*names, "seed"])
    return trust


def crawl_farm(trust: HostTrust, sites: int, visits: int) -> int:
    """Visit sites that all link to the next ones and the one before; returns how many were."""
    trust.record_links(page("h0"), [link("h0", "f0")])
    made = 0
    for number in range(visits):
        at = number % sites
        others = [f"f{(at + step) % sites}" for step in (1, 2, 3, sites - 1)]
        made += visit(trust, f"f{(at - 1) % sites}" if number else "h0", f"f{at}", others)
    return made


def honest_sites(count: int) -> list[str]:
    return [f"h{number}" for number in range(count)]


def test_a_farm_soon_gets_only_its_share() -> None:
    trust = start(honest_sites(10))
    assert crawl_farm(trust, 100, 400) < 60
    assert trust.held_notes
    for number in range(300):
        assert visit(trust, "h1", f"h{number % 10}")
    # Its share grows with the visits of others, and one host at a time is let go.
    freed = trust.hosts_to_free()
    assert len(freed) <= 1


def test_parts_of_a_farm_that_link_to_the_same_sites_are_one_region() -> None:
    trust = start(honest_sites(20))
    made = 0
    for number in range(5):
        for part in range(20):
            source = f"f{part}-{number - 1}" if number else f"h{part}"
            onward = [f"f{part}-{number + 1}", f"shared{part + number}"]
            made += visit(trust, source, f"f{part}-{number}", onward)
    assert made < 70  # of a hundred
    assert trust.hosts_on_probation()


def test_a_domain_of_many_hosts_needs_more_trust() -> None:
    trust = start(honest_sites(20))
    made = 0
    for number in range(400):
        target = Link(Url(f"http://p{number}.farm.example/"), page(f"h{number % 8}"), depth=1)
        made += not trust.must_wait(target, 0.9)
        trust.record_links(page(f"h{number % 8}"), [target])
    assert made < 200


def test_a_good_label_is_where_trust_begins_anew() -> None:
    trust = start(honest_sites(10))
    crawl_farm(trust, 300, 200)
    held = trust.hosts_on_probation()
    trust.add_labels([(1, Label(page("f3"), 1.0))])
    freed = held - trust.hosts_on_probation()
    assert "www.f3.example" in freed


def test_sites_that_others_link_to_never_wait() -> None:
    trust = start(honest_sites(40))
    for number in range(400):
        assert visit(trust, f"h{number % 40}", f"h{(number + 1) % 40}")
    assert not trust.held_notes


def test_a_chain_of_a_few_new_sites_does_not_wait() -> None:
    trust = start(honest_sites(5))
    for one, other in pairwise(["h0", "n1", "n2", "n3"]):
        for _ in range(50):
            assert visit(trust, one, other)


@pytest.mark.parametrize(("value", "freed"), [(1.0, True), (0.0, False)])
def test_a_label_frees_a_region_or_closes_it(value: float, freed: bool) -> None:
    trust = start(honest_sites(10))
    crawl_farm(trust, 50, 200)
    trust.add_labels([(1, Label(page("f3"), value))])
    assert bool(trust.hosts_to_free()) is freed
    for number in range(1000):
        assert visit(trust, "h1", f"h{number % 10}")
    assert visit(trust, "f1", "f40") is freed
    if not freed:
        assert "labelled" in trust.why_waiting(link("f1", "f40"))


def test_a_bad_label_elsewhere_only_concerns_its_page() -> None:
    trust = start(honest_sites(10))
    trust.add_labels([(1, Label(page("h3"), 0.0))])
    assert visit(trust, "h1", "h3")


def test_it_says_why_a_site_waits() -> None:
    trust = start(honest_sites(10))
    crawl_farm(trust, 50, 200)
    assert "sites around f0.example" in trust.why_waiting(link("f1", "f45"))
    assert trust.why_waiting(link("h1", "h2")) == ""


def test_what_it_knows_is_stored_and_restored() -> None:
    trust = start(honest_sites(10))
    crawl_farm(trust, 50, 200)
    saved = trust.take_state()
    assert saved
    assert not trust.take_state()
    followed = [link("h0", "f0"), *(link(f"f{n}", f"f{n + 1}") for n in range(20))]
    again = HostTrust(0.1, [SEED], followed, saved)
    assert again.why_waiting(link("f1", "f45"))
    assert again.must_wait(link("f1", "f45"), 0.9)


@pytest.mark.parametrize(
    "saved", ["{", "[1,2,3,4]", '[["a"],["b"],[9],[9]]', '[["a"],[0],[5],[7]]']
)
def test_damaged_state_is_left_out(saved: str) -> None:
    assert not HostTrust(0.1, [SEED], (), saved).must_wait(link("seed", "h1"), 0.5)


def test_without_a_seed_nothing_waits() -> None:
    trust = HostTrust(0.1)
    assert crawl_farm(trust, 50, 200) == 200


def tell(one: HostTrust, other: HostTrust) -> bool:
    """News from one to the other, as they go through a wire; whether there were any."""
    if (news := one.take_news()) is None:
        return False
    wire = msgspec.msgpack.encode(news)
    other.take_in(msgspec.msgpack.decode(wire, type=SiteNews))
    return True


def test_news_make_shards_know_a_farm_that_each_sees_a_part_of() -> None:
    trust = start(honest_sites(10))
    crawl_farm(trust, 50, 200)
    held = trust.hosts_on_probation()
    shard = start(honest_sites(10))
    assert visit(shard, "f1", "f45")
    assert tell(trust, shard)
    assert shard.why_waiting(link("f1", "f45"))
    assert held <= shard.hosts_on_probation()
    assert visit(shard, "f1", "f44")
    assert not visit(shard, "f1", "f43"), "a tenth of its own visits"
    assert tell(shard, trust), "it was at f45"
    assert "www.f45.example" in trust.hosts_on_probation()


def test_news_are_told_once_and_to_who_asks_again() -> None:
    trust = start(honest_sites(10))
    coordinator, late = HostTrust(0.1, [SEED]), HostTrust(0.1, [SEED])
    crawl_farm(trust, 50, 200)
    assert tell(trust, coordinator)
    assert not tell(trust, coordinator)
    assert tell(coordinator, trust), "the coordinator passes on what it hears"
    trust.take_news()
    assert not tell(trust, coordinator)
    assert not tell(coordinator, late)
    coordinator.tell_again()
    assert tell(coordinator, late)
    assert late.hosts_on_probation() == trust.hosts_on_probation() != set()


def test_labels_and_named_sites_are_news() -> None:
    coordinator, shard = start(honest_sites(10)), start(honest_sites(10))
    crawl_farm(shard, 50, 200)
    tell(shard, coordinator)
    held = shard.hosts_on_probation()
    coordinator.add_labels([(7, Label(page("f3"), 1.0))])
    assert coordinator.last_label == 7
    assert tell(coordinator, shard)
    assert shard.hosts_on_probation() < held
    assert visit(shard, "f2", "f3")

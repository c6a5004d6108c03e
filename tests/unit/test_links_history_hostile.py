"""What a site, or a stranger's folder, would like the ledger to believe."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from honeyguide.errors import ModelError
from honeyguide.links import history
from honeyguide.links.history import LinkHistory
from honeyguide.store.codec import pack_link_stats, unpack_link_stats
from honeyguide.store.generations import pack_strategy, unpack_strategy
from honeyguide.strategies.honeyguide import Honeyguide
from honeyguide.types import Failure, Link, LinkStats, Url, Verdict, Visit

LIST = Link(Url("http://a.org/list"), source=Url("http://a.org/"))
SOUND = LinkStats(0.1, 1.0, 0.2, 2.0, 0.3, 0.4, 0.5, 1, 2, 30)


def link(path: str) -> Link:
    return Link(Url(f"http://a.org/{path}"), source=LIST.url)


def siblings(ledger: LinkHistory, one: Link) -> float:
    (told,) = ledger.annotate_links((one,))
    assert told.yields is not None
    return told.yields.siblings


def test_what_a_redirect_leads_to_counts_for_the_list() -> None:
    straight, moved = LinkHistory(0.5), LinkHistory(0.5)
    for ledger in (straight, moved):
        ledger.record_page(LIST, 0.2, [link("1"), link("2")])
    straight.record_visit(Visit(link("1"), 0.0, verdict=Verdict(1.0)))
    target = Url("https://a.org/1")
    moved.record_visit(Visit(link("1"), 0.0, moved=target))
    onward = link("1")._replace(url=target, source=link("1").url, channel="redirect")
    moved.record_visit(Visit(onward, 0.0, verdict=Verdict(1.0)))
    assert siblings(moved, link("2")) == pytest.approx(siblings(straight, link("2")), abs=0.05)


def test_an_attempt_that_will_be_repeated_says_nothing() -> None:
    ledger = LinkHistory(0.5)
    ledger.record_page(LIST, 0.2, [link("1"), link("2")])
    before = siblings(ledger, link("2"))
    ledger.record_visit(Visit(link("1"), 0.0, failure=Failure("status", "HTTP 503", final=False)))
    assert siblings(ledger, link("2")) == before


def test_children_of_old_pages_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "_FAMILIES", 3)
    ledger = LinkHistory(0.5)
    for n in range(10):
        page = LIST._replace(url=Url(f"http://a.org/{n}"))
        ledger.record_page(page, 0.5, [link(f"{n}/{m}") for m in range(5)])
    assert sum(len(page.children) for page in ledger._pages.values()) == 15
    ledger.record_page(LIST, 0.5, [link("x" * 1000)])
    assert not ledger._pages[LIST.url].children, "too long to be kept for this"


@pytest.mark.parametrize("verdict", [float("nan"), float("inf"), -3.0, "abc", None])
def test_strange_verdicts_are_worth_nothing(verdict: float) -> None:
    ledger = LinkHistory(0.5)
    ledger.record_page(LIST, verdict, [link("1")])
    ledger.record_visit(Visit(link("2"), 0.0, verdict=Verdict(verdict)))
    (told,) = ledger.annotate_links((link("1"),))
    assert told.yields is not None
    assert told.yields.best == 0.0


def test_yields_survive_the_journal_and_lies_do_not() -> None:
    assert unpack_link_stats(pack_link_stats(SOUND)) == SOUND
    assert unpack_link_stats("") is None
    for place, lie in ((0, 7.0), (7, -5), (7, 10**400), (9, -1), (0, None), (0, "x")):
        values = [*SOUND]
        values[place] = lie  # type: ignore[call-overload]
        assert unpack_link_stats(json.dumps(values)) is None
    assert unpack_link_stats("[1e999" + ",0" * 9 + "]") is None


def test_a_site_cannot_praise_its_own_link_without_end() -> None:
    strategy = Honeyguide(keywords=("owl",))
    one = link("1")
    some, many = strategy.rank(
        [one._replace(yields=SOUND._replace(relevant=count)) for count in (10, 5000)]
    )
    assert some == many


@pytest.mark.parametrize(
    "damage",
    [
        {"moved": (float("nan"),) * 13},
        {"moved": ("x",) * 13},
        {"sign_names": "\n"},
        {"sign_names": "z owl"},
        {"page_slope": float("inf")},
        {"page_machine": 5},
    ],
)
def test_damaged_generations_are_refused(damage: dict[str, object]) -> None:
    with pytest.raises(ModelError):
        replace(Honeyguide(keywords=("owl",)), **damage)  # type: ignore[arg-type]


def test_a_generation_with_a_parameter_out_of_its_range_is_refused() -> None:
    made = Honeyguide(keywords=("owl",))
    assert unpack_strategy(pack_strategy("it", made), lambda _: Honeyguide) == made
    object.__setattr__(made, "few", 0)
    with pytest.raises(ModelError, match=r"strategy\.few must be at least 1"):
        unpack_strategy(pack_strategy("it", made), lambda _: Honeyguide)


def test_yields_that_were_kept_before_neighbours_counted_are_read() -> None:
    old = json.dumps(json.loads(pack_link_stats(SOUND))[:-1])
    assert unpack_link_stats(old) == SOUND
    assert SOUND.beside == 0.1, "as if nothing were known of its neighbours"
    near = SOUND._replace(beside=0.7)
    assert unpack_link_stats(pack_link_stats(near)) == near
    assert unpack_link_stats(pack_link_stats(SOUND._replace(beside=1.7))) is None

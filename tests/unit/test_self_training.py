"""Which of its own verdicts a strategy believes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from honeyguide.learning.generation_builder import ExamplePool, GenerationBuilder
from honeyguide.learning.self_training import select_confident
from honeyguide.types import Example, Link, Page, StrategyTraits, Url, Verdict


def example(n: int, target: float, by: Any = "judge", site: str = "") -> Example:
    url = Url(f"http://{site or f'e{n}.org'}/{n}")
    return Example(Link(url), Page(url, text=f"page {n}"), target, by)


def number(page: Page) -> int:
    return int(page.url.rpartition("/")[2])


def good(examples: list[Example]) -> list[int]:
    return [number(e.page) for e in examples if e.target >= 0.5]


def bad(examples: list[Example]) -> list[int]:
    return [number(e.page) for e in examples if e.target < 0.5]


def test_the_surest_good_ones_and_the_newest_bad_ones() -> None:
    judged = [example(n, float(n < 50)) for n in range(40, 60)]
    scores = {n: 0.8 + n / 1000 for n in range(40, 50)} | {45: 0.99, 49: 0.3}
    chosen = select_confident(judged, [], [], lambda page: scores[number(page)], 2, 100)
    assert good(chosen) == [45, 48], "49 was sure once, and is not any more"
    assert bad(chosen) == [59, 58, 57, 56, 55, 54]


def test_what_is_believed_stays_and_counts() -> None:
    judged = [example(n, 1.0) for n in range(10)]
    first = select_confident(judged, [], [], lambda page: 0.8 + number(page) / 100, 1, 100)
    second = select_confident(judged, first, [], lambda page: 0.95 - number(page) / 100, 2, 100)
    assert (good(first), good(second)) == ([9], [9, 0])
    assert select_confident(judged, second, [], lambda _: 0.9, 2, 100) == second


def test_a_site_teaches_no_more_than_its_share_of_what_people_showed() -> None:
    judged = [example(n, 0.0, site="casino.org") for n in range(100)]
    strange = [example(n, float(n % 2), "seed") for n in range(200, 210)]
    chosen = select_confident(judged, [], strange, lambda _: 0.0, 10, 1000)
    assert len(chosen) == 4, "a tenth of forty"
    own = [example(n, float(n % 2), "seed", "casino.org") for n in range(200, 210)]
    assert len(select_confident(judged, [], own, lambda _: 0.0, 10, 1000)) == 30, (
        "its own site: all there is"
    )


def test_one_page_in_fourteen_until_a_person_speaks() -> None:
    pool = ExamplePool()
    pool.add(example(900, 1.0, "seed", "e.org"))
    pool.add(example(901, 0.0, "seed", "e.org"))
    for n in range(28):
        pool.add(example(n, 1.0, site="e.org"))
        pool.add(example(n, 0.95, "visit", "e.org"))
    chosen = pool.confident_judged(pool.labelled_examples(), lambda _: 0.9, 1)
    assert len(chosen) == 2
    pool.set_believed(chosen)
    pool.add(replace(chosen[0], target=0.0, by="user"))
    left = pool.confident_judged(pool.labelled_examples(), lambda _: 0.9, 1)
    assert chosen[0] not in left
    assert chosen[1] in left


@dataclass(frozen=True)
class Modest:
    """Sure of pages by their number, and tells what it was taught."""

    traits: ClassVar[StrategyTraits] = StrategyTraits(learns=True)
    believes: int = 1
    taught: tuple[int, ...] = ()

    def judge(self, page: Page) -> Verdict:
        return Verdict(0.8 + number(page) / 10_000)

    def rank(self, links: Any) -> list[float]:
        return [0.5 for _ in links]

    def explain(self, link: Link) -> tuple[()]:
        return ()

    def learn(self, examples: Any) -> Self:
        return replace(self, taught=tuple(number(e.page) for e in examples if e.by == "judge"))


def test_a_strategy_says_how_many_it_believes() -> None:
    for believes, count in ((1, 2), (2, 4), (0, 20)):
        school = GenerationBuilder()
        for n in range(20):
            school.offer(example(900 + n, float(n % 2), "seed", "e.org"))
        for n in range(28):
            school.offer(example(n, 1.0))
            school.offer(example(n, 0.9, "visit"))
        learned = school.build_generation(Modest(believes)).strategy
        assert isinstance(learned, Modest)
        assert len(learned.taught) == count, believes
        if believes:
            assert learned.taught == tuple(range(27, 27 - count, -1)), "the surest of all"

"""Restless pages: masked without being told, and never at the price of a real edit."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import NamedTuple

import pytest

from honeyguide.change import Snapshot
from honeyguide.parse.blocks import read_snapshot
from honeyguide.types import Url
from honeyguide.watch.compare.page_change import compare_snapshots
from honeyguide.watch.compare.volatile import (
    VolatileMemory,
    common_masks,
    find_volatile,
    initial_memory,
    observe_changed,
    observe_unchanged,
)

HOUR = 3_600.0
DAY = 24 * HOUR
URL = Url("http://site.example/page")
DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()  # noqa: SIM905
WORDS = """river stone meadow falcon harbour lantern orchard timber copper valley saddle barley
    thistle anchor cedar mortar quarry ribbon saffron tunnel""".split()  # noqa: SIM905


class MadePage:
    """A page that never looks the same twice, and is edited when told to be."""

    def __init__(self, number: int) -> None:
        self.rng = random.Random(number)
        self.number = number
        self.paragraphs = [self.sentence(20) for _ in range(8)]
        self.cells = [self.rng.randrange(1_000) for _ in range(5)]
        self.note = "Rendered for you at"
        self.visitors = self.rng.randrange(10_000)

    def sentence(self, length: int) -> str:
        return " ".join(self.rng.choice(WORDS) for _ in range(length))

    def edit(self) -> str:
        kind = self.rng.choice(["paragraph", "word", "cell", "note", "added"])
        at = self.rng.randrange(len(self.paragraphs))
        if kind == "paragraph":
            self.paragraphs[at] = self.sentence(22)
        elif kind == "word":
            self.paragraphs[at] += f" {self.rng.choice(WORDS)}"
        elif kind == "cell":
            self.cells[self.rng.randrange(5)] += 1
        elif kind == "note":
            self.note += f" {self.rng.choice(WORDS)}"
        else:
            self.paragraphs.insert(at, self.sentence(15))
        return kind

    def fetched(self) -> Snapshot:
        rng = self.rng
        self.visitors += rng.randrange(1, 50)
        clock = f"{rng.randrange(24)}:{rng.randrange(60):02}:{rng.randrange(60):02}"
        day = f"{rng.choice(DAYS)}, {rng.randrange(1, 29)} March 2026"
        token = f"{rng.getrandbits(64):016x}"
        paragraphs = "".join(f"<p>{text}</p>" for text in self.paragraphs)
        cells = "".join(f"<tr><td>Row {WORDS[n]}<td>{v}" for n, v in enumerate(self.cells))
        html = f"""<title>Page {self.number}</title><nav><a href="/?sid={token}">Home</a></nav>
            <main>{paragraphs}<p>{self.note} {clock} on {day}, as {token}.</p>
            <table>{cells}<tr><td>Views<td>{self.visitors}</table></main>
            <footer><p>{clock}<p>{self.visitors} visitors since 2019<p>{token}</footer>"""
        return read_snapshot(html.encode(), Url(f"http://site.example/{self.number}"))


class Tally(NamedTuple):
    alarms: int
    calm: int
    found: int
    edits: int
    missed: list[str]

    def check(self) -> None:
        assert self.calm > 700
        assert self.edits > 250
        assert self.alarms < 0.01 * self.calm
        assert self.found > 0.99 * self.edits, self.missed


def visited(
    pages: int, visits: int, begin: Callable[[MadePage, Snapshot], VolatileMemory], after: int
) -> Tally:
    """False alarms among quiet visits, and edits found among edits, from a visit on."""
    alarms = calm = found = edits = 0
    missed: list[str] = []
    for number in range(pages):
        page = MadePage(number)
        before = page.fetched()
        memory = begin(page, before)
        for visit in range(visits):
            edited = page.edit() if visit >= after and page.rng.random() < 0.3 else ""
            now = page.fetched()
            change = compare_snapshots(before, now, memory.active_masks())
            memory = observe_changed(memory, before, now, HOUR / 2)
            if edited:
                edits += 1
                found += change is not None
                missed += [] if change else [edited]
            elif visit >= after:
                calm += 1
                alarms += change is not None
            before = now
    return Tally(alarms, calm, found, edits, missed)


def test_a_second_fetch_masks_clock_token_and_counter_from_the_first_visit_on() -> None:
    visited(
        200, 6, lambda page, first: initial_memory(find_volatile(first, page.fetched())), after=0
    ).check()


def test_without_a_second_fetch_it_is_learned_in_three_visits() -> None:
    visited(200, 9, lambda page, first: VolatileMemory(), after=3).check()


def test_before_anything_is_learned_every_visit_is_an_alarm() -> None:
    """So that the two tests above can fail."""
    seen = visited(20, 2, lambda page, first: VolatileMemory(), after=0)
    assert seen.alarms == seen.calm


def snapshot(html: str) -> Snapshot:
    return read_snapshot(html.encode(), URL)


def advertised(
    words: str, text: str = "The text of the page, which is long and stays."
) -> Snapshot:
    return snapshot(f"<main><p>{text}</p></main><aside class=ad><p>{words}</p></aside>")


ADS = ["Buy a lantern", "Wax moths for sale", "Orchards near you", "Ribbons", "Learn to ride"]


def test_other_words_at_every_visit_are_masked_in_the_margin() -> None:
    memory, before = VolatileMemory(), advertised("First")
    for words in ADS[:3]:
        now = advertised(words)
        assert compare_snapshots(before, now, memory.active_masks()) is not None
        memory, before = observe_changed(memory, before, now, DAY), now
    assert memory.active_masks() == {"aside.ad/p"}
    assert compare_snapshots(before, advertised(ADS[3]), memory.active_masks()) is None
    assert (
        compare_snapshots(before, advertised(ADS[3], "Another text."), memory.active_masks())
        is not None
    )


def test_words_of_the_main_content_that_differ_every_day_are_news() -> None:
    memory, before = VolatileMemory(), advertised("x", "No news")
    for words in ADS:
        now = advertised("x", words)
        memory, before = observe_changed(memory, before, now, DAY), now
    assert not memory.active_masks()


def test_words_of_the_main_content_that_differ_within_minutes_are_not() -> None:
    memory, before = VolatileMemory(), advertised("x", "No news")
    for words in ADS[:3]:
        now = advertised("x", words)
        memory, before = observe_changed(memory, before, now, 60.0), now
    assert memory.active_masks() == {"main/p"}


def test_a_price_is_never_masked_by_itself() -> None:
    def priced(price: int) -> Snapshot:
        data = f'{{"offers": {{"price": {price}, "sku": {price}}}}}'
        return snapshot(f'<p>{price} €<script type="application/ld+json">{data}</script>')

    memory = VolatileMemory()
    for price in range(5):
        memory = observe_changed(memory, priced(price), priced(price + 1), HOUR / 2)
    assert memory.active_masks() == {"data:offers.sku"}


def test_one_restless_paragraph_leaves_its_neighbours_alone() -> None:
    def page(quote: str, other: str = "Third") -> Snapshot:
        quotes = f"<p>First<p>Second<p>{quote}<p>{other}<p>Fifth<p>Sixth"
        return snapshot(f"<main><p>The text.</main><aside>{quotes}</aside>")

    masks = find_volatile(page("To be or not to be"), page("All the world is a stage"))
    assert compare_snapshots(page("One"), page("Two"), masks) is None
    assert compare_snapshots(page("One"), page("Two", "Changed"), masks) is not None


def test_a_list_in_another_order_each_time_is_masked() -> None:
    rng = random.Random(3)
    lists = [rng.sample(WORDS, len(WORDS)) for _ in range(5)]
    pages = [snapshot("<ul>" + "".join(f"<li>{word}" for word in words)) for words in lists]
    masks = find_volatile(pages[0], pages[1])
    assert masks == {"order:ul/li"}
    assert all(compare_snapshots(pages[0], page, masks) is None for page in pages)


def test_a_quiet_place_is_unmasked_after_four_visits() -> None:
    memory = initial_memory(["aside.ad/p"])
    same = advertised("x")
    for _ in range(3):
        memory = observe_unchanged(memory)
        assert memory.active_masks()
    assert not observe_changed(memory, same, same, DAY).active_masks()


@pytest.mark.parametrize(
    ("visits", "masked"),
    [("111", True), ("0111", True), ("11", False), ("1011", False), ("1101", False),
     ("10111", True), ("11100", True), ("1110000", False), ("1110001", True)],
)  # fmt: skip
def test_three_of_the_last_four_visits_and_never_twice_the_same(visits: str, masked: bool) -> None:
    memory = VolatileMemory()
    for number, differed in enumerate(visits):
        if differed == "1":
            memory = observe_changed(memory, advertised(f"a{number}"), advertised("b 1"), DAY)
        else:
            memory = observe_unchanged(memory)
    assert bool(memory.active_masks()) is masked


def test_a_clock_stays_masked_when_the_words_around_it_are_edited() -> None:
    def page(words: str) -> Snapshot:
        return advertised(words)

    memory = initial_memory(find_volatile(page("It is 10:30 here"), page("It is 10:31 here")))
    before, now = page("It is 10:32 here"), page("It is 11:00 in London")
    assert compare_snapshots(before, now, memory.active_masks()) is not None
    memory = observe_changed(memory, before, now, DAY)
    assert compare_snapshots(now, page("It is 12:12 in London"), memory.active_masks()) is None


def test_two_different_pages_are_no_restless_page() -> None:
    one, other = (
        snapshot("".join(f"<p>{MadePage(n).sentence(9)}" for _ in range(9))) for n in (1, 2)
    )
    assert find_volatile(one, other) == frozenset()


def test_people_have_the_last_word() -> None:
    memory = initial_memory(["a", "b"]).keep_open("a").add_mask("c")
    assert memory.active_masks(["d"]) == {"b", "c", "d"}
    assert memory.keep_open("d").active_masks(["d"]) == {"b", "c"}
    assert memory.keep_open("c").active_masks() == {"b"}
    assert memory.add_mask("a").active_masks() == {"a", "b", "c"}
    for _ in range(9):
        memory = observe_unchanged(memory)
    assert memory.active_masks() == {"c"}


def test_what_most_pages_of_a_host_mask_is_its_template() -> None:
    samples = [{"foot~1", f"page{n}~1"} | ({"top~1"} if n < 5 else set()) for n in range(10)]
    assert common_masks(samples) == {"foot~1"}
    assert not common_masks([{"main/p", "link:http://e.org/a/*"}] * 10), "words stay in sight"
    assert common_masks(samples, share=0.5) == {"foot~1", "top~1"}
    assert common_masks(samples[:2]) == frozenset()


def test_the_same_clock_on_other_pages_has_the_same_mask() -> None:
    samples = [find_volatile(page.fetched(), page.fetched()) for page in map(MadePage, range(10))]
    template = common_masks(samples)
    page = MadePage(99)
    assert (
        compare_snapshots(page.fetched(), page.fetched(), VolatileMemory().active_masks(template))
        is None
    )


GARBAGE = [
    "", "null", "[]", "{", "[" * 100_000, '{"habits": 3, "added": {}, "opened": [1, null]}',
    '{"habits": {"a": [1], "b": ["x", 1], "c": [-1, 1], "d": [1e99, 1], "e": [300, 0], "f": {}}}',
]  # fmt: skip


@pytest.mark.parametrize("text", GARBAGE)
def test_a_stranger_s_memory_is_believed_as_far_as_it_makes_sense(text: str) -> None:
    assert VolatileMemory.from_json(text) == VolatileMemory()


def test_a_memory_is_bounded() -> None:
    habits = ", ".join(f'"{n}": [1, 1]' for n in range(1_000))
    assert len(VolatileMemory.from_json(f'{{"habits": {{{habits}}}}}').habits) == 300
    one, other = (
        snapshot("".join(f"<p class={w}>{w} {seed}{n}" for n, w in enumerate(_names())))
        for seed in (1, 2)
    )
    memory = observe_changed(VolatileMemory(), one, other, 1.0)
    assert len(memory.habits) == 300
    assert len(memory.to_json()) < 20_000


def _names() -> list[str]:
    return [one + other for one in WORDS for other in WORDS]


def test_what_changes_daily_in_the_main_content_stays_news() -> None:
    def board(day: int) -> Snapshot:
        news = "".join(f"<li><a href='/a/{n}'>Article {WORDS[n]}</a>" for n in range(day))
        return snapshot(
            f"<main><p>Confirmed cases in the district: {day}</p><ul>{news}</ul></main>"
        )

    memory = VolatileMemory()
    for day in range(1, 9):
        change = compare_snapshots(board(day), board(day + 1), memory.active_masks())
        assert change is not None, day
        assert change.links_added, day
        memory = observe_changed(memory, board(day), board(day + 1), DAY)
    assert not memory.active_masks()


def test_new_links_are_news_at_any_pace() -> None:
    def front(count: int) -> Snapshot:
        news = "".join(f"<li><a href='/a/{n}'>Article {WORDS[n]}</a>" for n in range(count))
        return snapshot(f"<main><p>The news of the day.</p></main><aside><ul>{news}</ul></aside>")

    memory = VolatileMemory()
    for count in range(1, 9):
        change = compare_snapshots(front(count), front(count + 1), memory.active_masks())
        assert change is not None, count
        assert len(change.links_added) == 1, count
        memory = observe_changed(memory, front(count), front(count + 1), 5.0)


def test_what_was_masked_at_first_stays_masked_at_any_pace() -> None:
    def clock(minute: int) -> Snapshot:
        return snapshot(
            f"<main><p>It is 12:{minute} here.</p><p>The rest stays as it is.</p></main>"
        )

    memory = initial_memory(find_volatile(clock(10), clock(11)))
    for minute in range(11, 19):
        assert compare_snapshots(clock(minute), clock(minute + 1), memory.active_masks()) is None
        memory = observe_changed(memory, clock(minute), clock(minute + 1), DAY)


def test_a_server_that_varies_the_second_look_hides_no_words() -> None:
    def page(words: str, price: int) -> Snapshot:
        data = f'{{"offers": {{"price": {price}}}}}'
        said = f'<script type="application/ld+json">{data}</script>'
        return snapshot(f"{said}<main><p>{words}</p><p>The rest stays as it is.</p></main>")

    memory = initial_memory(
        find_volatile(page("The dose is two grams.", 10), page("Take two grams.", 11))
    )
    assert compare_snapshots(
        page("The dose is two grams.", 10), page("It is poison.", 10), memory.active_masks()
    )
    assert compare_snapshots(page("Take.", 10), page("Take.", 99), memory.active_masks())


def test_what_people_said_outlives_any_page() -> None:
    memory = VolatileMemory().add_mask("footer").keep_open("aside")
    for turn in range(4):
        odd = "".join(f'"{"ä" * 380}{n}": {turn},' for n in range(300))
        data = f'<script type="application/ld+json">{{{odd} "x": 1}}</script>'
        memory = observe_changed(memory, snapshot("<p>One"), snapshot(f"{data}<p>One"), 60.0)
    again = VolatileMemory.from_json(memory.to_json())
    assert len(memory.to_json()) < 150_000
    assert (again.added, again.opened) == (memory.added, memory.opened)

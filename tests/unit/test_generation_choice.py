"""Somebody goes back to an earlier generation while the next lesson is being given."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from honeyguide import registry
from honeyguide.api.generations import use_generation
from honeyguide.config.loading import parse_settings
from honeyguide.crawl.from_settings import build_strategy
from honeyguide.learning.generation_builder import GateTrial, LearningResult
from honeyguide.learning.worker_process import InProcessBackend
from honeyguide.store.generations import pack_strategy, unpack_strategy
from honeyguide.store.store import Store
from honeyguide.types import Example, Label, Link, Page, Url
from tests.unit.crawling import crawl
from tests.unit.test_training_feed import FINCH, LEARNING, SOUP, address, birds, is_finch

TOPIC = {
    "keywords": [],
    "good": [address(n) for n in (40, 42, 44)],
    "bad": [address(n) for n in (41, 43, 45)],
}


@pytest.mark.parametrize(
    "takes",
    [
        pytest.param(0.0, id="before the ring has heard"),
        pytest.param(5.0, id="after the ring has heard"),
    ],
)
def test_the_lesson_is_dropped(
    takes: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parents: list[Any] = []

    class Slow(InProcessBackend):
        async def build_generation(self, strategy: Any) -> LearningResult:
            parents.append(strategy)
            lesson = await super().build_generation(strategy)
            if len(parents) == 2:
                with Store.open(tmp_path, "write") as store:
                    assert store.generations.live_number() == 1
                    store.generations.set_live(0)
                    store.labels.add([Label(Url(address(0)), 1.0)])
                await asyncio.sleep(takes)
                assert lesson.live, "it would have gone live"
            return lesson if len(parents) < 3 else LearningResult(None, note="enough")

    monkeypatch.setattr("honeyguide.crawl.build.InProcessBackend", Slow)
    more = LEARNING["crawl"] | {"pages": 60}
    crawl(tmp_path, birds(), [address(0)], topic=TOPIC, crawl=more)
    with Store.open(tmp_path, "read") as store:
        assert store.generations.live_number() == 0
        assert [generation.number for generation in store.generations.list_all()] == [0, 1]
    assert [parent.page_words is None for parent in parents[:3]] == [True, False, True]


def test_labels_that_were_changed_wait_until_a_person_insists(tmp_path: Path) -> None:
    """Forty pages are labelled; between two runs somebody else says the contrary of each."""
    web = birds()

    def go_on(pages: int) -> tuple[int, list[str], str]:
        learn = {"teacher": "interactive"}
        more = LEARNING["crawl"] | {"pages": pages}
        settings: dict[str, Any] = {"topic": {"keywords": []}, "crawl": more, "learn": learn}
        report = crawl(tmp_path, web, [address(0)], **settings)
        with Store.open(tmp_path, "read") as store:
            notes = [generation.note for generation in store.generations.list_all()]
            return store.generations.live_number() or 0, notes, " ".join(report.warnings)

    def say(by: str, right: bool) -> None:
        with Store.open(tmp_path, "write") as store, store.transaction():
            store.labels.add(
                [Label(Url(u), float(is_finch(u) == right), by=by) for u in web.paths()[:40]]
            )

    go_on(40)
    say("ada", right=True)
    live, notes, told = go_on(42)
    assert "part" not in told, "what knew nothing does not gainsay anybody"
    assert live == 1
    assert "before 0." in notes[1]
    assert GateTrial.from_note(notes[1]).before > 0.1, "generation 0 knew nothing"  # type: ignore[union-attr]
    say("bob", right=False)
    live, notes, told = go_on(44)
    assert "20 of the last 20 differ" in told
    assert live == 1
    assert "most labels were changed" in notes[2]
    with Store.open(tmp_path, "write") as store:
        use_generation(store, 2, "hybrid_svm")
        store.labels.add([Label(Url(web.paths()[41]), 0.0, by="bob")])
    live, notes, _ = go_on(46)
    assert live >= 2
    assert not any("held back" in note for note in notes[3:]), "one is enough to insist"


@pytest.mark.parametrize(
    "name",
    [name for name in registry.BUILTIN_STRATEGIES if registry.find_strategy(name).traits.learns],
)
def test_a_generation_is_known_again_when_it_was_saved_and_read(name: str) -> None:
    """The gate goes by it: two that look different would be two generations."""
    topic = {"keywords": ["finch", "nest"], "seeds": [address(0)]}
    untaught = build_strategy(parse_settings({"topic": topic, "crawl": {"strategy": name}}))
    taught = untaught.learn([taught_by(n) for n in range(24)])
    again = unpack_strategy(pack_strategy("it", taught), lambda _: type(taught))
    assert pack_strategy("it", again) == pack_strategy("it", taught)
    if name in ("honeyguide", "hybrid_svm"):
        assert pack_strategy("it", taught) != pack_strategy("it", untaught)


def taught_by(n: int) -> Example:
    url = Url(address(n))
    words = (FINCH if n % 2 == 0 else SOUP) * 4
    page = Page(url, title=f"page {n}", text=f"{words} number {n}")
    return Example(Link(url, anchor=words[:12]), page, float(n % 2 == 0), "user", 0.2)

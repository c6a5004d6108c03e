"""Advice on a collection: each rule when it is needed and when not, and what accepting one does."""

from __future__ import annotations

import json
import os
import pty
import random
import re
import termios
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from typer.testing import CliRunner

from honeyguide.api.advice import RULES, Advice, CrawlEvidence, accept_advice, find_advice
from honeyguide.api.collection import Collection
from honeyguide.api.create import create
from honeyguide.cli.crawl import AdviceOnce
from honeyguide.cli.main import build_application
from honeyguide.cli.status import advise
from honeyguide.cli.terminal import can_read_keys
from honeyguide.config.loading import parse_settings
from honeyguide.config.settings import Settings
from honeyguide.errors import ConfigError, FetchError
from honeyguide.run_status import RunStatus
from honeyguide.store.store import Store
from honeyguide.types import Label, Url, Verdict
from tests.unit.crawling import FakeWeb, crawl


def _words(text: str) -> list[str]:
    return text.split()


BIRD = _words("feather wing beak nest egg plumage flight song chick moult flock roost")
STONE = _words("granite quarry basalt gravel pavement town mason slate chisel kerb road dust")
COMMON = _words("about often every place where people know other time great small kind year")
SITE = "Encyclopaedia Example"


def page_url(number: int) -> str:
    return f"http://a.test/p{number}"


def make_pages(folder: Path, verdicts: dict[int, float], birds: set[int], **topic: Any) -> Settings:
    """A collection with these pages and verdicts."""
    count = len(verdicts)
    links = "".join(f'<a href="{page_url(n)}">page {n}</a> ' for n in range(count))
    answers: dict[str, Any] = {"http://a.test/": f"<p>the start {links}"}
    for n in range(count):
        dice = random.Random(n)
        words = dice.choices(BIRD if n in birds else STONE, k=60) + dice.choices(COMMON, k=60)
        dice.shuffle(words)
        text = f"name{n} " * 3 + " ".join(words)
        title = f"\x1b[2J\u202e{SITE}: entry{n}"
        answers[page_url(n)] = f"<title>{title}</title><p>{text} the words of page {n}"
    tables = {"crawl": {"strategy": "keyword", "concurrency": 4}}
    crawl(folder, FakeWeb(answers), ["http://a.test/"], topic=topic, **tables)
    with Store.open(folder, "crawl") as store, store.transaction():
        for row in list(store.visits.iter_visits(page=True)):
            number = row.url.removeprefix("http://a.test/p")
            verdict = verdicts[int(number)] if number.isdecimal() else 0.1
            store.visits.update_verdict(row.id, Verdict(verdict))
    seeds = {"seeds": ["http://a.test/"], "keywords": ["honey", "bee"]}
    return parse_settings({"topic": seeds | topic})


def kinds(folder: Path, settings: Settings) -> list[str]:
    return [one.kind for one in find_advice(folder, settings)]


def only(folder: Path, settings: Settings) -> Advice:
    (found,) = find_advice(folder, settings)
    return found


def test_a_healthy_crawl_gets_no_advice(tmp_path: Path) -> None:
    birds = set(range(25))
    verdicts = {n: float(n in birds) for n in range(80)}
    settings = make_pages(tmp_path, verdicts, birds, keywords=["feather"])
    assert find_advice(tmp_path, settings) == []


def test_nothing_is_said_of_a_collection_without_pages(tmp_path: Path) -> None:
    assert find_advice(tmp_path, parse_settings({"topic": {"seeds": ["http://a.test/"]}})) == []


def test_too_narrow_words_are_told_with_better_ones(tmp_path: Path) -> None:
    birds = set(range(40))
    settings = make_pages(
        tmp_path, {n: float(n < 8) for n in range(100)}, birds, keywords=["name3"]
    )
    found = only(tmp_path, settings)
    assert found.kind == "narrow"
    assert re.match(r"Your keywords stand on 1 of (3\d|40) pages that look alike", found.sentence)
    numbers = [int(url.removeprefix("http://a.test/p")) for url in found.pages]
    assert len(numbers) == 3
    assert all(8 <= number < 40 for number in numbers), "birds that are left out"
    assert str(found).isprintable(), "no title steers a terminal"
    assert f"{SITE}: entry{numbers[0]}" in found.sentence
    first, *added = found.changes["topic"]["keywords"]
    assert first == "name3"
    words = " ".join(added)
    assert any(word in words for word in BIRD)
    assert not any(word in words for word in (*STONE, *COMMON, "encyclopaedia", "example"))


def test_a_topic_of_good_pages_is_asked_about_and_gets_no_words(tmp_path: Path) -> None:
    birds = set(range(40))
    make_pages(tmp_path, {n: float(n < 8) for n in range(100)}, birds, keywords=["name3"])
    good = parse_settings({"topic": {"seeds": ["http://a.test/"], "good": [page_url(1)]}})
    found = only(tmp_path, good)
    assert (found.kind, found.command, found.changes) == ("narrow", "ask", {})
    assert len(found.pages) == 3


def test_words_of_several_topics_are_not_proposed(tmp_path: Path) -> None:
    birds = set(range(40))
    verdicts = {n: float(n < 8) for n in range(100)}
    make_pages(tmp_path, verdicts, birds, keywords=["name3"])
    both = parse_settings(
        {
            "topic": {"name": "a", "seeds": ["http://a.test/"], "keywords": ["name3"]},
            "topics": [{"name": "b", "keywords": ["bats"]}],
        }
    )
    assert "narrow" not in kinds(tmp_path, both)


def test_too_wide_words_until_somebody_labels_a_bad_page(tmp_path: Path) -> None:
    topic = {"keywords": ["feather"]}
    settings = make_pages(tmp_path, dict.fromkeys(range(60), 0.9), set(range(60)), **topic)
    found = only(tmp_path, settings)
    assert (found.kind, found.command, found.changes) == ("wide", "ask", {})
    with Store.open(tmp_path, "write") as store:
        store.labels.add([Label(Url(page_url(3)), 0.0)])
    assert kinds(tmp_path, settings) == []


def test_labels_of_one_kind(tmp_path: Path) -> None:
    birds = set(range(25))
    settings = make_pages(tmp_path, {n: float(n in birds) for n in range(80)}, birds)
    with Store.open(tmp_path, "write") as store:
        store.labels.add([Label(Url(page_url(n)), 1.0) for n in range(4)])
    assert kinds(tmp_path, settings) == []
    with Store.open(tmp_path, "write") as store:
        store.labels.add([Label(Url(page_url(4)), 1.0)])
    assert "All 5 labels are good pages" in only(tmp_path, settings).sentence
    told = parse_settings({"topic": {"seeds": ["http://a.test/"], "bad": [page_url(70)]}})
    assert kinds(tmp_path, told) == [], "an example says what is not wanted"


def test_no_page_came_back(tmp_path: Path) -> None:
    down = FakeWeb({"http://a.test/": FetchError("dns", "no such host")})
    crawl(tmp_path, down, ["http://a.test/"])
    found = only(tmp_path, parse_settings({"topic": {"seeds": ["http://a.test/"]}}))
    assert found.kind == "no_pages"
    assert "topic.seeds" in found.proposal


class EvidenceDouble(CrawlEvidence):
    """Evidence of a crawl that never was."""

    def __init__(self, settings: Settings, **found: Any) -> None:
        self.settings, self.labels, self.example_kinds = settings, {}, set()
        vars(self).update(found)


def say(evidence: CrawlEvidence) -> list[str]:
    return [found.kind for rule in RULES if (found := rule(evidence))]


class Counts:
    def __init__(self, **counts: Any) -> None:
        self.pages, self.relevant, self.failures, self.tongues = 500, 30, {}, {}
        vars(self).update(counts)


def barren(visits: int, relevant: int, **settings: Any) -> CrawlEvidence:
    known = parse_settings({"topic": {"seeds": ["http://a.test/"]}, **settings})
    return EvidenceDouble(
        known, counts=Counts(relevant=relevant), barren_visits=visits, rows=[], start_signs=[]
    )


def test_nothing_relevant_lately() -> None:
    assert say(barren(399, 30)) == []
    assert say(barren(400, 30)) == ["barren"]
    assert say(barren(400, 0)) == ["barren"]
    assert say(barren(400, 30, stop={"precision": 0.05})) == [], "it stops by itself"


def test_a_language_that_is_not_wanted() -> None:
    known = parse_settings({"topic": {"seeds": ["http://a.test/"], "language": ["en"]}})
    more: dict[str, Any] = {"barren_visits": 0, "rows": []}
    german = EvidenceDouble(known, counts=Counts(tongues={"de": 90, "en": 10}), **more)
    (found,) = [advice for rule in RULES if (advice := rule(german))]
    assert found.sentence == "90 of 100 pages are in German, which is not wanted."
    assert found.changes == {"topic": {"language": ["en", "de"]}}
    both = EvidenceDouble(known, counts=Counts(tongues={"de": 60, "en": 40}), **more)
    assert say(both) == []


def test_accepting_writes_the_settings(tmp_path: Path) -> None:
    folder = tmp_path / "birds"
    create(folder, seeds=["http://a.test/"], keywords=["name3"], contact="me@example.org")
    birds = set(range(40))
    make_pages(folder, {n: float(n < 8) for n in range(100)}, birds, keywords=["name3"])
    collection = Collection(folder)
    (found,) = collection.advice()
    before = (folder / "topic.toml").read_text()
    collection.accept_advice(found)
    assert list(collection.settings.topic.keywords) == found.changes["topic"]["keywords"]
    lines = (folder / "topic.toml").read_text().splitlines()
    lost = [line for line in before.splitlines() if line not in lines]
    assert len(lost) == 1, "only the line of the keywords"
    assert collection.advice() == [], "it is not said again before the next crawl"
    with pytest.raises(ConfigError, match="does not hold any more"):
        accept_advice(folder, collection.settings, found.proposal)


def test_the_command_lists_and_accepts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    create("birds", seeds=["http://a.test/"], keywords=["name3"], contact="me@example.org")
    run = lambda *words: CliRunner().invoke(build_application(), ["advise", "birds", *words])  # noqa: E731
    assert "nothing to advise" in run().output
    birds = set(range(40))
    folder = tmp_path / "birds"
    make_pages(folder, {n: float(n < 8) for n in range(100)}, birds, keywords=["name3"])
    (told,) = json.loads(run("--json").output)["advice"]
    assert told["kind"] == "narrow"
    assert told["sentence"] in run().output
    assert isinstance(run("--accept", "2").exception, ConfigError)
    assert "topic.keywords = [" in run("--accept", "1").output
    settings = Collection(folder).settings
    assert list(settings.topic.keywords) == told["changes"]["topic"]["keywords"]


def test_status_tells_it_and_what_to_type(tmp_path: Path) -> None:
    folder = tmp_path / "birds"
    create(folder, seeds=["http://a.test/"], keywords=["name3"], contact="me@example.org")
    birds = set(range(40))
    make_pages(folder, {n: float(n < 8) for n in range(100)}, birds, keywords=["name3"])
    said = CliRunner().invoke(build_application(), ["status", str(folder)]).output
    assert "Advice: Your keywords stand on 1 of" in said
    assert "--accept 1" in said


def test_a_crawl_says_it_once_while_it_runs() -> None:
    class Display:
        def __init__(self) -> None:
            self.notes: list[str] = []

        def __call__(self, now: RunStatus) -> None: ...

        def print_note(self, text: str) -> None:
            self.notes.append(text)

    class Advised:
        folder = Path("birds")

        def advice(self) -> list[Advice]:
            return [Advice("wide", "All is kept.", "Label some.", command="ask")]

    display = Display()
    once = AdviceOnce(cast("Any", Advised()), cast("Any", display))
    for visits in (1_000, 1_100, 1_250, 1_400, 2_000):
        once(RunStatus(visits, visits, 0, 0))
    deadline = time.monotonic() + 5
    while not display.notes and time.monotonic() < deadline:
        time.sleep(0.01)
    assert display.notes == ["Advice: All is kept. Label some. (honeyguide ask birds)"]


def test_status_of_a_crawl_that_runs_reads_no_pages_for_advice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    birds = set(range(50))
    settings = make_pages(tmp_path, {n: float(n < 8) for n in range(80)}, birds)
    (found,) = find_advice(tmp_path, settings)
    monkeypatch.setattr(CrawlEvidence, "pages", property(lambda _: pytest.fail("pages are read")))
    assert find_advice(tmp_path, settings) == [found], "nothing has changed"
    with Store.open(tmp_path, "write") as store:
        store.labels.add([Label(Url(page_url(3)), 0.0, "ada", 1.0)])
    assert find_advice(tmp_path, settings, saved=True) == [found]
    monkeypatch.undo()
    assert find_advice(tmp_path, settings) != [found], "a label changes what is kept"
    words = parse_settings({"topic": {"seeds": ["http://a.test/"], "keywords": ["feather"]}})
    assert find_advice(tmp_path, words, saved=True) == []


def test_saved_advice_of_a_stranger_changes_no_settings(tmp_path: Path) -> None:
    verdicts = {n: float(n < 25) for n in range(80)}
    settings = make_pages(tmp_path, verdicts, set(range(25)), keywords=["feather"])
    assert find_advice(tmp_path, settings) == []
    with Store.open(tmp_path, "write") as store:
        saved = json.loads(store.get_meta("advice") or "")
        changes = {"crawl": {"contact": "mallory"}}
        saved[2] = [{"kind": "wide", "sentence": "", "proposal": "", "changes": changes}]
        store.set_meta("advice", json.dumps(saved))
    assert kinds(tmp_path, settings) == ["wide"]
    with pytest.raises(ConfigError, match="does not hold"):
        accept_advice(tmp_path, settings, "")
    with Store.open(tmp_path, "write") as store:
        store.set_meta("advice", "[1]")
    assert find_advice(tmp_path, settings) == []


def test_nothing_is_advised_just_before_a_run_ends() -> None:
    asked: list[str] = []
    advised = cast("Any", SimpleNamespace(advice=lambda: asked.append("once")))
    shown: list[RunStatus] = []
    once = AdviceOnce(advised, cast("Any", shown.append), 300)
    for visits in (0, 150, 299, 300):
        once(RunStatus(visits, visits, 0, 0))
    assert len(shown) == 4
    for thread in threading.enumerate():
        if thread.name == "advice":
            thread.join()
    assert not asked


def test_pages_that_resemble_only_a_seed_are_named(tmp_path: Path) -> None:
    settings = make_pages(tmp_path, {n: float(n < 20) for n in range(60)}, set(range(20)))
    found = only(tmp_path, settings)
    assert found.kind == "no_words"
    assert "Your keywords stand on none of the 20 pages that are kept, such as “" in str(found)
    assert found.changes == {"topic": {"seeds_are_doors": True}}
    assert len(found.pages) == 3
    words = parse_settings({"topic": {"seeds": ["http://a.test/"], "keywords": ["feather"]}})
    assert find_advice(tmp_path, words) == []
    doors = {"seeds_are_doors": True, "keywords": ["honey"]}
    (found,) = find_advice(
        tmp_path, parse_settings({"topic": doors | {"seeds": ["http://a.test/"]}})
    )
    assert (found.kind, found.changes, found.command) == ("no_words", {}, "ask")
    with Store.open(tmp_path, "write") as store:
        store.labels.add([Label(Url(page_url(3)), 1.0, "ada", 1.0)])
    assert find_advice(tmp_path, settings) == [], "a person says what is wanted"


def test_pages_without_the_keywords_are_asked_about(tmp_path: Path) -> None:
    folder = tmp_path / "birds"
    create(folder, seeds=["http://a.test/"], keywords=["feather"], contact="me@example.org")
    verdicts = {n: float(n < 20 or 60 <= n < 70) for n in range(80)}
    make_pages(folder, verdicts, set(range(25)), keywords=["feather"])
    collection = Collection(folder)
    (found,) = collection.advice()
    assert (found.kind, found.question) == ("stray", True)
    words = found.changes["topic"]["keywords"]
    assert words[0] == "feather"
    assert len(words) == 4
    assert "hardly stand on 10 of the 30 pages that are kept, such as “" in found.sentence
    numbers = [int(url.removeprefix("http://a.test/p")) for url in found.pages]
    assert len(numbers) == len(found.titles) == 5
    assert all(60 <= number < 70 for number in numbers)
    run = lambda *words: CliRunner().invoke(build_application(), ["advise", str(folder), *words])  # noqa: E731
    assert "--refuse" not in run("--json").output
    assert "labelled: 0 wanted, 5 not" in run("--refuse", "1").output
    assert {label.value for label in collection.labels()} == {0.0}
    (again,) = collection.advice()
    assert again.kind == "one_kind"
    collection.accept_advice(found, wanted=[False, True])
    assert sorted(label.value for label in collection.labels()) == [0.0] * 4 + [1.0]
    assert collection.advice() == [], "a person says what is wanted"
    assert collection.settings.topic.keywords == ("feather",), "most are not wanted"


def test_words_are_added_if_most_stray_pages_are_wanted(tmp_path: Path) -> None:
    folder = tmp_path / "birds"
    create(folder, seeds=["http://a.test/"], keywords=["feather"], contact="me@example.org")
    verdicts = {n: float(n < 20 or 60 <= n < 70) for n in range(80)}
    make_pages(folder, verdicts, set(range(25)), keywords=["feather"])
    (found,) = Collection(folder).advice()
    said = CliRunner().invoke(build_application(), ["advise", str(folder), "--accept", "1"]).output
    assert "labelled: 5 wanted, 0 not; it counts at once. topic.toml now says topic.key" in said
    stored = Collection(folder)
    assert list(stored.settings.topic.keywords) == found.changes["topic"]["keywords"]
    assert {label.value for label in stored.labels()} == {1.0}


def test_only_a_question_can_be_refused(tmp_path: Path) -> None:
    folder = tmp_path / "birds"
    create(folder, seeds=["http://a.test/"], keywords=["name3"], contact="me@example.org")
    make_pages(folder, {n: float(n < 8) for n in range(100)}, set(range(40)), keywords=["name3"])
    refused = CliRunner().invoke(build_application(), ["advise", str(folder), "--refuse", "1"])
    assert isinstance(refused.exception, ConfigError)
    assert "not accepted changes nothing" in str(refused.exception)


@pytest.mark.parametrize(
    ("typed", "answers"), [("yN", [True, False]), ("nx", [False]), ("x", None), ("", None)]
)
def test_a_key_answers_and_the_terminal_is_left_as_it_was(
    typed: str, answers: list[bool] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours, theirs = pty.openpty()
    before = termios.tcgetattr(theirs)
    said: list[Any] = []
    pages, titles = ("http://a.test/1", "http://a.test/2"), ("Emu", "Kiwi")
    advice = Advice("stray", "Some.", "These?", pages=pages, titles=titles, question=True)
    collection = SimpleNamespace(
        folder=Path("birds"),
        advice=lambda: [advice],
        accept_advice=lambda _, wanted: said.append(wanted),
    )
    monkeypatch.setattr("honeyguide.cli.terminal.can_read_keys", lambda: True)
    with open(theirs) as keyboard:
        monkeypatch.setattr("sys.stdin", keyboard)
        once = AdviceOnce(cast("Any", collection), cast("Any", None), asks=True)
        monkeypatch.setattr("honeyguide.cli.crawl._KEY_S", 5.0 if typed else 0.3)
        os.write(ours, typed.encode())
        notes: list[str] = []
        once.say_again(notes.append)
        assert termios.tcgetattr(theirs) == before
    os.close(ours)
    assert said == ([] if answers is None else [answers])
    assert notes[1] == "“Emu”?  y: yes, n: no, any other key: later"


def test_advise_asks_page_by_page_on_a_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "birds"
    create(folder, seeds=["http://a.test/"], keywords=["feather"], contact="me@example.org")
    verdicts = {n: float(n < 20 or 60 <= n < 70) for n in range(80)}
    make_pages(folder, verdicts, set(range(25)), keywords=["feather"])
    ours, theirs = pty.openpty()
    monkeypatch.setattr("honeyguide.cli.terminal.can_read_keys", lambda: True)
    with open(theirs) as keyboard:
        monkeypatch.setattr("sys.stdin", keyboard)
        os.write(ours, b"ynyx")
        advise(folder, accept=0, refuse=0, as_json=False)
    os.close(ours)
    assert "labelled: 2 wanted, 1 not" in capsys.readouterr().out
    assert sorted(label.value for label in Collection(folder).labels()) == [0.0, 1.0, 1.0]


def test_who_stated_words_alone_is_asked_once(tmp_path: Path) -> None:
    verdicts = {n: 0.9 - n / 1000 if n < 40 else 0.1 for n in range(170)}
    settings = make_pages(tmp_path, verdicts, set(range(45)), keywords=["feather"])
    found = only(tmp_path, settings)
    assert (found.kind, found.question) == ("untold", True)
    numbers = [int(url.removeprefix("http://a.test/p")) for url in found.pages]
    assert numbers == sorted(numbers), "from the surest to the least sure"
    assert len(numbers) == 5
    good = parse_settings({"topic": {"seeds": ["http://a.test/"], "good": [page_url(1)]}})
    assert "untold" not in kinds(tmp_path, good)
    with Store.open(tmp_path, "write") as store:
        store.labels.add([Label(Url(page_url(3)), 0.0)])
    assert find_advice(tmp_path, settings) == []


def test_nobody_is_asked_where_no_terminal_is(monkeypatch: pytest.MonkeyPatch) -> None:
    reader, _ = os.pipe()
    with open(reader) as piped:
        monkeypatch.setattr("sys.stdin", piped)
        assert not can_read_keys()

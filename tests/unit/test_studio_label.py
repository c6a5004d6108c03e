"""The Label screen's routes: questions, answers of several people, undo, what labels are worth."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from honeyguide.api.generations import label_learning_curve
from honeyguide.crawl.live_status import LiveFrontier, LiveStatus, TopWaitingLink
from honeyguide.learning.generation_builder import GateTrial
from honeyguide.store.store import Store
from honeyguide.strategies.keyword import Keyword
from honeyguide.types import Label, Url
from tests.unit.store_visits import good
from tests.unit.studio_client import Answer, Client

TOPIC = '[topic]\nkeywords = ["honey"]\n[fetch]\ncontact = "a@example.org"\n'
HERE = "/api/c/bees/label"
PAGES = 12


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    folder = tmp_path / "bees"
    folder.mkdir()
    (folder / "topic.toml").write_text(TOPIC)
    with Store.open(folder, "crawl") as store:
        store.set_threshold(0.5)
        with store.transaction():
            store.append_visits([good(n, score=n / PAGES) for n in range(PAGES)])
    made = Client(tmp_path)
    yield made
    made.close()


def by(name: str) -> dict[str, str | None]:
    return {"x-honeyguide-person": quote(name)}


def asked(client: Client, person: str = "ada", **query: object) -> list[dict[str, Any]]:
    words = "&".join(f"{key}={value}" for key, value in query.items())
    answer = client.get(f"{HERE}/questions?{words}", by(person))
    assert answer.status == 200, answer.body
    found: list[dict[str, Any]] = answer.json["questions"]
    return found


def said(client: Client, url: str, word: str, person: str = "ada", **more: str) -> Answer:
    answer = client.post(HERE, {"url": url, "say": word, **more}, by(person))
    assert answer.status == 200, answer.body
    return answer


def counted(client: Client, url: str) -> float | None:
    with Store.open(client.root / "bees", "read") as store:
        label = store.labels.effective_label(url)
    return None if label is None else label.value


@pytest.mark.parametrize("choice", ["mixed", "uncertainty", "disagreement", "novelty"])
def test_questions_say_why_they_are_asked(client: Client, choice: str) -> None:
    found = asked(client, choice=choice, count=3)
    assert 1 <= len(found) <= 3
    assert all(one["because"] and one["url"].startswith("https://host") for one in found)
    assert len({one["url"] for one in found}) == len(found)
    if choice == "uncertainty":
        assert abs(found[0]["verdict"] - 0.5) < 0.2
    if choice == "novelty":
        assert {one["why"] for one in found} == {"host"}


def test_what_was_answered_is_not_asked_again(client: Client) -> None:
    for word in ("relevant", "not", "unsure", "skip"):
        first = asked(client, count=1)[0]["url"]
        said(client, first, word)
        assert first not in {one["url"] for one in asked(client, count=50)}, word
    assert len(asked(client, count=50)) == PAGES - 4
    others = {one["url"] for one in asked(client, "bob", count=50)}
    assert len(others) == PAGES - 2, "what ada would not judge, bob may"


def test_the_text_comes_with_the_places_of_the_evidence(client: Client) -> None:
    visit = asked(client, count=1)[0]["visit"]
    found = client.get(f"{HERE}/text?visit={visit}").json
    assert found["text"]
    for mark in found["marks"]:
        assert 0 <= mark["start"] < mark["end"] <= len(found["text"])
    assert client.get(f"{HERE}/text?visit=999").status == 404
    assert client.get(f"{HERE}/text?visit=0").status == 400


def test_what_most_say_counts_and_of_a_tie_the_newest(client: Client) -> None:
    url = good(1).link.url
    said(client, url, "relevant", "ada")
    second = said(client, url, "not", "bob").json
    assert second["against"] == "ada"
    assert second["counts"] is True
    assert counted(client, url) == 0.0
    said(client, url, "relevant", "cem")
    outvoted = said(client, url, "not", "bob").json
    assert outvoted["counts"] is False
    assert outvoted["against"] in ("ada", "cem")
    assert counted(client, url) == 1.0, "two of three"
    with Store.open(client.root / "bees", "read") as store:
        assert len(store.labels.effective_after()) == 1, "the crawl hears of one label a page"
        assert {label.by for _, label in store.labels.everyone_after()} == {"ada", "bob", "cem"}


def test_undo_gives_a_label_back_to_the_budget(client: Client) -> None:
    path = client.root / "bees" / "topic.toml"
    path.write_text(path.read_text() + "[learn]\nbudget = 2\n")
    url = good(11).link.url
    assert said(client, url, "relevant").json["left"] == 1
    assert client.post(f"{HERE}/undo", {"url": url}, by("ada")).json["left"] == 2
    assert client.post(f"{HERE}/undo", {"url": url}, by("ada")).json["left"] == 2


def test_undo_restores_what_was_before(client: Client) -> None:
    url = good(11).link.url  # judged relevant
    with Store.open(client.root / "bees", "read") as store:
        before = store.counter.read_counts().relevant
    said(client, url, "not")
    client.kept.close()  # what is counted a moment later is counted now
    with Store.open(client.root / "bees", "read") as store:
        assert store.counter.read_counts().relevant == before - 1
    said(client, url, "relevant")
    undone = client.post(f"{HERE}/undo", {"url": url}, by("ada")).json
    assert undone == {"undone": True, "was": "relevant", "now": "not", "left": None}
    assert counted(client, url) == 0.0
    assert client.post(f"{HERE}/undo", {"url": url}, by("ada")).json["now"] == ""
    assert counted(client, url) is None
    client.kept.close()
    with Store.open(client.root / "bees", "read") as store:
        assert store.counter.read_counts().relevant == before, "the verdict counts again"
        assert store.counter.read_counts().labels == 0
    assert client.post(f"{HERE}/undo", {"url": url}, by("ada")).json["undone"] is False


def test_undo_of_one_leaves_what_others_said(client: Client) -> None:
    url = good(2).link.url
    said(client, url, "relevant", "ada")
    said(client, url, "not", "bob")
    client.post(f"{HERE}/undo", {"url": url}, by("bob"))
    assert counted(client, url) == 1.0
    said(client, url, "skip", "bob")
    assert client.post(f"{HERE}/undo", {"url": url}, by("bob")).json["was"] == "skip"
    assert url in {one["url"] for one in asked(client, "bob", choice="agreement", count=50)}


def test_a_crawl_hears_of_what_was_taken_back(client: Client) -> None:
    url = good(3).link.url
    with Store.open(client.root / "bees", "crawl") as store:
        store.labels.add([Label(url, 1.0, "ada"), Label(url, 0.0, "bob")])
        heard = store.labels.effective_after()[-1][0]
        assert store.labels.effective_after(heard) == []
        store.labels.undo_last(url, "bob")
        (again,) = store.labels.effective_after(heard)
        assert again[0] > heard
        assert again[1].value == 1.0
        assert store.labels.effective_after(again[0]) == [], "once"


def test_people_are_kept_apart_and_their_agreement_is_shown(client: Client) -> None:
    for n in range(4):
        said(client, good(n).link.url, "relevant", "ada")
        said(client, good(n).link.url, "relevant" if n % 2 else "not", "bob")
    said(client, good(5).link.url, "unsure", "bob")
    found = client.get(f"{HERE}/people", by("bob")).json
    assert found["person"] == "bob"
    people = {one["name"]: one for one in found["people"]}
    assert (people["ada"]["good"], people["bob"]["bad"], people["bob"]["unsure"]) == (4, 2, 1)
    assert found["agreed"] == 0.5
    assert found["kappa"] == 0.0
    assert found["contested"] == 2


def test_agreement_asks_for_pages_that_others_labelled(client: Client) -> None:
    said(client, good(4).link.url, "not", "ada")
    found = asked(client, "bob", choice="agreement")
    assert [one["url"] for one in found] == [good(4).link.url]
    assert "ada" not in found[0]["because"], "nobody should be told what to say"
    assert asked(client, "ada", choice="agreement") == []


def test_a_budget_ends_the_questions(client: Client) -> None:
    (client.root / "bees" / "topic.toml").write_text(TOPIC + "[learn]\nbudget = 1\n")
    assert len(asked(client, count=5)) == 1
    assert said(client, good(1).link.url, "relevant").json["left"] == 0
    assert asked(client, count=5) == []


def test_the_first_links_are_those_of_the_last_glimpse(client: Client) -> None:
    import msgspec

    assert client.get(f"{HERE}/top").json == {
        "at": None, "fresh": False, "generation": None, "top": [],
    }  # fmt: skip
    front = LiveFrontier(1.0, 1, top=[TopWaitingLink("https://a.org/", "<b>x</b>", 0.7)])
    told = LiveStatus(at=1.0, pid=1, began=0.0, generation=3, frontier=front)
    (client.root / "bees" / "live.json").write_bytes(msgspec.json.encode(told))
    found = client.get(f"{HERE}/top").json
    assert (found["generation"], found["fresh"]) == (3, False), "it is old"
    assert found["top"][0]["anchor"] == "<b>x</b>"


def test_what_labels_buy_is_said_as_far_as_it_is_known(client: Client) -> None:
    answer = client.get(f"{HERE}/worth").json
    assert "not known yet" in answer["said"]
    assert "25 more labels" in answer["said"]
    assert answer["per_ten"] is None
    assert 0 < answer["unsure"] < 1


def test_the_trend_is_read_from_the_trials(tmp_path: Path) -> None:
    with Store.open(tmp_path, "crawl") as store:
        for n in range(40):
            store.labels.add([Label(Url(f"https://a.org/{n}"), n % 2, "ada", float(n))])
        for number, (at, error) in enumerate(((9.5, 0.3), (19.5, 0.2), (39.5, 0.1))):
            note = f"12 good and 3 bad examples; {GateTrial(8, 0.31, error)}"
            store.generations.save(number, "keyword", Keyword(keywords=("honey",)), note, at)
        found = label_learning_curve(store)
    assert [one.labels for one in found.tried] == [10, 20, 40]
    assert found.per_ten == pytest.approx(-0.0643, abs=1e-3)
    assert "0.300 to 0.100" in found.said
    assert GateTrial.from_note("held back: x; untried") is None


@pytest.mark.parametrize(
    "body",
    [
        {"url": "https://a.org/", "say": "maybe"},
        {"url": "", "say": "not"},
        {"url": "no address", "say": "not"},
        {"url": "https://u:p@a.org/", "say": "not"},
        {"url": "https://a.org/", "say": "not", "topic": "bats"},
        {"url": "https://a.org/", "say": "unsure", "topic": "bats"},
        {"url": "https://a.org/", "say": "not", "more": 1},
        {"url": "https://a.org/\u0000", "say": 1},
    ],
)
def test_nonsense_is_refused_in_words(client: Client, body: object) -> None:
    answer = client.post(HERE, body)
    assert answer.status == 400
    assert answer.json["error"]

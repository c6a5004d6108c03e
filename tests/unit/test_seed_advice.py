"""Advice before a crawl: words that stand on no seed, and those that do."""

from __future__ import annotations

import gzip
import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from honeyguide.api.advice import Advice
from honeyguide.api.seed_advice import advise_on_seeds
from honeyguide.config.loading import parse_settings
from honeyguide.lab.web import RecordedResponse, RecordedWeb
from honeyguide.types import Page, Url
from tests.commands import Told
from tests.lab_thread import serve_in_thread

BIRDS = (
    "Plumage is the layer of feathers that covers a bird. The plumage of most species changes "
    "with the season; a bird with worn plumage moults, and its flight feathers grow again. "
)
VOGEL = (
    "Das Gefieder ist die Gesamtheit der Federn, die den Körper eines Vogels bedecken. Die meisten "
    "Vögel wechseln ihr Gefieder einmal im Jahr; man nennt diesen Vorgang die Mauser der Vögel. "
)


def page(text: str, title: str = "Plumage", number: int = 0) -> Page:
    return Page(Url(f"http://a.test/{number}"), title=title, text=text * 3)


def advise(*pages: Page, **topic: Any) -> list[Advice]:
    seeds = {"seeds": ["http://a.test/0"]}
    return advise_on_seeds(parse_settings({"topic": seeds | topic}), pages)


def test_words_that_stand_on_a_seed_are_no_matter() -> None:
    assert advise(page(BIRDS), page(VOGEL), keywords=["flight feather", "ornithology"]) == []
    assert advise(page(BIRDS), description="What feathers are for, and how they grow") == []
    assert advise(keywords=["feather"]) == [], "no seed came back"


@pytest.mark.parametrize("topic", [{"keywords": ["lichen"]}, {"description": "Kinds of lichens"}])
def test_words_on_no_seed_are_told_with_those_that_are(topic: dict[str, Any]) -> None:
    (found,) = advise(page(BIRDS), page(BIRDS, number=1), **topic)
    assert (found.kind, found.sentence) == ("unseen", "Your words stand on none of your 2 seeds.")
    added = [w for w in found.changes["topic"]["keywords"] if w != "lichen"]
    assert "plumage" in added
    assert len(added) == 3
    (alone,) = advise(page(BIRDS), **topic)
    assert alone.sentence == "None of your words stands on your seed."


def test_a_word_that_is_spelled_like_one_of_the_seeds() -> None:
    (found,) = advise(page(BIRDS), keywords=["moult", "plumge"])
    assert "“plumge” stands on none of your seeds, and “plumage” does" in found.sentence
    assert found.changes == {"topic": {"keywords": ["moult", "plumage"]}}


def test_seeds_in_another_language() -> None:
    (found,) = advise(page(VOGEL, "Gefieder"), keywords=["plumage"])
    assert found.kind == "language"
    assert "in German, and your words are read as English" in found.sentence
    assert "--keyword-language de" in found.proposal
    assert advise(page(VOGEL, "Gefieder"), keywords=["Gefieder"]) == []


def test_words_of_every_topic() -> None:
    (found,) = advise(page(f"{BIRDS} a good family story"), keywords=["family", "story"])
    assert found.kind == "generic"
    assert advise(page(f"{BIRDS} family"), keywords=["family", "plumage"]) == []


def test_new_looks_at_the_seeds_if_told_to(
    told: Told, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    html = f"<html><title>Plumage</title><body><p>{BIRDS * 3}</body></html>"
    head = (("Content-Type", "text/html; charset=utf-8"),)
    web = RecordedWeb(
        [RecordedResponse(Url("http://birds.example/"), 200, head, gzip.compress(html.encode()))]
    )
    with serve_in_thread(web) as address:
        words = ("new", "a", "-c", "me@e.org", "--lab", address, "--check")
        seeds = ("-s", "http://birds.example/", "-s", "http://birds.example/none")
        said = told(*words, *seeds, "-k", "plumge")
        assert said.code == 0, said.err
        assert "birds.example/none returned no page" in said.err
        assert "Advice: “plumge” stands on none of your seeds" in said.err
        said = told("new", "b", *words[2:], *seeds, "-k", "plumge", "--json")
        (advice,) = json.loads(said.out)["advice"]
        assert advice["changes"] == {"topic": {"keywords": ["plumage"]}}
        said = told("new", "c", *words[2:], *seeds[:2], "-k", "plumage")
        assert "Checked 1 seed: words of yours stand there." in said.err
        said = told("new", "d", *words[2:], *seeds[2:], "-k", "plumage")
        assert "Checked: no seed returned a page" in said.err
    written = tomllib.loads((tmp_path / "a" / "topic.toml").read_text())
    assert written["topic"]["keywords"] == ["plumge"], "nobody said yes"

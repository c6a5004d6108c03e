"""What is private is not asked of an engine, unless its user says so, or asks it himself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from honeyguide.config.loading import parse_settings
from honeyguide.config.settings import Settings
from honeyguide.search.composer import QueryComposer
from honeyguide.search.query_bandit import QueryBandit
from honeyguide.search.query_planner import QueryPlanner, suggest_queries
from honeyguide.search.session import withholding_rule
from honeyguide.store.store import Store
from honeyguide.types import Label, Link, Page, Response, Url, Verdict, Visit

TEXT = "Project Nightingale is secret. Project Nightingale pays. The bees of Project Nightingale."
PUBLIC = "http://searx.example/search"
AT_HOME = ("http://10.0.0.7/{}", "http://localhost/{}", "http://wiki.corp/{}", "http://wiki/{}")


def told(url: str = PUBLIC, **search: Any) -> Settings:
    table = {"engine": "searxng", "url": url} | search
    return parse_settings({"topic": {"keywords": ["bee"], "good_files": ["ex/*"]}, "search": table})


def page(url: str) -> Page:
    return Page(Url(url), title="Bees", text=TEXT)


def visit(url: str, ip: str = "93.184.215.14", at: float = 1.0) -> Visit:
    answer = Response(Url(url), 200, (), b"", b"", b"", b"", ip, at, 0.1)
    return Visit(Link(Url(url)), at, response=answer, page=page(url), verdict=Verdict(0.95))


def queries(settings: Settings, **more: Any) -> QueryPlanner:
    return QueryPlanner(
        QueryComposer("en", ["bee"]), QueryBandit(1, 50), {}, withholding_rule(settings, **more)
    )


def asks(found: QueryPlanner) -> str:
    """Everything that it would ask."""
    said: list[str] = []
    while (chosen := found.choose_query()) is not None and len(said) < 40:
        said.append(str(chosen[0]))
        found.pulls.record_page(chosen[0], chosen[1], 0, 0, 0.0, False)
    return " | ".join(said)


def visited(settings: Settings, address: str, ip: str = "93.184.215.14", **more: Any) -> str:
    found = queries(settings, **more)
    for n in range(4):
        found.record_visit(visit(address.format(n) if "{}" in address else address, ip))
    return asks(found)


def test_public_pages_are_asked_from() -> None:
    assert "nightingale" in visited(told(), "http://a{}.example/")
    assert "nightingale" in visited(told(), "http://a{}.example/", ""), "through a proxy"


@pytest.mark.parametrize("address", AT_HOME)
def test_pages_at_home_are_not(address: str) -> None:
    assert visited(told(), address) == "bee"
    assert "nightingale" in visited(told(private=True), address)
    assert visited(told("http://127.0.0.1:8080/search"), address) == "bee", "it passes them on"
    assert "nightingale" in visited(told(), address, lab=True)


def test_nor_those_whose_name_leads_there() -> None:
    assert visited(told(), "http://a{}.example/", "10.1.2.3") == "bee"


def test_examples_from_files_are_not() -> None:
    for url in (PUBLIC, "http://127.0.0.1:8080/search"):
        found = queries(told(url))
        for n in range(4):
            found.learn_example(page(f"file://localhost/c/ex/{n}.txt"), 1.0)
        assert asks(found) == "bee"
    found = queries(told(private=True))
    for n in range(4):
        found.learn_example(page(f"file://localhost/c/ex/{n}.txt"), 1.0)
    assert "nightingale" in asks(found)


def test_neither_when_resumed_nor_by_labels(tmp_path: Path) -> None:
    def kept(ip: str, name: str) -> str:
        with Store.open(tmp_path / name, "crawl", words=True) as store:
            with store.transaction():
                store.append_visits([visit(f"http://a{n}.example/", ip, n + 1.0) for n in range(4)])
            store.labels.add(Label(Url(f"http://a{n}.example/"), 1.0) for n in range(4))
            found, heard = queries(told()), queries(told())
            found.restore(store, 0)
            heard.poll_store(store)
            return f"{asks(found)}, {asks(heard)}"

    assert kept("10.1.2.3", "home") == "bee, bee"
    assert kept("93.184.215.14", "public").count("nightingale") >= 2


def test_suggestions_may_use_them(tmp_path: Path) -> None:
    """A person reads them before they are asked."""
    (tmp_path / "ex").mkdir()
    for n in range(4):
        (tmp_path / "ex" / f"{n}.txt").write_text(f"{TEXT} Number {n}.")
    found = suggest_queries(tmp_path, told(), 20)
    assert any("nightingale" in str(one.query) for one in found.suggestions)

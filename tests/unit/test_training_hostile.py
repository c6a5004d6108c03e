"""Labelled texts and sites of strangers: they reach no file and no machine that is not theirs."""

from __future__ import annotations

import asyncio
import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from honeyguide.cli import categories
from honeyguide.config.settings import FetchSettings
from honeyguide.errors import ConfigError, Forbidden
from honeyguide.net.polite_fetch import PoliteFetcher, RequestPacer
from honeyguide.training import documents
from honeyguide.training.documents import ColumnNames, ReadingTally, category_name, read_documents
from honeyguide.training.report import card_text, html_report
from honeyguide.training.train import ModelRequest, make_model
from honeyguide.types import Request, Response, Url
from tests.commands import Told
from tests.unit.labelled import rows
from tests.unit.test_polite_fetch import Web
from tests.unit.test_training_evaluation import card, found

HOME, OTHER = "http://127.0.0.1:8000", "http://192.168.7.7"


def labels(source: Path) -> tuple[list[str], dict[str, int]]:
    tally = ReadingTally()
    return [one.label for one in read_documents(source, ColumnNames(), tally)], dict(tally.left_out)


def test_links_in_a_folder_are_not_followed(tmp_path: Path) -> None:
    source, secret = tmp_path / "source", tmp_path / "secret"
    secret.mkdir()
    (secret / "diary.txt").write_text("dear diary")
    (source / "birds").mkdir(parents=True)
    (source / "birds" / "a.txt").write_text("a finch")
    (source / "birds" / "b.txt").symlink_to(secret / "diary.txt")
    (source / "birds" / "more").symlink_to(secret)
    (source / "soup").symlink_to(secret)
    assert labels(source) == (["birds"], {"links, which are not followed": 3})


def test_a_record_of_a_table_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "MAX_TEXT_BYTES", 1000)
    path = tmp_path / "a.csv"
    path.write_text("text,label\n" + "short,a\n" * 500)
    assert len(labels(path)[0]) == 500, "not all records together"
    path.write_text("text,label\nshort,a\nlong,a" + ',"\n"' * 900)
    with pytest.raises(ConfigError, match="from line 3 on: a record is longer than 2000"):
        labels(path)


@pytest.mark.parametrize("said", ["a\ud800", "a\x1b\x07\x9b\u202e\u200b", " a\n", "\ufeffa"])
def test_labels_are_cleaned_when_they_are_read(tmp_path: Path, said: str) -> None:
    path = tmp_path / "a.jsonl"
    objects = ({"text": "x", "label": said}, {"text": "y", "label": "\ud800\n"})
    path.write_text("".join(json.dumps(one) + "\n" for one in objects))
    assert labels(path) == (["a"], {"no label": 1})


def test_names_of_folders_are_normalised(tmp_path: Path) -> None:
    for name in ("cafe\u0301", "caf\u00e9", "so\nup", "\u202e"):
        (tmp_path / name).mkdir(exist_ok=True)
        (tmp_path / name / "a.txt").write_text("text")
    got, left = labels(tmp_path)
    assert set(got) == {"caf\u00e9", "so up"}
    assert left == {"no label": 1}


@given(st.text())
def test_a_label_is_one_printable_line(text: str) -> None:
    once = category_name(text)
    assert once.isprintable()
    assert once == once.strip()
    assert len(once) <= 100
    assert category_name(once) == once


def test_a_model_is_made_from_odd_names(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    said = [{"text": text, "label": f"{name}\ud800"} for text, name in rows(4)]
    path.write_text("".join(json.dumps(one) + "\n" for one in said))
    out = tmp_path / "model"
    wish = ModelRequest(
        path, out, "linear", folds=0, licence="odd \udcff", command="honeyguide \udcff"
    )
    assert make_model(wish).corpus.categories == ("birds", "soup", "trains")
    assert json.loads((out / "model.json").read_bytes())["card"]["licence"] == "odd"


def test_a_model_overwrites_a_model_only(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps({"text": t, "label": c}) + "\n" for t, c in rows(4)))
    out = tmp_path / "model"
    make_model(ModelRequest(path, out, "linear", folds=0))
    old = {one.name for one in out.glob("arrays-*.npz")}
    (out / "arrays-of-my-own.npz").write_bytes(b"work of weeks")
    victim = tmp_path / "victim.txt"
    victim.write_text("mine")
    for name in ("report.html", "card.md", "model.json"):
        (out / name).unlink()
        (out / name).symlink_to(victim)
    path.write_text("".join(json.dumps({"text": t, "label": c}) + "\n" for t, c in rows(5)))
    make_model(ModelRequest(path, out, "linear", folds=0))
    assert victim.read_text() == "mine"
    assert (out / "arrays-of-my-own.npz").exists()
    assert not any((out / name).exists() for name in old)
    assert "# model" in (out / "card.md").read_text()


def test_json_does_not_steer_a_terminal(tmp_path: Path, told: Told) -> None:
    path, page = tmp_path / "a.jsonl", tmp_path / "a\x9b2J\u202e.txt"
    path.write_text("".join(json.dumps({"text": t, "label": c}) + "\n" for t, c in rows(4)))
    page.write_text(rows(1)[0][0])
    make_model(ModelRequest(path, tmp_path / "model", "linear", folds=0))
    said = told("classify", page, tmp_path / "no\u202e", "-m", tmp_path / "model", "--json").out
    assert said.replace("\n", "").isprintable()
    assert json.loads(said.splitlines()[0])["name"] == str(page)
    terms = tmp_path / "a.obo"
    terms.write_text('[Term]\nid: X:1\nname: hive\nsynonym: "bee\x9b2J\u202ehouse" EXACT []\n')
    said = told("ontology", "show", "hive", "--ontology", terms, "--json").out
    assert "house" in said
    assert said.replace("\n", "").isprintable()


EVIL = "x ![i](http://evil.example/b.png) <img src=x> `a` | b www.evil.org \x1b[2J\u202e # **h**"


def test_the_card_shows_names_and_does_nothing_they_say() -> None:
    odd: dict[str, Any] = card() | {"categories": {EVIL: 1}, "notes": [f"{EVIL}\n\n# Head"]}
    odd |= dict.fromkeys(("name", "source", "licence", "command"), EVIL)
    text = card_text(odd, None)
    assert not [c for c in text if not c.isprintable() and c != "\n"]
    for bad in ("![", "<img", "http://", "www.", " `a", "**h", "\n# Head", " | b "):
        assert bad not in text.replace("\\|", ""), bad
    assert text.count("\n# ") == 0, "one heading, the first line"
    assert "| command | `honeyguide train my_data.csv` |" in card_text(
        card() | {"command": "honeyguide train my_data.csv"}, None
    )


def test_the_report_has_no_controls() -> None:
    odd = card() | {"name": EVIL, "notes": [EVIL]}
    text = html_report(odd, {"linear": found()})
    assert not [c for c in text if not c.isprintable() and c != "\n"]
    assert "<img" not in text


class Spied:
    """A fetcher that knows private places, or does not, as it is told to."""

    answers: dict[str, tuple[int, str, str]]
    asked: list[tuple[str, bool]]

    def __init__(self, settings: FetchSettings, **_: object) -> None:
        self.private = settings.private_addresses

    async def fetch(self, request: Request) -> Response:
        self.asked.append((request.url, self.private))
        if request.url.startswith((HOME, OTHER)) and not self.private:
            raise Forbidden(request.url, "a private address")
        return await Web(self.answers).fetch(request)

    async def aclose(self) -> None: ...


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, bool]]:
    monkeypatch.setattr("honeyguide.fetch.http.CurlFetcher", Spied)

    async def no_sleep(_seconds: float) -> None: ...

    hasty = partial(PoliteFetcher, pacer=RequestPacer(sleep=no_sleep))
    monkeypatch.setattr("honeyguide.net.polite_fetch.PoliteFetcher", hasty)
    page, none = (200, "", "<title>ok</title><p>text"), (404, "", "")
    Spied.answers = {
        f"{HOME}/robots.txt": none,
        f"{HOME}/": page,
        f"{HOME}/here": (302, "/", ""),
        f"{HOME}/there": (302, f"{OTHER}/", ""),
        f"{HOME}/port": (302, "http://127.0.0.1:6379/", ""),
        f"{HOME}/out": (302, "http://8.8.8.8/", ""),
        f"{OTHER}/robots.txt": (301, f"{HOME}/robots.txt", ""),
        f"{OTHER}/": page,
        "http://8.8.8.8/robots.txt": none,
        "http://8.8.8.8/": page,
        "http://8.8.8.8/in": (302, f"{HOME}/", ""),
    }
    Spied.asked = []
    return Spied.asked


def fetched(*names: str) -> list[bool]:
    got = asyncio.run(categories._fetch_pages(list(names), "me@example.org", ""))
    return [getattr(got[name], "title", "") == "ok" for name in names]


def test_a_private_address_is_asked_for_only_where_a_user_names_it(
    asked: list[tuple[str, bool]],
) -> None:
    assert fetched("http://8.8.8.8/", f"{HOME}/", f"{HOME}/here", f"{HOME}/out") == [True] * 4
    assert not [url for url, private in asked if private and "8.8.8.8" in url]


@pytest.mark.parametrize("first", [f"{HOME}/there", f"{HOME}/port", "http://8.8.8.8/in"])
def test_no_redirect_leads_to_a_private_address(asked: list[tuple[str, bool]], first: str) -> None:
    assert fetched(first, f"{HOME}/") == [False, True], "and it spoils nothing for the others"
    assert {url for url, private in asked if private} <= {first, f"{HOME}/robots.txt", f"{HOME}/"}


def test_no_robots_txt_leads_to_a_private_address(asked: list[tuple[str, bool]]) -> None:
    fetched(f"{OTHER}/")
    assert (f"{HOME}/robots.txt", True) not in asked


@pytest.mark.parametrize(
    ("name", "own"),
    [
        ("http://93.184.216.34/", False),
        ("http://example.org/", False),
        ("http://127.0.0.1:1/", True),
        ("http://localhost/", True),
        ("http://[::1]/", True),
        ("http://10.1.2.3/", True),
        ("http://[2606:4700::1111]/", False),
    ],
)
def test_which_addresses_are_private(name: str, own: bool) -> None:
    assert categories._is_private(Url(name)) is own

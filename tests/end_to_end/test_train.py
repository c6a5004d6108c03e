"""Train a model, ask it, and crawl with it: as a person would, mistakes included."""

from __future__ import annotations

import io
import json
import random
import sys
from pathlib import Path
from statistics import mean

import pytest

from tests.commands import Told
from tests.end_to_end.crawling import collection, journal
from tests.site.exchange import text as plain
from tests.site.server import Site
from tests.site.web import BEES, OTHERS, weave
from tests.unit.labelled import rows, text


@pytest.fixture
def labelled(tmp_path: Path) -> Path:
    folder = tmp_path / "labelled"
    for number, (said, label) in enumerate(rows(15)):
        (folder / label).mkdir(parents=True, exist_ok=True)
        (folder / label / f"{number}.txt").write_text(said)
    return folder


def test_train_and_classify(labelled: Path, tmp_path: Path, told: Told) -> None:
    out = tmp_path / "model"
    made = told("train", labelled, "--out", out, "--language", "en", "--folds", 3)
    assert made.code == 0, made.err
    assert "(chosen)" in made.out
    assert "a model of 3 categories from 45 documents" in made.out
    assert {path.name for path in out.iterdir()} >= {"model.json", "report.html", "card.md"}
    assert "--folds 3" in (out / "card.md").read_text()
    page = tmp_path / "page.html"
    page.write_text(f"<title>Feathers</title><p>{text('birds', 99)}")
    empty = tmp_path / "empty.txt"
    empty.write_text("...")
    done = told("classify", page, empty, "--model", out, "--json", "--show-text")
    assert done.code == 0, done.err
    first, second = map(json.loads, done.out.splitlines())
    assert first["category"] == "birds"
    assert sum(first["probabilities"].values()) == pytest.approx(1, abs=1e-4)
    assert first["text"][0] == "feather"
    assert second["category"] is None
    shown = told("classify", page, "--model", out)
    assert f"{page}: birds" in shown.out
    assert "by: " in shown.err


def test_each_form_and_json(tmp_path: Path, told: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = tmp_path / "a.jsonl"
    lines.write_text("".join(json.dumps({"text": t, "label": c}) + "\n" for t, c in rows(8)))
    table = tmp_path / "a.csv"
    table.write_text("section,body\n" + "".join(f"{c},{t}\n" for t, c in rows(8)))
    for source, more in ((lines, ()), (table, ("--text", "body", "--label", "section"))):
        out = tmp_path / f"{source.suffix[1:]}-model"
        done = told(
            "train", source, "-o", out, "--kind", "linear", "--folds", 2, "--language", "en",
            "--licence", "CC0", "--json", *more,
        )  # fmt: skip
        assert done.code == 0, done.err
        card = json.loads(done.out)
        assert card["categories"] == {"birds": 8, "soup": 8, "trains": 8}
        assert card["figures"]["linear"]["accuracy"] > 0.7
        assert "| licence | CC0 |" in (out / "card.md").read_text()
    again = told("train", lines, "-o", out, "--kind", "linear", "--folds", 0, "--json")
    assert again.code == 0, "a model may be replaced"
    stdin = io.TextIOWrapper(io.BytesIO(text("soup", 9).encode()))
    monkeypatch.setattr(sys, "stdin", stdin)
    assert "-: soup" in told("classify", "-", "-m", out).out


def test_mistakes_are_told(labelled: Path, tmp_path: Path, told: Told) -> None:
    out = tmp_path / "model"
    one = tmp_path / "one.jsonl"
    one.write_text('{"text": "alpha", "label": "x"}\n{"text": "beta", "label": "x"}\n')
    full = tmp_path / "full"
    full.mkdir()
    (full / "thesis.doc").write_text("dear")
    for words, said in (
        (("train", one, "-o", out, "--language", "en"), "there is only 'x'"),
        (("train", labelled, "-o", full), "has other things in it"),
        (("train", labelled, "-o", one), "is a file"),
        (("train", labelled, "-o", out, "--kind", "svm"), "there is no kind 'svm'"),
        (("train", labelled, "-o", out, "--folds", 1), "--folds must be 0"),
        (("train", labelled, "-o", out, "--folds", 0), "chooses by cross-validation"),
        (("train", labelled, "-o", out, "--language", "English"), "did you mean 'en'"),
        (("train", tmp_path / "no", "-o", out), "does not exist"),
    ):
        done = told(*words)
        assert (done.code, said in done.err) == (2, True), (words, done)
    assert not out.exists()
    done = told("classify", one, "--model", tmp_path)
    assert (done.code, "there is no model" in done.err) == (7, True)
    assert told("train", labelled, "-o", out, "--kind", "linear", "--folds", 0).code == 0
    done = told("classify", tmp_path / "no.txt", labelled / "soup", "--model", out)
    assert done.code == 2
    assert done.err.count("cannot be read") == 2
    done = told("classify", "http://127.0.0.1:9/", "--model", out)
    assert (done.code, "--contact" in done.err) == (2, True)


def test_an_address_is_asked_for_politely(
    labelled: Path, tmp_path: Path, site: Site, told: Told
) -> None:
    out = tmp_path / "model"
    assert told("train", labelled, "-o", out, "--kind", "linear", "--folds", 0).code == 0
    host = site.addresses[0]
    site.pages(host, {"/a": f"<title>x</title><p>{text('soup', 5)}", "/no": "secret"})
    site.route(host, "/robots.txt", plain("User-agent: *\nDisallow: /no"))
    done = told("classify", site.url(host, "/a"), "-m", out, "-c", "me@example.org", "--json")
    assert done.code == 0, done.err
    assert json.loads(done.out)["category"] == "soup"
    assert [hit.path for hit in site.hits(host)] == ["/robots.txt", "/a"]
    done = told("classify", site.url(host, "/no"), "-m", out, "-c", "me@example.org")
    assert (done.code, "robots.txt forbids it" in done.err) == (6, True)
    assert "/no" not in [hit.path for hit in site.hits(host)]


def test_a_crawl_with_a_model(tmp_path: Path, site: Site, told: Told) -> None:
    lines = tmp_path / "a.jsonl"
    said = []
    dice = random.Random(1)
    for _ in range(100):
        for label, share in (("bees", 0.5), ("others", 0.1)):
            words = [dice.choice(BEES if dice.random() < share else OTHERS) for _ in range(80)]
            said.append({"text": " ".join(words), "label": label})
    lines.write_text("".join(json.dumps(row) + "\n" for row in said))
    out = tmp_path / "model"
    done = told("train", lines, "-o", out, "--kind", "paper", "--folds", 0, "--language", "en")
    assert done.code == 0, done.err
    web = weave(site, site.addresses[:3], pages=8)
    folder = tmp_path / "bees"
    made = collection(folder, [site.url(site.addresses[0], "/")])
    settings = (made.folder / "topic.toml").read_text()
    settings = settings.replace('strategy = "keyword"', 'strategy = "topic_cnn"')
    out.rename(folder / "bee-model")
    settings = settings.replace("[topic]", '[topic]\nmodel = "bee-model"\ncategories = ["bees"]', 1)
    (made.folder / "topic.toml").write_text(settings)
    done = told("crawl", folder, "--json")
    assert done.code == 0, done.err
    judged = {row.url: row.verdict or 0.0 for row in journal(folder) if row.has_page}
    assert set(judged) == set(web.urls)
    good = [verdict for url, verdict in judged.items() if url in web.relevant]
    bad = [verdict for url, verdict in judged.items() if url not in web.relevant]
    assert mean(good) > mean(bad) + 0.2
    assert told("crawl", folder, "--json").code == 0, "again, from the saved generation"


def test_a_model_says_nothing_of_words_it_never_saw(
    labelled: Path, tmp_path: Path, told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = tmp_path / "page.txt"
    page.write_text("zxqv wqplt mnbzx " * 10)
    for kind in ("linear", "paper"):
        out = tmp_path / kind
        assert told("train", labelled, "-o", out, "--kind", kind, "--folds", 0).code == 0
        shown = told("classify", page, "-m", out).out
        assert shown == f"{page}: no words to judge by: 0 of 30 words are known to the model\n"
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
        for name in (page, "-"):
            said = json.loads(told("classify", name, "-m", out, "--json").out)
            assert (said["category"], said["probabilities"], said["words"]) == (None, {}, {})
            assert said["why"].startswith("no words to judge by")


def test_languages_are_checked(labelled: Path, tmp_path: Path, told: Told) -> None:
    out = tmp_path / "model"
    for words, said in (
        (("--language", "TR"), "--language: there is no language with the code 'TR'; did you mean"),
        (("--language", "xx"), "--language: there is no language"),
        (("--language", "de", "--normalise"), "--normalise repairs Turkish"),
        (("--encoding", "klingon"), "--encoding: there is no 'klingon'"),
    ):
        done = told("train", labelled, "-o", out, "--folds", 0, "--kind", "linear", *words)
        assert (done.code, said in done.err) == (2, True), done
        assert "topic.language" not in done.err
    assert not out.exists()


def test_a_spreadsheet_from_ankara(tmp_path: Path, told: Told) -> None:
    said = "İstanbul'da yaşayan çocuklar için yeni sağlık merkezi açıldı, ışıklı bahçesi büyük"
    lines = ["metin;etiket", *(f'"{said} {n}";{"sağlık" if n % 2 else "spor"}' for n in range(20))]
    (tmp_path / "a.csv").write_bytes("\r\n".join(lines).encode("windows-1254"))
    out = tmp_path / "model"
    words = ("--text", "metin", "--label", "etiket", "--kind", "linear", "--folds", 0)
    done = told("train", tmp_path / "a.csv", "-o", out, "--language", "tr", *words)
    assert done.code == 0, done.err
    assert "read as windows-1254" in done.err
    card = (out / "card.md").read_text("utf-8")
    assert "read as windows-1254" in card
    assert "| sağlık | 10 |" in card


def test_stopping_and_places_that_cannot_be(
    labelled: Path, tmp_path: Path, told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: object, **__: object) -> None:
        assert out.is_dir(), "made and tried before anything is read"
        raise KeyboardInterrupt

    monkeypatch.setattr("honeyguide.training.train.gather_corpus", stop)
    out = tmp_path / "deep" / "er" / "model"
    done = told("train", labelled, "-o", out)
    assert (done.code, done.out) == (130, "")
    assert done.err.strip().endswith("honeyguide: stopped; nothing was saved")
    assert not (tmp_path / "deep").exists()
    file = tmp_path / "file"
    file.write_text("x")
    done = told("train", labelled, "-o", file / "model")
    assert (done.code, "cannot be written to" in done.err) == (2, True)
    assert file.read_text() == "x"


def test_a_stopped_save_leaves_nothing_half(
    labelled: Path, tmp_path: Path, told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    from honeyguide.models.deep import category_model

    put = category_model.write_durably

    def stop(path: Path, data: bytes) -> None:
        if path.name == "model.json":
            raise KeyboardInterrupt
        put(path, data)

    out = tmp_path / "model"
    monkeypatch.setattr(category_model, "write_durably", stop)
    done = told("train", labelled, "-o", out, "--kind", "linear", "--folds", 0)
    assert (done.code, "nothing was saved" in done.err) == (130, True)
    assert not out.exists()


def test_a_lab_is_asked(labelled: Path, tmp_path: Path, told: Told) -> None:
    from honeyguide.lab.web import RecordedResponse, RecordedWeb, gzip_bytes
    from tests.lab_thread import serve_in_thread

    out = tmp_path / "model"
    assert told("train", labelled, "-o", out, "--kind", "linear", "--folds", 0).code == 0
    body = f"<title>x</title><p>{text('soup', 5)}".encode()
    page = RecordedResponse(
        "http://a.test/x", 200, (("Content-Type", "text/html"),), gzip_bytes(body)
    )
    data = RecordedResponse(
        "http://a.test/d", 200, (("Content-Type", "application/json"),), gzip_bytes(b"{}")
    )
    who = ("-m", out, "-c", "me@example.org")
    with serve_in_thread(RecordedWeb([page, data])) as lab:
        done = told("classify", "http://a.test/x", *who, "--lab", lab, "--json")
        assert done.code == 0, done.err
        assert json.loads(done.out)["category"] == "soup"
        done = told("classify", "http://a.test/d", *who, "--lab", lab)
        assert (done.code, done.out) == (6, "")
        assert "this is not a page: application/json" in done.err
    done = told("classify", "http://a.test/x", *who, "--lab", "http://example.org")
    assert (done.code, "is not the address of a lab on this machine" in done.err) == (2, True)

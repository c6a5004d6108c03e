from __future__ import annotations

import json
import socket
import tomllib
from pathlib import Path

import pytest

from honeyguide.cli.new import NO_WORDS, ONLY_BAD
from honeyguide.cli.options import demo_topics, strategy_choices
from honeyguide.config.loading import load_settings, parse_settings
from honeyguide.config.settings import Settings
from honeyguide.config.topic_file import USEFUL_KEYS, compose_topic_file, settings_tables
from honeyguide.errors import ConfigError
from tests.commands import Told

BASE = ("-s", "e.org", "-c", "me@e.org")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_without_words_it_says_what_that_means(told: Told) -> None:
    said = told("new", "a", *BASE, "-k", "", "-k", "  ", "-d", " ")
    assert said.code == 0
    assert NO_WORDS in said.err
    settings = load_settings(Path("a/topic.toml"))
    assert (settings.topic.keywords, settings.crawl.strategy) == ((), "breadth")
    assert NO_WORDS not in told("new", "b", *BASE, "--strategy", "breadth").err
    assert NO_WORDS not in told("new", "c", *BASE, "-k", "bee").err


def test_bad_examples_alone_lack_good_ones(told: Told) -> None:
    said = told("new", "a", *BASE, "-b", "http://e.org/shop").err
    assert ONLY_BAD in said
    assert NO_WORDS not in said


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--ontology", "cell"], "Add --concept NAME"),
        (["--concept", "cell"], "Add --ontology FILE"),
    ],
)
def test_an_ontology_and_its_concept_come_together(
    told: Told, words: list[str], message: str
) -> None:
    said = told("new", "a", *BASE, *words)
    assert (said.code, message in said.err) == (2, True), said.err
    assert not Path("a").exists()
    assert told("new", "a", *BASE, "--ontology", "cell", "--concept", "tissue").code == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["-s", "/home/x.html"], "not an http or https address"),
        (["-s", "wiki"], "not an http or https address"),
        (["-s", "http://wiki/"], "not a full name"),
        (["-s", "mailto:me@e.org"], "user name or a password"),
        (["-s", "list.txt"], "--seeds"),
        (["-g", "nowhere"], "not an http or https address"),
        (["-s", "e.org", "--lab", "http://e.org/"], "fetch.lab"),
        (["-s", "e.org", "--pages", "-1"], "crawl.pages"),
    ],
)
def test_mistakes_leave_nothing_behind(told: Told, words: list[str], message: str) -> None:
    Path("list.txt").write_text("http://e.org/\n")
    said = told("new", "x", *words, "-c", "me@e.org", "-k", "bee")
    assert (said.code, message in said.err) == (2, True), said.err
    assert not Path("x").exists()


@pytest.mark.parametrize("seed", ["localhost:8000/x", "127.0.0.1", "[::1]:80", "http://localhost/"])
def test_this_machine_may_be_a_seed(told: Told, seed: str) -> None:
    assert told("new", "x", "-s", seed, "-c", "me@e.org", "-k", "bee").code == 0


def test_languages_that_we_know_little_of_get_a_note(told: Told) -> None:
    assert "Note" not in told("new", "a", *BASE, "-k", "arı", "--language", "tr").err
    said = told("new", "b", *BASE, "-k", "x", "--language", "yi", "--words", "en")
    assert said.code == 0
    assert "written in Yiddish, so only pages that declare it (html lang)" in said.err
    assert (
        "no list of stop words for the language 'crh'"
        in told("new", "c", *BASE, "-k", "x", "--words", "crh").err
    )


def test_languages_of_pages_and_of_keywords(told: Told) -> None:
    words = ("-k", "bee", "--language", "tr", "--language", "az", "--keyword-language", "en")
    assert told("new", "a", *BASE, *words).code == 0
    topic = load_settings(Path("a/topic.toml")).topic
    assert (topic.language, topic.keyword_language) == (("tr", "az"), "en")
    assert told("new", "b", *BASE, "-k", "bee").code == 0
    topic = load_settings(Path("b/topic.toml")).topic
    assert (topic.language, topic.keyword_language) == ((), "en")
    said = told("new", "c", *BASE, "-k", "bee", "--language", "xx")
    assert (said.code, "no language with the code 'xx'" in said.err) == (2, True)
    assert not Path("c").exists()


def test_a_topic_file_of_before_is_told_how_to_go_on(told: Told) -> None:
    told("new", "a", *BASE, "-k", "bee")
    file = Path("a/topic.toml")
    file.write_text(file.read_text().replace("[topic]\n", '[topic]\nlanguage = "en"\n'))
    said = told("status", "a")
    assert said.code == 2
    assert 'language = ["en"]' in said.err
    assert 'keyword_language = "en"' in said.err


def test_a_lab_is_crawled_without_delay(told: Told) -> None:
    assert told("new", "a", *BASE, "-k", "bee", "--lab", "127.0.0.1:8787/").code == 0
    settings = load_settings(Path("a/topic.toml"))
    assert settings.topic.seeds == ("http://e.org/",), "a lab knows no https"
    assert settings.fetch.lab == "http://127.0.0.1:8787"
    assert settings.politeness.loopback_delay_s == 0


def test_an_existing_collection_is_named_for_both_worlds(told: Told) -> None:
    assert told("new", "a b", *BASE, "-k", "bee").err.endswith("honeyguide crawl 'a b'\n")
    said = told("new", "a b", *BASE, "-k", "bee")
    assert said.code == 2
    assert 'honeyguide.Collection("a b")' in said.err
    assert "honeyguide crawl 'a b'" in said.err


def test_the_file_names_useful_defaults(told: Told) -> None:
    told("new", "a", *BASE, "-k", "bee")
    text = Path("a/topic.toml").read_text()
    assert "honeyguide settings" in text
    # Every comment that shows a default is one: without its mark the settings are the same.
    opened = "\n".join(
        line.removeprefix("# ") if " = " in line.partition("#")[2].partition("#")[0] else line
        for line in text.splitlines()
    )
    assert opened != text
    assert parse_settings(tomllib.loads(opened)) == load_settings(Path("a/topic.toml"))
    for name in USEFUL_KEYS:
        table, _, key = name.partition(".")
        assert key in tomllib.loads(opened)[table], name


def test_any_text_survives_the_file() -> None:
    words = ['a "quoted" one', "back\\slash", "del\x7f", "new\nline", "\u202e", "arı"]
    chosen = {"topic": {"keywords": words}, "strategy": {"x": float("inf")}}
    read = tomllib.loads(compose_topic_file(chosen))
    assert read["topic"]["keywords"] == words
    assert read["strategy"] == {"x": float("inf")}
    with pytest.raises(ConfigError, match="not valid text"):
        compose_topic_file({"topic": {"keywords": ["\ud800"]}})


def test_settings_prints_every_key(told: Told) -> None:
    facts = json.loads(told("settings", "--json").out)
    assert facts["crawl"]["pages"]["default"] == Settings().crawl.pages
    assert "Stop after" in facts["crawl"]["pages"]["meaning"]
    text = told("settings").out
    for table in settings_tables().values():
        assert f"[{table.name}]" in text
        assert all(key.name in text for key in table.keys)
    only = told("settings", "scope").out
    assert "pages_per_domain = 5000" in only
    assert "[crawl]" not in only
    assert "did you mean 'scope'" in told("settings", "scop").err


def test_help_speaks_plainly(told: Told) -> None:
    for command in ("new", "crawl", "status", "label", "export", "demo", "explain", "settings"):
        said = told(command, "--help").out
        assert "<" not in said.replace("<=", ""), said
        assert "{strategies}" not in said
        assert "{topics}" not in said
    assert ", ".join(strategy_choices()) in told("new", "--help").out
    assert ", ".join(demo_topics()) in " ".join(told("demo", "--help").out.split())
    assert "<" not in told("lab", "serve", "--help").out.replace("<=", "")


def test_version_as_a_flag_too(told: Told) -> None:
    assert told("--version").out == told("version").out


def test_a_busy_or_impossible_port_is_no_traceback(told: Told) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        said = told("lab", "serve", "--port", port)
    assert "on 17 hosts, such as http://" in said.err, "where a crawl may start"
    assert (said.code, f"port {port} is in use" in said.err, "--port 0" in said.err) == (2, 1, 1)
    assert told("lab", "serve", "--port", "70000").code == 2

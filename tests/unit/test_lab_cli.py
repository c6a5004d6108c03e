"""The lab's commands: what they are told reaches the web that is served."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from honeyguide.api.create import create
from honeyguide.cli.lab import app, robots_text
from honeyguide.errors import ConfigError
from honeyguide.lab import server
from honeyguide.lab.responses import LabResponder, ServingOptions
from honeyguide.lab.simulate import simulate_crawl
from honeyguide.lab.synthetic.web import SyntheticWeb
from honeyguide.lab.trials import read_redirects
from honeyguide.lab.web import LabWeb, RecordedWeb


def told(*words: object) -> str:
    done = CliRunner().invoke(app, [str(word) for word in words])
    if done.exception and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A ring of 60 pages with chords, every other one about bees."""
    path = tmp_path / "small.jsonl.gz"
    with gzip.open(path, "wt") as file:
        for n in range(60):
            word = "bees" if n % 2 else "trains"
            links = "".join(f'<a href="/{(n + step) % 60}">{word}</a>' for step in (1, 2, 7))
            row = {"url": f"http://w.example/{n}", "html": f"<title>{word} {n}</title>{n}{links}"}
            file.write(json.dumps(row | {"labels": [word]}) + "\n")
    return path


@pytest.fixture
def aliases(tmp_path: Path) -> Path:
    path = tmp_path / "moved.aliases.jsonl.gz"
    with gzip.open(path, "wt") as file:
        file.write('{"alias": "http://a.org/old", "url": "http://a.org/new"}\n')
        file.write('{"alias": "https://a.org/same", "url": "http://a.org/same"}\n')
    return path


def test_alias_files_become_redirects_of_any_web(aliases: Path) -> None:
    assert read_redirects([aliases]) == {"a.org/old": "http://a.org/new"}


def test_robots_from_a_file_and_from_paths(tmp_path: Path) -> None:
    file = tmp_path / "robots.txt"
    file.write_text("User-agent: slow\nDisallow: /\n")
    assert robots_text(None, None) == ""
    assert robots_text(None, ["/a", "/b"]) == "User-agent: *\nDisallow: /a\nDisallow: /b\n"
    assert robots_text(file, ["/a"]).startswith("User-agent: slow\nDisallow: /\n\nUser-agent: *\n")
    with pytest.raises(ConfigError, match="slash"):
        robots_text(None, ["a"])
    with pytest.raises(ConfigError, match="cannot be read"):
        robots_text(tmp_path / "none", None)


def test_every_web_is_served_as_told(
    small: Path, aliases: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[LabWeb, ServingOptions]] = []
    monkeypatch.setattr(server, "serve_web", lambda web, serving, **_: seen.append((web, serving)))
    for web in ([small], ["--made", "seed=1,pages=300,hosts=3"]):
        told("serve", *web, "--disallow", "/x", "--strip", "meta[name=robots]", "--errors", 0.5,
             "--latency", 0.1, "--aliases", aliases, "--port", 0)  # fmt: skip
    (recorded, how), (made, as_well) = seen
    assert how == as_well
    assert isinstance(made, SyntheticWeb)
    assert (how.error_rate, how.latency_s) == (0.5, 0.1)
    assert how.strip == ("meta[name=robots]",)
    desk = LabResponder(recorded, how)
    assert desk.respond("w.example/robots.txt").body == b"User-agent: *\nDisallow: /x\n"
    assert {desk.respond("a.org/old").status for _ in range(50)} == {301, 503}


def test_a_comparison_in_json_with_a_baseline(small: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    found = json.loads(
        told("compare", small, "-t", "bees", "--draws", 1, "-n", 25, "--workers", 1, "--json",
             "-s", "breadth", "-s", "oracle", "--baseline", "breadth", "--to", 3,
             "--errors", 0.1, "--latency", 1, "--out", out)
    )  # fmt: skip
    assert (found["baseline"], found["k"]) == ("breadth", 3)
    oracle = found["all"]["oracle"]
    assert oracle["difference"]["mean"] > 0
    assert oracle["visits_to"] <= 15
    assert {"area", "recall", "harvest", "precision"} < set(oracle)
    assert {path.name for path in out.iterdir()} == {
        "results.jsonl", "report.md", "summary.json", "all-topics.svg", "small-bees.svg",
    }  # fmt: skip
    with pytest.raises(ConfigError, match="--baseline"):
        told("compare", small, "-t", "bees", "-s", "breadth", "--baseline", "keyword")


def test_two_crawls_overlap(small: Path, tmp_path: Path) -> None:
    desk = LabResponder(RecordedWeb.load([small]))
    for name, pages in (("one", 12), ("two", 25)):
        made = create(
            tmp_path / name,
            seeds=["http://w.example/0"],
            keywords=["bees"],
            strategy="breadth",
            pages=pages,
            contact="https://example.org/lab",
            topic={"threshold": 0.01},
            crawl={"concurrency": 1},
            fetch={"lab": "http://127.0.0.1:1"},
            store={"warc": False, "min_free_mb": 0},
        )
        simulate_crawl(made.folder, made.settings, desk)
    words = ("overlap", tmp_path / "one", tmp_path / "two")
    found = json.loads(told(*words, "--json"))
    assert found["documents"]["first"] == found["documents"]["first_shared"] > 0
    assert found["documents"]["second"] > found["documents"]["first"]
    assert found["sites"] == dict.fromkeys(found["sites"], 1)
    assert set(found["both"]).isdisjoint(found["only_second"])
    assert found["phrases"]["first_shared"] == len(found["both"]) > 0
    assert len(found["both"]) + len(found["only_second"]) == found["phrases"]["second"]
    assert [window["size"] for window in found["windows"]] == [50, 100, 200, 300, 500, 1000]
    assert found["windows"][3]["words"] == found["words"]
    assert found["over_time"] == []
    later = json.loads(told(*words, "--json", "--parts", 4))["over_time"]
    assert [part["share"] for part in later] == [0.25, 0.5, 0.75, 1.0]
    assert later[-1]["overlap"]["documents"] == found["documents"]
    sizes = [part["overlap"]["documents"]["second"] for part in later]
    assert sizes == sorted(sizes)
    assert sizes[0] < sizes[-1]
    text = told(*words, "--parts", 2)
    for what in ("key words", "key phrases of both: ", "after"):
        assert what in text

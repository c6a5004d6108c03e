"""The study of threads: which cells are run, changes that are found, tables."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from honeyguide.cli.lab import app
from honeyguide.errors import ConfigError
from honeyguide.lab.studies import thread_sweep
from honeyguide.lab.studies.thread_sweep import EditedResponder, plan_jobs
from honeyguide.lab.trials import WebSpec
from honeyguide.lab.web import RecordedResponse, RecordedWeb, gzip_bytes

WEB = WebSpec("made", made="seed=3,pages=40,hosts=12")


def told(*words: object) -> str:
    done = CliRunner().invoke(app, ["study", "002", *map(str, words)])
    if done.exception and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == 0, done.output
    return done.stdout


def test_the_papers_limits() -> None:
    jobs = plan_jobs(WEB, 20, (4, 8, 100), (1, 2, 15, 16), 5, 0.05)
    cells = {(job.configuration, job.threads) for job in jobs}
    assert {("1", (1,)), ("adaptive", ()), ("3", (4, 1)), ("3", (100, 15))} < cells
    assert ("3", (4, 2)) not in cells, "M is at most a quarter of N"
    assert ("3", (100, 16)) not in cells
    assert ("2", (8, 1, 2)) in cells


def test_edited_pages_have_a_new_paragraph() -> None:
    html = (("Content-Type", "text/html; charset=utf-8"),)
    pages = [
        RecordedResponse(f"http://a.example/{n}", 200, html, gzip_bytes(b"<body><p>old</body>"))
        for n in range(2)
    ]
    desk = EditedResponder(RecordedWeb(pages))
    desk.edited = frozenset({"a.example/1"})
    assert desk.respond("a.example/0").body == b"<body><p>old</body>"
    assert b"<p>old<p>This paragraph is new" in desk.respond("a.example/1").body


def outcome(which: str, threads: tuple[int, ...], *times: float) -> dict[str, Any]:
    rounds = [
        {"effective_ms": ms, "longest_queue": 3, "fetchers": 9, "visits": 10, "missed": 0,
         "invented": 1}
        for ms in times
    ]  # fmt: skip
    return {"configuration": which, "threads": list(threads), "pages": 10, "latency_ms": 50.0,
            "rounds": rounds}  # fmt: skip


def test_tables_have_the_best_of_each() -> None:
    some = [
        outcome("1", (1,), 100, 102),
        outcome("adaptive", (), 4, 6),
        outcome("2", (8, 1, 1), 30, 30),
        outcome("2", (8, 2, 1), 20, 20),
        outcome("3", (8, 1), 25, 25),
        outcome("3", (8, 2), 10, 10),
    ]
    best, sweep = thread_sweep.result_tables(some)
    rows = {row[0]: row for row in best.rows}
    assert rows["1"][2] == "101.00 ± 1.41"
    assert rows["2"][1:4] == ("8/2/1", "20.00 ± 0.00", "80.20%")
    assert rows["3"][5:] == ("0", "2", "59.19", "78/11")
    assert rows["adaptive"][1] == "9"
    assert sweep.rows == (("8", "2, 1", "20.00 ± 0.00", "2", "10.00 ± 0.00", "50.00%"),)
    assert "0 of 1 N" in sweep.note
    assert set(thread_sweep.draw_pictures(some)) == {"effective-time"}


def test_every_configuration_finds_what_changed(tmp_path: Path) -> None:
    found = json.loads(
        told("--made", WEB.made, "--pages", 20, "--fetchers", 4, "--comparers", 1, "--rounds", 1,
             "--latency", 0.02, "--out", tmp_path, "--json")
    )  # fmt: skip
    best = found["tables"][0]
    rows = {row[0]: row for row in best["rows"]}
    assert set(rows) == {"1", "2", "3", "adaptive"}
    missed, invented = (best["head"].index(name) for name in ("missed", "invented"))
    assert all((row[missed], row[invented]) == ("0", "0") for row in rows.values())
    assert float(rows["1"][2]) > 20, "one after the other"


def test_mistakes(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="from 1 on"):
        told("--fetchers", "0", "--out", tmp_path)
    with pytest.raises(ConfigError, match="not both"):
        told(tmp_path, "--made", "seed=1", "--out", tmp_path)

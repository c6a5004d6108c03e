"""The papers' experiments, on a small web: sizes, fairness, figures, resuming."""

from __future__ import annotations

import gzip
import json
import math
import random
from dataclasses import replace
from pathlib import Path

import pytest
from bench.papers import iliou_2017, study, xu_2014, zheng_2008
from bench.papers.__main__ import main
from bench.papers.arithmetic import relative_gain
from bench.papers.crawls import StudyDraw, draw_study_topic
from bench.papers.neighbours import PageNeighbourhood, relevant_keys
from bench.papers.study import StudyTable, find_study, run_jobs

from honeyguide.errors import ConfigError
from honeyguide.lab.trials import WebSpec
from honeyguide.lab.web import without_scheme

TOPIC = "backup-and-replication"
OWN = ("backup", "restore", "archive", "replica", "snapshot", "recovery", "dump", "repository")
OTHER = ("bridge", "engine", "copper", "market", "harbour", "ticket", "garden", "kettle")
COMMON = tuple(f"common{n}" for n in range(40))
PAGES = 200


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> WebSpec:
    """200 pages, two in five about backups; like links to like twice out of three times."""
    dice = random.Random(5)
    good = [n % 5 < 2 for n in range(PAGES)]
    path = tmp_path_factory.mktemp("papers") / "small.jsonl.gz"
    with gzip.open(path, "wt") as file:
        for n in range(PAGES):
            same = [m for m in range(PAGES) if good[m] == good[n] and m != n]
            targets = [
                dice.choice(same if dice.random() < 0.67 else range(PAGES)) for _ in range(8)
            ]
            own = OWN if good[n] else OTHER
            text = " ".join(dice.choice(own if dice.random() < 0.2 else COMMON) for _ in range(100))
            links = "".join(
                f'<p>{dice.choice(OWN if good[m] else OTHER)} <a href="/{m}">'
                f"{dice.choice(OWN if good[m] else OTHER)} page</a></p>"
                for m in targets
            )
            html = f"<title>{own[n % 8]} {n}</title><main><p>{text}</p></main>{links}"
            row = {"url": f"http://w.example/{n}", "html": html, "labels": [TOPIC] * good[n]}
            file.write(json.dumps(row) + "\n")
    return WebSpec("small", (str(path),))


def test_labels_below_a_topic_belong_to_it(tmp_path: Path) -> None:
    path = tmp_path / "tree.jsonl.gz"
    with gzip.open(path, "wt") as file:
        for n, label in enumerate(("A.B", "A.B.C", "A.Bee", "A")):
            row = {"url": f"http://w.example/{n}", "html": "<p>x", "labels": [label]}
            file.write(json.dumps(row) + "\n")
    spec = WebSpec("tree", (str(path),))
    assert relevant_keys(spec, ("A.B",)) == {"w.example/0", "w.example/1"}
    assert len(relevant_keys(spec, ("A.Bee", "A.B.C"))) == 2


def test_a_neighbourhood_is_what_good_pages_link_to(web: WebSpec) -> None:
    sources = sorted(relevant_keys(web, (TOPIC,)))[:10]
    near = PageNeighbourhood(web, (TOPIC,), sources, random.Random(1))
    good, bad = near.sample_pages(True, 5), near.sample_pages(False, 5)
    assert [seen.good for seen in (*good, *bad)] == [True] * 5 + [False] * 5
    assert all(without_scheme(seen.link.source or "//") in sources for seen in (*good, *bad))
    aside = {without_scheme(seen.link.url) for seen in good}
    assert not aside & {without_scheme(s.link.url) for s in near.sample_pages(True, 5, aside)}


def test_nothing_is_both_taught_and_tested(web: WebSpec) -> None:
    drawn = iliou_2017.draw_pages(iliou_2017.IliouJob(web, TOPIC, 0))
    taught = {seen.link.url for stage in drawn.stages for seen in stage}
    tested = {seen.link.url for seen in drawn.test}
    assert taught
    assert tested
    assert not taught & tested
    sources = {seen.link.source for stage in drawn.stages for seen in stage}
    assert not sources & {seen.link.source for seen in drawn.test}
    # The paper's proportions: 64 to 46, and eight new good pages to six bad ones.
    first, second, third = ([s.good for s in stage] for stage in drawn.stages)
    assert sum(first) / len(first) == pytest.approx(64 / 110, abs=0.02)
    assert second == third
    assert sum(second) >= len(second) / 2


def test_too_small_a_topic_is_refused(web: WebSpec) -> None:
    with pytest.raises(ConfigError, match="too few pages"):
        iliou_2017.draw_pages(iliou_2017.IliouJob(web, "nothing", 0))
    with pytest.raises(ConfigError, match="only 80 pages"):
        draw_study_topic(StudyDraw(web, (TOPIC,), 0, 1, 80, 10))


def test_interactive_and_automatic_stages(web: WebSpec) -> None:
    outcome = iliou_2017.run_job(iliou_2017.IliouJob(web, TOPIC, 0))
    told, alone = outcome["stages"]["interactive rbf"], outcome["stages"]["automatic rbf"]
    assert told[0] == alone[0]
    for stage, (good, size) in zip(told, outcome["sizes"], strict=False):
        assert stage["added"] == [good, size, size]
    assert all(stage["added"][1] <= outcome["sizes"][1][1] for stage in alone[1:])
    assert iliou_2017.precision_recall_f(told[-1]["page"])[2] > 0.8
    # Half of the topics would be guessed: the words of these links tell them apart.
    assert iliou_2017.precision_recall_f(told[-1]["link"])[2] > 0.7
    again = iliou_2017.run_job(iliou_2017.IliouJob(web, TOPIC, 0, ("linear",)))
    assert again["stages"]["automatic linear"] == outcome["stages"]["automatic linear"]
    tables = iliou_2017.result_tables([outcome])
    assert tables[0].rows[3][:2] == ("paper, automatic", "0.61 / 1.00 / 0.76")
    assert all(len(row) == len(table.head) for table in tables for row in table.rows)


def test_measures() -> None:
    assert iliou_2017.precision_recall_f([20, 25, 23]) == (0.8, 20 / 23, 40 / 48)
    assert iliou_2017.precision_recall_f([0, 0, 23]) == (0.0, 0.0, 0.0)


def test_average_harvest_and_gains() -> None:
    assert zheng_2008.average_harvest([50, 50], 100) == 0.75
    assert zheng_2008.average_harvest([50, 50, 50], 100) == 0.75
    assert zheng_2008.average_harvest([], 100) == 0.0
    found = relative_gain([0.4, 0.6], [0.2, 0.3])
    assert found == pytest.approx((1.0, 1.0, 1.0))
    assert math.isinf(relative_gain([0.4], [0.0]).mean)


def test_the_network_beats_breadth_on_an_easy_web(
    web: WebSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ("ontology_ann", "keyword spotting", "breadth", "true parent")
    some = {name: zheng_2008.CRAWLERS[name] for name in names}
    monkeypatch.setattr(zheng_2008, "CRAWLERS", some)
    outcome = zheng_2008.run_job(zheng_2008.ZhengJob(web, "backup", 0))
    found = outcome["found"]
    ann, breadth = (
        zheng_2008.average_harvest(found[n][0], 150) for n in ("ontology_ann", "breadth")
    )
    assert ann > breadth
    assert outcome["taught"] == [40, 26]
    for everything, new in found.values():
        assert all(a >= b for a, b in zip(everything, new, strict=True))
    tables = zheng_2008.result_tables([outcome])
    assert all(len(row) == len(table.head) for table in tables for row in table.rows)


def test_volumes_leave_out_what_was_given(web: WebSpec) -> None:
    job = xu_2014.XuJob(web, TOPIC, 0, 100, 10, 5, 10, 30, halved=False)
    halved = xu_2014.run_job(replace(job, halved=True))
    outcome = xu_2014.run_job(job)
    assert outcome["examples"] == [10, 30]
    assert halved["examples"] == [5, 15]
    for parts in outcome["parts"].values():
        assert len(parts) == xu_2014.PARTS
        assert all(raw >= gross >= net and all_ >= net for raw, gross, net, all_ in parts)
        assert 0 < sum(part[0] for part in parts) <= 95
    tables = xu_2014.result_tables([outcome, halved])
    assert all(len(row) == len(table.head) for table in tables for row in table.rows)


def test_an_interrupted_study_goes_on(
    web: WebSpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[iliou_2017.IliouJob] = []

    def perform(job: iliou_2017.IliouJob) -> dict[str, int]:
        done.append(job)
        return {"draw": job.draw}

    monkeypatch.setattr(iliou_2017, "run_job", perform)
    jobs = [iliou_2017.IliouJob(web, TOPIC, draw) for draw in range(3)]
    seen: list[tuple[int, int]] = []
    assert run_jobs("000", jobs[:1], tmp_path, workers=1) == [{"draw": 0}]
    with (tmp_path / "000.jsonl").open("a") as file:
        file.write('["half a li')
        file.write("\n")
    found = run_jobs("000", jobs, tmp_path, workers=1, done=lambda n, of: seen.append((n, of)))
    assert found == [{"draw": 0}, {"draw": 1}, {"draw": 2}]
    assert [job.draw for job in done] == [0, 1, 2]
    assert seen == [(1, 3), (2, 3), (3, 3)]


def test_the_command(
    web: WebSpec,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(iliou_2017, "study_web", lambda folder: web)
    monkeypatch.setattr(iliou_2017, "DEMO", (TOPIC,))
    words = ["000", "--results", str(tmp_path / "out"), "--workers", "1"]
    main([*words, "--json"])
    told = capsys.readouterr()
    assert json.loads(told.out)["tables"][0]["rows"][0][0] == "paper, interactive"
    assert "1 of 1" in told.err
    main(words)
    again = capsys.readouterr().out
    assert again.startswith("## Iliou")
    assert "| ours, interactive, rbf |" in again


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["007"], "'000', '001', '004', 'all'"),
        (["001", "{folder}"], "has no wikipedia-schools"),
        (["all"], "where are the recorded webs"),
    ],
)
def test_mistakes_are_told(
    words: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main([word.format(folder=tmp_path) for word in words])
    assert message in capsys.readouterr().err


def test_the_demo_and_its_topics_are_there() -> None:
    assert zheng_2008.DEMO_ONTOLOGY.exists()
    for paper in ("000", "001", "004"):
        jobs = find_study(paper).list_jobs(None, 2)
        assert jobs
        assert len({study._job_key(job) for job in jobs}) == len(jobs)


def test_a_table() -> None:
    table = StudyTable("T", ("a", "b"), (("1", "2"),), "note")
    assert table.to_markdown() == "### T\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n\nnote\n"

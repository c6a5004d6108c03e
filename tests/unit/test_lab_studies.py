"""The papers' experiments, on a small web: sizes, fairness, figures, resuming."""

from __future__ import annotations

import gzip
import json
import math
import os
import random
from dataclasses import astuple, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from honeyguide.api.create import create
from honeyguide.cli.lab import app
from honeyguide.errors import ConfigError
from honeyguide.lab.simulate import simulate_crawl
from honeyguide.lab.studies import (
    hyperlink_selection,
    link_contexts,
    ontology_harvest,
    utility_volumes,
)
from honeyguide.lab.studies.hyperlink_selection import LinkSelectionJob
from honeyguide.lab.studies.ontology_harvest import OntologyJob
from honeyguide.lab.studies.study import (
    StudyTable,
    file_name,
    find_study,
    relative_gain,
    run_jobs,
    study_web,
)
from honeyguide.lab.studies.topic_pages import (
    PageNeighbourhood,
    StudyDraw,
    draw_study_topic,
    relevant_keys,
)
from honeyguide.lab.studies.utility_volumes import (
    PARTS,
    UtilityJob,
    VolumeResult,
    net_volume,
    sample_judged,
    volumes_per_part,
)
from honeyguide.lab.trials import WebSpec, open_web
from honeyguide.lab.web import without_scheme
from honeyguide.store.store import Store
from honeyguide.store.volumes import cumulative_volumes
from honeyguide.types import Label, Url

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
            row = {
                "url": f"http://w.example/{n}",
                "html": html,
                "labels": [TOPIC if good[n] else "garden"],
            }
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
    drawn = hyperlink_selection.draw_pages(LinkSelectionJob(web, TOPIC, 0))
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
        hyperlink_selection.draw_pages(LinkSelectionJob(web, "nothing", 0))
    with pytest.raises(ConfigError, match="only 80 pages"):
        draw_study_topic(StudyDraw(web, (TOPIC,), 0, 1, 80, 10))


@pytest.fixture(scope="module")
def selection(web: WebSpec) -> dict[str, Any]:
    return hyperlink_selection.run_job(LinkSelectionJob(web, TOPIC, 0, then="garden"))


def last_f(counts: list[int]) -> float:
    return hyperlink_selection.precision_recall_f(counts)[2]


def test_interactive_and_automatic_stages(web: WebSpec, selection: dict[str, Any]) -> None:
    told, alone = selection["stages"]["interactive rbf"], selection["stages"]["automatic rbf"]
    assert told[0] == alone[0]
    for stage, (good, size) in zip(told, selection["sizes"], strict=False):
        assert stage["added"] == [good, size, size]
    assert all(stage["added"][1] <= selection["sizes"][1][1] for stage in alone[1:])
    assert last_f(told[-1]["page"]) > 0.8
    # Half of the topics would be guessed: the words of these links tell them apart.
    assert last_f(told[-1]["link"]) > 0.7
    again = hyperlink_selection.run_job(LinkSelectionJob(web, TOPIC, 0, kernels=("linear",)))
    assert again["stages"]["automatic linear"] == selection["stages"]["automatic linear"]


def test_hyperlink_selection_is_what_is_told_first(selection: dict[str, Any]) -> None:
    tables = hyperlink_selection.result_tables([selection])
    assert "Hyperlink selection" in tables[0].title
    assert tables[0].rows[3][:2] == ("paper, automatic", "0.61 / 1.00 / 0.76")
    assert tables[0].rows[-1][0] == "to accept every link"
    assert all(len(row) == len(table.head) for table in tables for row in table.rows)
    assert [name for name, *_ in tables[1].rows[1:]] == list(hyperlink_selection.WAYS)
    pictures = hyperlink_selection.draw_pictures([selection])
    assert {"selection", "change"} == set(pictures)
    assert "paper, interactive" in pictures["selection"]


def test_a_way_as_published_is_the_product_itself(selection: dict[str, Any]) -> None:
    told = selection["stages"]["interactive linear"][-1]["link"]
    assert selection["ways"]["as published"] == told


def test_a_topic_that_changes_is_learned_anew(selection: dict[str, Any]) -> None:
    change = selection["change"]
    assert {len(batches) for batches in change.values()} == {5}
    before, after = (last_f(change["interactive"][n]) for n in (0, -1))
    assert last_f(change["static"][-1]) == before
    assert after > before


def test_all_links_to_a_page_are_read_and_no_page_twice(web: WebSpec) -> None:
    drawn = hyperlink_selection.draw_pages(LinkSelectionJob(web, TOPIC, 0))
    some = drawn.test[:5]
    reader = link_contexts.StudyPageReader(web)
    places = link_contexts.find_link_places(reader, some, drawn.sides[1])
    for seen in some:
        of_it = places[seen.link.url]
        assert of_it[0].link == seen.link
        assert len({link.source for link, _ in of_it}) == len(of_it)
        assert all(without_scheme(link.source or "") in drawn.sides[1] for link, _ in of_it)
        wide = link_contexts.read_link_words(seen.link, of_it, frozenset({"wide"}))
        narrow = link_contexts.read_link_words(seen.link, of_it, frozenset())
        assert wide.startswith(narrow)
        assert len(wide) > len(narrow)


def test_measures() -> None:
    assert hyperlink_selection.precision_recall_f([20, 25, 23]) == (0.8, 20 / 23, 40 / 48)
    assert hyperlink_selection.precision_recall_f([0, 0, 23]) == (0.0, 0.0, 0.0)


def test_average_harvest_and_gains() -> None:
    assert ontology_harvest.average_harvest([50, 50], 100) == 0.75
    assert ontology_harvest.average_harvest([50, 50, 50], 100) == 0.75
    assert ontology_harvest.average_harvest([], 100) == 0.0
    found = relative_gain([0.4, 0.6], [0.2, 0.3])
    assert found == pytest.approx((1.0, 1.0, 1.0))
    assert math.isinf(relative_gain([0.4], [0.0]).mean)


def test_the_network_beats_breadth_on_an_easy_web(
    web: WebSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ("ontology_ann", "keyword spotting", "breadth", "true parent")
    some = {name: ontology_harvest.CRAWLERS[name] for name in names}
    monkeypatch.setattr(ontology_harvest, "CRAWLERS", some)
    outcome = ontology_harvest.run_job(OntologyJob(web, ontology_harvest.DEMO, 0))
    found = outcome["found"]
    ann, breadth = (
        ontology_harvest.average_harvest(found[n][0], 150) for n in ("ontology_ann", "breadth")
    )
    assert ann > breadth
    assert outcome["taught"] == [40, 26]
    for everything, new in found.values():
        assert all(a >= b for a, b in zip(everything, new, strict=True))
    tables = ontology_harvest.result_tables([outcome])
    assert all(len(row) == len(table.head) for table in tables for row in table.rows)


def test_volumes_leave_out_what_was_given(web: WebSpec) -> None:
    job = UtilityJob(web, TOPIC, 0, 60, 5, 10, 30, halved=False)
    halved = utility_volumes.run_job(replace(job, halved=True))
    outcome = utility_volumes.run_job(job)
    assert outcome["examples"] == [10, 30]
    assert halved["examples"] == [5, 15]
    for found in outcome["results"].values():
        assert 0 < len(found) <= 55
        assert all(0 <= place < 60 for place, _, _ in found)
    plain, engine = (outcome["results"][f"user_utility, {n}"] for n in ("links only", "engine"))
    assert plain != engine, "results of the engine are visited as well"
    tables = utility_volumes.result_tables([outcome, halved])
    assert all(len(row) == len(table.head) for table in tables for row in table.rows)
    assert len(utility_volumes.draw_pictures([outcome, halved])) == 4


def test_volumes_part_by_part() -> None:
    found = [
        VolumeResult(3, True, True),
        VolumeResult(9, False, True),
        VolumeResult(25, True, False),
        VolumeResult(99, True, None),
        VolumeResult(140, True, True),
    ]
    parts = volumes_per_part(found, 100)
    assert [astuple(part) for part in parts] == [
        (20, 2, 1, 1, 1),
        (40, 1, 1, 1, 0),
        (60, 0, 0, 0, 0),
        (80, 0, 0, 0, 0),
        (100, 2, 2, 1, 1),
    ]
    assert [part.precision for part in parts] == [1.0, 0.0, None, None, 1.0]
    so_far = cumulative_volumes(parts)
    assert net_volume(so_far[-1]) == pytest.approx(4 * 2 / 3), (
        "two of three judged results are relevant"
    )


def test_one_of_every_so_many_results_is_judged() -> None:
    found = [VolumeResult(float(n), n % 2 == 0, n % 4 == 0) for n in range(400)]
    judged = [r for r in sample_judged(found, 50) if r.net is not None]
    assert len(judged) == 4
    assert all(r.gross for r in judged)
    assert len(sample_judged(found, 50)) == len(found), "raw volume stays"


@given(
    st.lists(
        st.builds(
            VolumeResult, st.floats(0, 1e5), st.booleans(), st.one_of(st.none(), st.booleans())
        )
    ),
    st.floats(10, 1e4),
)
def test_net_is_never_more_than_gross_nor_gross_than_raw(
    found: list[VolumeResult], budget: float
) -> None:
    parts = volumes_per_part(found, budget)
    so_far = cumulative_volumes(parts)
    assert len(parts) == PARTS
    for volume in (*parts, *so_far):
        assert volume.raw >= volume.gross >= volume.judged >= volume.confirmed >= 0
        assert volume.gross >= net_volume(volume) >= 0
    assert so_far[-1].raw == len(found)


def test_an_interrupted_study_goes_on(web: WebSpec, tmp_path: Path) -> None:
    done: list[LinkSelectionJob] = []

    def perform(job: LinkSelectionJob) -> dict[str, int]:
        done.append(job)
        return {"draw": job.draw}

    jobs = [LinkSelectionJob(web, TOPIC, draw) for draw in range(3)]
    seen: list[tuple[int, int]] = []
    assert run_jobs(perform, jobs[:1], tmp_path, name="000", workers=1) == [{"draw": 0}]
    with (tmp_path / "000.jsonl").open("a") as file:
        file.write('["half a li')
        file.write("\n")
    found = run_jobs(
        perform, jobs, tmp_path, name="000", workers=1, done=lambda n, of: seen.append((n, of))
    )
    assert found == [{"draw": 0}, {"draw": 1}, {"draw": 2}]
    assert [job.draw for job in done] == [0, 1, 2]
    assert seen == [(1, 3), (2, 3), (3, 3)]


# --------------------------------------------------------------------------------------------------
# The commands, and a user's own pages.
# --------------------------------------------------------------------------------------------------


def told(*words: object) -> str:
    done = CliRunner().invoke(app, ["study", *map(str, words)])
    if done.exception and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == 0, done.output
    return done.stdout


def test_the_paper_of_links_by_command(web: WebSpec, tmp_path: Path) -> None:
    out = tmp_path / "out"
    words = ("000", web.files[0], "-t", TOPIC, "--train", "20/14", "--test", "8/6",
             "--stages", "50/100", "--workers", 1, "--out", out)  # fmt: skip
    found = json.loads(told(*words, "--json"))
    assert found["tables"][0]["head"][1:3] == ["50 %: P / R / F", "100 %: P / R / F"]
    assert "paper" not in found["tables"][0]["rows"][0][0], "its stages are others"
    again = told(*words)
    assert again.startswith("## Iliou")
    assert "| ours, interactive, rbf |" in again
    assert {"000.jsonl", "report.md", "summary.json", "selection.svg"} == {
        path.name for path in out.iterdir()
    }
    assert len((out / "000.jsonl").read_text().splitlines()) == 1, "kept, not done again"


def test_a_split_of_ones_own(web: WebSpec, tmp_path: Path) -> None:
    drawn = hyperlink_selection.draw_pages(LinkSelectionJob(web, TOPIC, 0))
    parts = {"1": drawn.stages[0], "2": drawn.stages[1], "test": drawn.test}
    file = tmp_path / "split.jsonl"
    rows = [{"url": s.link.url, "labels": [name]} for name, some in parts.items() for s in some]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    job = LinkSelectionJob(web, TOPIC, 0, stages=(50, 100), split=str(file))
    own = hyperlink_selection.draw_pages(job)
    for some, name in ((own.stages[0], "1"), (own.stages[1], "2"), (own.test, "test")):
        assert {seen.link.url for seen in some} == {seen.link.url for seen in parts[name]}
    file.write_text(json.dumps(rows[0]) + "\n")
    with pytest.raises(ConfigError, match="--split: part test needs"):
        hyperlink_selection.draw_pages(job)


def test_labels_of_ones_own_replace_those_of_the_pages(web: WebSpec, tmp_path: Path) -> None:
    labels = {f"http://w.example/{n}": ("relevant", "other")[n % 2] for n in range(10)}
    own = study_web([Path(web.files[0])], labels, tmp_path / "out", WebSpec(""))
    assert relevant_keys(own, ("relevant",)) == {f"w.example/{n}" for n in range(0, 10, 2)}
    assert not relevant_keys(own, (TOPIC,))
    near = PageNeighbourhood(own, ("relevant",), [f"w.example/{n}" for n in range(200)],
                             random.Random(1))  # fmt: skip
    bad = {seen.link.url for seen in near.sample_pages(False, 100)}
    assert bad <= {f"http://w.example/{n}" for n in range(1, 10, 2)}, "others are not known"


def test_a_collection_is_a_web_with_its_users_labels(web: WebSpec, tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    made = create(
        folder,
        seeds=["http://w.example/0"],
        keywords=["backup"],
        strategy="breadth",
        pages=8,
        contact="https://example.org/lab",
        fetch={"lab": "http://127.0.0.1:1"},
        store={"min_free_mb": 0},
    )
    simulate_crawl(folder, made.settings, open_web(web).responder.fresh_copy())
    with Store.open(folder, "write") as store:
        url = next(store.visits.iter_visits(page=True)).url
        store.labels.add([Label(Url(url), 1.0)])
        other = next(row.url for row in store.visits.iter_visits(page=True) if row.url != url)
        store.labels.add([Label(Url(other), 0.9, "model:wise")])  # no truth to be measured by
    # The collection may be a stranger's.
    os.mkfifo(folder / "warc" / "pipe.warc.gz")
    (folder / "warc" / "link.warc.gz").symlink_to("/dev/zero")
    own = study_web([folder], {}, tmp_path / "out", WebSpec(""))
    assert len([name for name in own.files if name.endswith(".warc.gz")]) == 1
    assert relevant_keys(own, ("relevant",)) == {without_scheme(url)}
    assert own.name == "mine"
    assert len(open_web(own).responder.web) > 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["000", "{web}"], "which topic"),
        (["000", "{folder}"], "neither a recorded web"),
        (["000", "{web}", "-t", "nothing"], "too few pages"),
        (["000", "--train", "many"], "whole numbers"),
        (["000", "--train", "5"], "two numbers"),
        (["000", "--stages", "90/80"], "must grow"),
        (["000", "--split", "{folder}/none"], "no file"),
        (["001", "{web}", "-t", TOPIC], "which ontology"),
        (["001", "--concept", "cell"], "belong together"),
        (["003", "--test", "{web}"], "name both"),
        (["003", "{web}", "--test", "{web}", "--embedding", "{folder}/none"], "no file or folder"),
    ],
)
def test_mistakes_are_told(words: list[str], message: str, web: WebSpec, tmp_path: Path) -> None:
    said = [word.format(folder=tmp_path, web=web.files[0]) for word in words]
    with pytest.raises(ConfigError, match=message):
        told(*said, "--out", tmp_path / "out", "--workers", 1)
    with pytest.raises(ConfigError, match="choose one of 000"):
        find_study("007")


def test_a_table() -> None:
    table = StudyTable("T", ("a", "b"), (("1", "2"),), "note")
    assert table.to_markdown() == "### T\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n\nnote\n"


# --------------------------------------------------------------------------------------------------
# Each study on the embedded web, small.
# --------------------------------------------------------------------------------------------------


def test_links_of_the_demo_web(tmp_path: Path) -> None:
    found = told("000", "-t", "full-text-search", "--train", "20/14", "--test", "9/7",
                 "--workers", 1, "--out", tmp_path)  # fmt: skip
    assert "paper, interactive | 0.61 / 1.00 / 0.76" in found


def test_an_ontology_on_the_demo_web(tmp_path: Path) -> None:
    found = json.loads(told("001", "-n", 50, "--workers", 1, "--out", tmp_path, "--json"))
    rows = {row[0]: row for row in found["tables"][0]["rows"]}
    assert rows["ontology_weights"][-1] == "+41.6 %, +19.2 %"
    assert (tmp_path / "harvest-backup.svg").exists()


def test_categories_of_the_demo_web(tmp_path: Path) -> None:
    found = json.loads(
        told("003", "--repeats", 2, "--epochs", 1, "--workers", 1, "--out", tmp_path, "--json")
    )
    table = found["tables"][0]
    figures = {row[0]: row[1] for row in table["rows"]}
    assert float(figures["linear"].split(" ± ")[0]) > 0.7
    assert figures["linear"].endswith("± 0.0000")
    assert "tested on 172 others" in table["note"]


def test_volumes_on_the_demo_web(tmp_path: Path) -> None:
    found = told("004", "-n", 25, "--good", 4, "--bad", 12, "--seeds", 2, "--workers", 1,
                 "--out", tmp_path)  # fmt: skip
    assert "| user_utility, engine |" in found
    assert "| adaptive_links, url |" in found
    assert (tmp_path / "precision-few.svg").exists()


def test_a_long_label_makes_no_long_name_of_a_file() -> None:
    assert len(file_name("é" * 5_000).encode()) <= 200
    assert "/" not in file_name("../../etc")

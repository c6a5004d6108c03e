"""Long calls from Python: inside event loops, awaited, interrupted, with progress; as frames."""

from __future__ import annotations

import asyncio
import os
import pty
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import honeyguide
from honeyguide.api.collection import Collection
from honeyguide.api.search import ManualSearch
from honeyguide.errors import ConfigError, StoreError
from honeyguide.run_status import Progress
from tests.end_to_end.crawling import collection
from tests.end_to_end.test_watch import Web, article
from tests.site.server import Site
from tests.site.web import BEES, weave
from tests.unit.labelled import rows

RUN = """
import asyncio, sys, honeyguide
bees = honeyguide.Collection(sys.argv[1])
async def main():
    print("READY", flush=True)
    report = {call}
    print("END", report.reason, bees.status().crawler_pid)
asyncio.run(main())
"""


def bees_of(site: Site, tmp_path: Path, pages: int = 12, **tables: Any) -> Collection:
    web = weave(site, site.addresses[:2], pages=pages)
    return collection(tmp_path / "bees", [web.urls[0]], **tables)


def is_under_way(bees: Collection) -> bool:
    return (bees.folder / "live.json").exists() and bees.status().visits > 0


def test_only_public_names_show() -> None:
    assert dir(honeyguide) == sorted(honeyguide.__all__)
    assert all(getattr(honeyguide, name) is not None for name in dir(honeyguide))
    assert "os" not in dir(honeyguide)


def test_a_crawl_in_a_running_loop(site: Site, tmp_path: Path) -> None:
    bees = bees_of(site, tmp_path)

    async def notebook_cell() -> int:
        return bees.crawl(pages=10).progress.visits

    assert asyncio.run(notebook_cell()) >= 10
    assert "Stopped: " in repr(bees.crawl())


def test_an_awaited_crawl_leaves_the_loop_free(site: Site, tmp_path: Path) -> None:
    bees = bees_of(site, tmp_path)
    seen: list[Progress] = []

    async def program() -> tuple[int, int]:
        crawl = asyncio.create_task(bees.crawl_async(progress=seen.append))
        ticks = 0
        while not crawl.done():
            await asyncio.sleep(0.005)
            ticks += 1
        return (await crawl).progress.visits, ticks

    visits, ticks = asyncio.run(program())
    assert visits == 24
    assert ticks > 5
    assert seen[0].visits < 24


def test_two_awaited_crawls_at_once(site: Site, tmp_path: Path) -> None:
    web = weave(site, site.addresses[:2], pages=6)
    both = [collection(tmp_path / name, [web.urls[0]]) for name in ("one", "other")]

    async def program() -> list[int]:
        reports = await asyncio.gather(*(each.crawl_async() for each in both))
        return [report.progress.visits for report in reports]

    assert asyncio.run(program()) == [12, 12]


def test_who_cancels_an_awaited_crawl_stops_it_cleanly(site: Site, tmp_path: Path) -> None:
    bees = bees_of(site, tmp_path, 200, politeness={"loopback_delay_s": 0.05})

    async def program() -> None:
        crawl = asyncio.create_task(bees.crawl_async())
        while not is_under_way(bees):
            await asyncio.sleep(0.05)
        crawl.cancel()
        with pytest.raises(asyncio.CancelledError):
            await crawl

    asyncio.run(program())
    status = bees.status()
    assert 0 < status.visits < 200
    assert status.crawler_pid is None, "the collection is closed"
    assert bees.crawl(pages=status.visits + 5).progress.visits >= status.visits + 5


@pytest.mark.parametrize("call", ["bees.crawl()", "await bees.crawl_async()"])
def test_ctrl_c_in_a_running_loop(call: str, site: Site, tmp_path: Path) -> None:
    bees = bees_of(site, tmp_path, 300, politeness={"loopback_delay_s": 0.05})
    process = subprocess.Popen(
        [sys.executable, "-c", RUN.replace("{call}", call), str(bees.folder)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    end = time.monotonic() + 30
    while not is_under_way(bees):
        assert time.monotonic() < end
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    if call.startswith("await"):
        assert "KeyboardInterrupt" in err, "asyncio cancels what is awaited, as in any program"
    else:
        assert "END you asked for it" in out, err
        assert out.endswith("None\n")
    assert 0 < bees.status().visits < 300
    assert bees.status().crawler_pid is None


def test_a_bar_in_a_terminal(site: Site, tmp_path: Path) -> None:
    bees = bees_of(site, tmp_path)
    main, terminal = pty.openpty()
    code = "import sys, honeyguide; honeyguide.Collection(sys.argv[1]).crawl(pages=20)"
    environment = os.environ | {"TERM": "xterm", "COLUMNS": "120"}
    process = subprocess.Popen(
        [sys.executable, "-c", code, bees.folder], stderr=terminal, env=environment
    )
    os.close(terminal)
    shown = b""
    while True:
        try:
            shown += os.read(main, 4096)
        except OSError:  # the terminal's other end is closed
            break
    os.close(main)
    assert process.wait(30) == 0
    assert b"bees" in shown
    assert "relevant (harvest" in shown.decode("utf-8", "replace")


def test_progress_where_nobody_looks_on(
    site: Site, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    bees = bees_of(site, tmp_path)
    bees.crawl(pages=3)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr("honeyguide.api.long_calls._LOG_INTERVAL_S", 0.0)
    bees.crawl(pages=20, progress=True)
    assert "bees: " in capsys.readouterr().err


def test_a_crawl_with_shards(site: Site, tmp_path: Path) -> None:
    bees = bees_of(site, tmp_path)
    assert bees.crawl(shards=2).progress.visits == 24
    assert bees.shards == 2
    assert bees.crawl().progress.visits == 24, "as many as before"
    assert bees.shards == 2
    bees.crawl(shards=1)
    assert bees.shards == 1
    with pytest.raises(ConfigError, match="add --cluster"):
        bees.crawl(vault="somewhere")


def test_tables_and_frames(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bees = bees_of(site, tmp_path)
    bees.crawl()
    first = next(bees.pages())
    bees.label(first.url, 1.0, by="ada")
    pages = bees.pages(relevant=None)
    frame = pages.to_pandas()
    assert len(frame) == len(list(pages)) == 24
    assert frame["label"].notna().sum() == 1
    assert frame["at"].dt.tz is not None
    assert "text" not in frame
    assert BEES[0] in " ".join(bees.pages(text=True).to_frame()["text"])
    assert pages.to_polars().height == 24
    assert bees.labels().to_polars()["by"].to_list() == ["ada"]
    assert bees.labels(first.url)[""].value == 1.0
    assert bees.changes().to_pandas()["significance"].empty
    assert bees.changes().to_polars().is_empty()
    assert repr(bees.changes()).endswith("none")
    shown = repr(pages).splitlines()
    assert shown[0] == "bees: pages"
    assert shown[1].split() == ["verdict", "relevant", "label", "title", "url"]
    assert shown[-1] == "…"
    assert first.url in pages._repr_html_()
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ConfigError, match="pip install pandas"):
        pages.to_frame()


def test_what_pages_say_cannot_steer_what_is_shown(site: Site, tmp_path: Path) -> None:
    sly = "\x1b[2Jbee<script>alert(1)</script>"
    site.pages(site.addresses[0], {"/": f"<title>{sly.replace('<', '&lt;')}</title><p>honey bee"})
    bees = collection(tmp_path / "bees", [site.url(site.addresses[0], "/")])
    bees.crawl()
    pages = bees.pages(relevant=None)
    assert "\x1b" not in repr(pages)
    assert "<script" not in pages._repr_html_()


def test_the_harvest(site: Site, tmp_path: Path) -> None:
    bees = bees_of(site, tmp_path)
    bees.crawl()
    found = bees.status()
    curve = bees.harvest()
    assert list(curve)[-1] == (found.visits, found.relevant)
    assert curve.to_pandas()["relevant"].is_monotonic_increasing
    drawn = bees.plot_harvest(tmp_path / "new" / "harvest.svg")
    assert drawn.read_text().startswith("<svg")
    axes = bees.plot_harvest()
    assert axes.lines[0].get_xdata()[-1] == found.visits


def test_learning_outside_a_crawl(site: Site, tmp_path: Path) -> None:
    bees = bees_of(site, tmp_path, strategy="hybrid_svm", learn={"teacher": "interactive"})
    bees.crawl(pages=15)
    before = bees.generations()[-1].generation.number
    assert bees.learn().generation is None, "there is no label yet"
    pages = list(bees.pages(relevant=None))
    good = [(page.url, float("bee" in bees.text(page))) for page in pages]
    bees.label_all(good)
    steps: list[str] = []
    done = bees.learn(progress=steps.append)
    assert done.live
    assert done.generation == before + 1
    assert "examples" in done.note
    assert steps[:2] == ["reading pages and labels", f"learning from {len(good)} labels"]
    assert bees.generations()[-1].live
    again = bees.learn()
    assert (again.generation, again.live) == (None, False)
    judged = bees.judge()
    assert judged.generation == done.generation
    bees.crawl()
    made = {row.generation for row in bees.pages(relevant=None)}
    assert done.generation in made, "the next crawl goes on with it"


def test_when_there_is_nothing_to_learn_with(site: Site, tmp_path: Path) -> None:
    bees = bees_of(site, tmp_path, strategy="breadth")
    with pytest.raises(ConfigError, match="'breadth' does not learn"):
        bees.learn()


def test_who_learns_must_be_alone(site: Site, tmp_path: Path) -> None:
    bees = bees_of(
        site, tmp_path, 300, strategy="hybrid_svm", politeness={"loopback_delay_s": 0.05}
    )

    async def program() -> None:
        crawl = asyncio.create_task(bees.crawl_async())
        while not is_under_way(bees):
            await asyncio.sleep(0.02)
        with pytest.raises(StoreError, match="is being crawled by process"):
            await bees.learn_async()
        crawl.cancel()
        await asyncio.wait([crawl])

    asyncio.run(program())


def test_the_watch_and_its_list(site: Site, tmp_path: Path) -> None:
    web = Web(site)
    bees = collection(
        tmp_path / "bees",
        [web.url("/p0")],
        watch={"second_look_s": 0.05, "shortest_s": 0.0, "requests_per_hour": 1e6},
    )
    watched = bees.watch_list
    assert watched.count_watched() == 0, "before any crawl"
    assert watched.add(web.url("/p1"), web.url("/p2")) == 2
    assert watched.pause(web.url("/p2")) == 1
    assert (watched.resume(web.url("/p2")), watched.set_weight(3.0, web.url("/p2"))) == (1, 1)
    lists = tmp_path / "list.txt"
    lists.write_text(web.url("/p3") + "\n")
    assert watched.import_file(lists).added == 1
    assert bees.watch(once=True).visits >= 3
    web.bodies["/p1"] = article(1, "<p>A swarm of honey bees left the hive in May.</p>")
    told = asyncio.run(bees.watch_async(once=True))
    assert told.changes == 1
    (change,) = bees.changes(since="1h", kinds=["content"])
    assert change.change.url == web.url("/p1")
    frame = bees.changes().to_pandas()
    assert list(frame["kinds"].str.contains("content")) == [True]
    assert frame["at"][0] <= datetime.now(UTC)
    assert not list(bees.changes(since=datetime(2100, 1, 1, tzinfo=UTC)))
    assert {row.url: row.weight for row in watched}[web.url("/p2")] == 3.0
    assert "rate" in watched.to_polars().columns
    (planned,) = watched.explain(web.url("/p2"))
    assert planned.visit is not None
    assert planned.page.visits >= 2
    (place,) = watched.masks(web.url("/p1")).masks
    assert watched.unmask(web.url("/p1"), place.mask).opened == (place.mask,)
    assert watched.mask(web.url("/p1"), place.mask).masks[0].by == "person"
    assert watched.remove(web.url("/p2")) == 1
    with pytest.raises(ConfigError, match="none of"):
        bees.changes(kinds=["everything"])
    with pytest.raises(ConfigError, match="not a time span"):
        bees.changes(since="soon")


def test_a_watch_that_is_cancelled(site: Site, tmp_path: Path) -> None:
    web = Web(site)
    bees = collection(tmp_path / "bees", [web.url("/p0")], watch={"second_look_s": 0.05})
    bees.watch_list.add(web.url("/p0"))

    async def program() -> None:
        watch = asyncio.create_task(bees.watch_async())
        while not next(bees.watch_list).visits:
            await asyncio.sleep(0.05)
        watch.cancel()
        with pytest.raises(asyncio.CancelledError):
            await watch

    asyncio.run(program())
    assert bees.watch(once=True).visits, "the collection is closed"


def test_searching_needs_an_engine(site: Site, tmp_path: Path) -> None:
    bees = bees_of(site, tmp_path)
    assert bees.queries().engine == ""
    assert "honey" in str(bees.suggest_queries(1).suggestions[0].query)

    async def program() -> ManualSearch:
        return await bees.search_async("honey bee")

    with pytest.raises(ConfigError, match="no search engine is set"):
        asyncio.run(program())


def test_a_model_from_labelled_texts(tmp_path: Path) -> None:
    folder = tmp_path / "labelled"
    for number, (said, label) in enumerate(rows(10)):
        (folder / label).mkdir(parents=True, exist_ok=True)
        (folder / label / f"{number}.txt").write_text(said)
    steps: list[tuple[str, float]] = []
    made = honeyguide.train(
        folder, tmp_path / "model", kind="linear", folds=2, progress=steps.append
    )
    assert made.figures["linear"].accuracy > 0.9
    assert steps[-1][0] == "linear, from everything"

    async def cancelled() -> None:
        stopped = asyncio.Event()
        loop = asyncio.get_running_loop()

        def note(_: object) -> None:
            loop.call_soon_threadsafe(stopped.set)

        training = asyncio.create_task(
            honeyguide.train_async(folder, tmp_path / "other", folds=5, progress=note)
        )
        await stopped.wait()
        training.cancel()
        with pytest.raises(asyncio.CancelledError):
            await training

    asyncio.run(cancelled())
    assert not (tmp_path / "other").exists(), "what was broken off leaves no trace"


def test_an_error_is_not_told_as_that_of_an_event_loop(tmp_path: Path) -> None:
    bees = collection(tmp_path / "bees", ["http://e.org/"])
    with pytest.raises(ConfigError) as caught:
        bees.crawl(pages=-1)
    assert caught.value.__context__ is None

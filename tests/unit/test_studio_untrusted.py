"""Collections and uploads from strangers: one that is bad spoils nothing but itself."""

from __future__ import annotations

import base64
import json
import os
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

import msgspec
import pytest

from honeyguide.api.user_urls import parse_seed_url
from honeyguide.config.loading import load_settings
from honeyguide.crawl import live_status
from honeyguide.errors import ConfigError
from honeyguide.studio import collection, monitoring, page, routes
from honeyguide.studio.collection import ExportQuery, VisitsQuery
from honeyguide.studio.page import PageViewQuery
from honeyguide.studio.runs import StudioRuns
from honeyguide.text.ontology.load import load_ontology as load_ontology
from tests.unit.store_visits import good
from tests.unit.studio_client import Client
from tests.unit.studio_here import TOPIC, here, keep

CONTACT = '[fetch]\ncontact = "a@example.org"\n'


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    found = Client(tmp_path, (sys.executable, "-c", "raise SystemExit('no crawl here')"))
    for name in ("birds", "bad"):
        keep(tmp_path / name, [good(1)])
    yield found
    found.close()


def problems(client: Client) -> dict[str, str]:
    answer = client.get("/api/collections")
    assert answer.status == 200
    return {row["name"]: row["problem"] for row in answer.json}


def deep(folder: Path) -> None:
    (folder / "topic.toml").write_text("a=" + "[" * 100_000)


def dotted(folder: Path) -> None:
    (folder / "topic.toml").write_text("strategy = {a" + ".a" * 400_000 + " = 1}")


def quoted(folder: Path) -> None:
    (folder / "topic.toml").write_text(r'"\""' + r'."\""' * 100_000 + " = 1")


def endless(folder: Path) -> None:
    with (folder / "topic.toml").open("wb") as file:
        file.truncate(10**9)


def long_name(folder: Path) -> None:
    said = f'ontology = "{"x" * 300}"\nmodel = "{"y" * 300}/z"\n'
    (folder / "topic.toml").write_text(TOPIC + said + CONTACT)


def piped_lock(folder: Path) -> None:
    (folder / "lock").unlink(missing_ok=True)
    os.mkfifo(folder / "lock")


def odd_toml(folder: Path) -> None:
    (folder / "topic.toml").rename(folder / "real.toml")
    (folder / "topic.toml").symlink_to(folder / "real.toml")


@pytest.mark.parametrize("harm", [deep, dotted, quoted, endless, piped_lock, odd_toml])
def test_one_bad_folder_is_one_bad_row(client: Client, harm: object) -> None:
    assert callable(harm)
    harm(client.root / "bad")
    began = time.monotonic()
    found = problems(client)
    assert found["birds"] == ""
    assert found["bad"]
    assert client.get("/metrics").status == 200
    assert 'collection="birds"' in client.get("/metrics").body.decode()
    assert client.get("/api/choices").json["contact"] == "a@example.org"
    assert time.monotonic() - began < 30


def test_names_that_no_file_can_have(client: Client) -> None:
    long_name(client.root / "bad")
    assert problems(client)["birds"] == ""
    assert load_settings(client.root / "bad" / "topic.toml").topic.ontology == "x" * 300
    with pytest.raises(ConfigError, match="not an http"):
        parse_seed_url("x" * 300)


def test_settings_that_are_a_pipe_or_a_folder(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for name in ("pipe", "folder"):
        with pytest.raises(ConfigError, match="not a plain file"):
            load_settings(tmp_path / name)


def test_long_but_honest_settings_are_read(tmp_path: Path) -> None:
    seeds = ", ".join(f'"https://www.a{n}.example.org/b.c/d.html"' for n in range(5_000))
    said = f"[topic]\nseeds = [{seeds}]\n{CONTACT}"
    (tmp_path / "topic.toml").write_bytes(said.replace("\n", "\r\n").encode())
    assert len(load_settings(tmp_path / "topic.toml").topic.seeds) == 5_000


def test_no_module_is_taken_from_the_folder_that_we_stand_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "birds").mkdir()
    (tmp_path / "typer.py").write_text("open('ran', 'w').close()")
    monkeypatch.chdir(tmp_path)
    runs = StudioRuns(Path())
    runs.start(Path("birds"), "crawl")
    while runs.run_state(Path("birds")).state in ("running", "elsewhere"):
        time.sleep(0.02)
    assert runs.run_state(Path("birds")).state == "failed"
    assert not (tmp_path / "ran").exists()


def test_every_process_of_ours_is_started_so() -> None:
    source = Path(routes.__file__).parent.parent
    for file in source.rglob("*.py"):
        text = file.read_text()
        assert text.count('sys.executable, "-m"') == 0, file


@pytest.mark.parametrize("words", ["-1", "-honey -bee", '"…"'])
def test_words_that_find_nothing_are_told_before_the_file_begins(
    client: Client, words: str
) -> None:
    answer = client.get(f"/api/c/birds/export?words={quote(words)}")
    assert answer.status == 400
    assert "at least one word" in answer.json["error"]


def test_nothing_to_export(client: Client) -> None:
    (client.root / "birds" / "collection.db").unlink()
    assert client.get("/api/c/birds/export").status == 409


def test_texts_of_any_size_are_shown_short(tmp_path: Path) -> None:
    folder = keep(tmp_path / "bees", [good(1), good(2)])
    with closing(sqlite3.connect(folder / "collection.db")) as db:
        for name in ("title", "description", "anchor", "before", "after", "detail", "language"):
            db.execute(f"UPDATE visits SET {name} = replace(hex(zeroblob(1000000)), '00', 'x y')")
        db.execute("UPDATE visits SET failure = replace(hex(zeroblob(1000000)), '00', 'f')")
        db.execute("UPDATE hosts SET name = replace(hex(zeroblob(1000000)), '00', 'h') || id")
        db.execute(
            "INSERT INTO counters SELECT 'failure', 'odd' || value, 5 FROM "
            "json_each('[' || substr(replace(hex(zeroblob(50000)), '00', ',1'), 2) || ']')"
            " WHERE true ON CONFLICT DO NOTHING"
        )
        db.commit()
    known = here(folder)
    answers = (
        collection.list_visits(known, VisitsQuery(kind="all")),
        collection.filter_choices(known),
        page.page_view(known, PageViewQuery(visit=1)),
        monitoring.live_view(known),
    )
    sizes = [len(msgspec.json.encode(said)) for said in answers]
    chunks = collection.export_selection(known, ExportQuery(kind="all")).chunks
    assert isinstance(chunks, Iterator)
    assert sum(map(len, chunks)) < 2_500_000
    known.shared.close()
    assert max(sizes) < 30_000, sizes


def test_an_address_without_end_is_none(tmp_path: Path) -> None:
    folder = keep(tmp_path / "bees", [good(1), good(2)])
    with closing(sqlite3.connect(folder / "collection.db")) as db:
        db.execute("UPDATE visits SET url = url || hex(zeroblob(1000000)) WHERE id = 1")
        db.commit()
    known = here(folder)
    assert [row.visit for row in collection.list_visits(known, VisitsQuery(kind="all")).rows] == [2]
    known.shared.close()


@pytest.mark.parametrize(
    ("where", "what"),
    [("scores", 0), ("most", {"host": "a", "waiting": 1, "state": ""}),
     ("top", {"url": "http://a/", "anchor": "", "score": 1})],
)  # fmt: skip
def test_a_glimpse_with_endless_lists_is_none(tmp_path: Path, where: str, what: object) -> None:
    said = {"at": 1.0, "pid": 1, "began": 0.0, "frontier": {where: [what] * 2}}
    (tmp_path / live_status.LIVE_FILE).write_text(json.dumps(said))
    assert live_status.read_live_status(tmp_path) is not None
    said["frontier"] = {where: [what] * 5_000}
    (tmp_path / live_status.LIVE_FILE).write_text(json.dumps(said))
    assert live_status.read_live_status(tmp_path) is None


def test_json_ld_is_uploaded_and_fetches_nothing(client: Client) -> None:
    pytest.importorskip("pyoxigraph")
    label = "http://www.w3.org/2000/01/rdf-schema#label"

    def upload(context: object) -> tuple[int, str]:
        data = {"@context": context, "@id": "http://x.example/a", "label": "bird"}
        content = base64.b64encode(json.dumps(data).encode()).decode()
        answer = client.post("/api/ontology", {"name": "a.jsonld", "content": content})
        return answer.status, answer.body.decode()

    assert upload({"label": label})[0] == 200
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.1)
        address = f"http://127.0.0.1:{server.getsockname()[1]}/context"
        for context in (address, [{"label": label}, address], {"@import": address}):
            status, said = upload(context)
            assert status == 400
            assert "its @context is on another server" in said
        with pytest.raises(TimeoutError):
            server.accept()


def test_an_ontology_that_is_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.obo")
    with pytest.raises(ConfigError, match="not a plain file"):
        load_ontology(str(tmp_path / "a.obo"))


def test_the_lab_of_the_demonstration_takes_no_module_from_there(tmp_path: Path) -> None:
    (tmp_path / "msgspec.py").write_text("open('ran', 'w').close()")
    code = "from honeyguide.lab import demo\nwith demo.serve_demo_web() as address: print(address)"
    said = subprocess.run(
        [sys.executable, "-P", "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert said.stdout.startswith("http://127.0.0.1")
    assert not (tmp_path / "ran").exists()

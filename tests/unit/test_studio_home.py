"""The Start screen: topics from the browser, the reins, and figures for Prometheus."""

from __future__ import annotations

import base64
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from honeyguide.api.collection import Collection
from honeyguide.config.loading import load_settings
from honeyguide.store.store import Store
from tests.unit.studio_client import Client

OBO = b"""format-version: 1.2

[Term]
id: X:1
name: animal

[Term]
id: X:2
name: bird
synonym: "fowl" EXACT []
is_a: X:1

[Term]
id: X:3
name: bird of prey
is_a: X:2
"""


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    found = Client(tmp_path, (sys.executable, "-c", "raise SystemExit('no crawl here')"))
    yield found
    found.close()


def topic(**said: object) -> dict[str, object]:
    known: dict[str, object] = {
        "name": "birds", "contact": "me@example.org", "seeds": ["example.org/birds"],
    }  # fmt: skip
    return known | said


def b64(content: bytes) -> str:
    return base64.b64encode(content).decode()


def left(root: Path) -> list[str]:
    return sorted(path.name for path in root.iterdir())


def test_a_topic_is_made_from_what_was_typed_pasted_and_uploaded(client: Client) -> None:
    page = b"<title>Owls</title><p>The owl is a bird of prey that hunts at night.</p>"
    found = client.post(
        "/api/collections",
        topic(
            description="Birds of prey.", keywords=["bird", " owl "], good=["http://a.example/x"],
            good_files=[{"name": "../owls.html", "content": b64(page)}] * 2,
            bad_texts=["How to cook a chicken soup with noodles and carrots."], pages=50,
            language=["en"], scope="domain",
        ),
    )  # fmt: skip
    assert (found.status, found.json) == (200, {"name": "birds", "notes": []})
    settings = load_settings(client.root / "birds" / "topic.toml")
    assert settings.topic.keywords == ("bird", "owl")
    assert settings.topic.seeds == ("https://example.org/birds",)
    assert settings.topic.language == ("en",)
    assert (settings.crawl.pages, settings.scope.rule) == (50, "domain")
    good = sorted(path.name for path in (client.root / "birds" / "examples" / "good").iterdir())
    assert good == ["001-owls.html", "002-owls.html"]
    assert left(client.root) == ["birds"]
    assert client.get("/api/c/birds/topic").json["description"] == "Birds of prey."
    assert [row["name"] for row in client.get("/api/collections").json] == ["birds"]


def test_an_uploaded_ontology_moves_into_the_collection(client: Client) -> None:
    kept = client.post("/api/ontology", {"name": "zoo.obo", "content": b64(OBO)}).json
    assert kept["concepts"] == 3
    path = f"/api/ontology/concepts?source={kept['id']}"
    assert [one["name"] for one in client.get(f"{path}&find=bird").json] == ["bird", "bird of prey"]
    assert [one["name"] for one in client.get(f"{path}&find=fow").json] == ["bird"]
    made = client.post("/api/collections", topic(ontology=kept["id"], concept="bird"))
    assert made.status == 200, made.json
    client.close()  # the upload is gone; the collection has its own
    folder = client.root / "birds"
    moved = folder.rename(client.root / "moved")
    said = Collection(moved).settings.topic
    assert (Path(said.ontology), said.concept) == (moved / "zoo.obo", "bird")
    assert 'ontology = "zoo.obo"' in (moved / "topic.toml").read_text()


def test_our_own_ontologies_can_be_looked_through(client: Client) -> None:
    found = client.get("/api/ontology/concepts?source=mammal&find=wha").json
    assert any("whale" in one["name"].lower() for one in found)


@pytest.mark.parametrize(
    ("said", "why"),
    [({"name": "../birds"}, "name"), ({"name": ".birds"}, "name"), ({"name": "a\0b"}, "name"),
     ({"contact": ""}, "contact"), ({"contact": "nobody"}, "contact"), ({"seeds": []}, "seeds"),
     ({"seeds": ["/etc/passwd"]}, "passwd"), ({"seeds": ["javascript:alert(1)"]}, "address"),
     ({"seeds": ["a" * 1999]}, "aaaa"), ({"seeds": ["http://u:p@example.org/"]}, "password"),
     ({"strategy": "nothing"}, "nothing"), ({"language": ["xx"]}, "xx"),
     ({"lab": "evil.example"}, "lab"),
     ({"ontology": "/etc/passwd", "concept": "x"}, "upload"), ({"pages": -1}, "pages"),
     ({"good": ["http://a.example/"], "bad": ["http://a.example/"]}, "both"),
     ({"ontology": "cell", "concept": "elephant", "strategy": "ontology_weights"}, "elephant"),
     ({"good_files": [{"name": "x.html", "content": "???"}]}, "base64"), ({"fetch": {}}, "fetch")],
)  # fmt: skip
def test_a_mistake_is_told_and_leaves_nothing_behind(
    client: Client, said: dict[str, Any], why: str
) -> None:
    found = client.post("/api/collections", topic(**said))
    assert found.status in (400, 404), found.body
    assert why in found.json["error"]
    assert str(client.root) not in found.json["error"]
    assert left(client.root) == []


def test_what_is_there_is_not_overwritten(client: Client) -> None:
    (client.root / "birds").mkdir()
    found = client.post("/api/collections", topic())
    assert (found.status, left(client.root)) == (400, ["birds"])
    assert not list((client.root / "birds").iterdir())


@pytest.mark.parametrize(
    "name", ["x.obo.gz", "x.obo", "x.owl", "x.json", "x.csv", "x", "MRCONSO.RRF", "x.bin", "x.ttl"]
)
@pytest.mark.parametrize("content", [b"", b"\0" * 50, b"<" * 5000, b"{" * 5000, b"\xff\xfe,;\n"])
def test_files_that_are_no_ontology_are_told(client: Client, name: str, content: bytes) -> None:
    found = client.post("/api/ontology", {"name": name, "content": b64(content)})
    assert found.status in (200, 400)
    if found.status == 400:
        assert "honeyguide-" not in found.json["error"]  # nor where it was put


def test_uploads_are_bounded(client: Client) -> None:
    large = {"name": "x.csv", "content": b64(b"a,b\n" * 2_500_001)}
    assert client.post("/api/ontology", large).status == 400
    assert client.post("/api/ontology", b'"' + b"a" * 14_000_001).status == 413


def test_a_run_is_started_and_its_failure_told(client: Client) -> None:
    assert client.post("/api/collections", topic()).status == 200
    assert client.get("/api/c/birds/run").json["state"] == "idle"
    assert client.post("/api/c/birds/run", {"do": "pause"}).status == 409
    begun = client.post("/api/c/birds/run", {"do": "start", "pages": 5, "hours": 0.5})
    assert begun.json["arguments"] == ["--pages=5", "--hours=0.5"]
    client.runs.close()
    found = client.get("/api/c/birds/run").json
    assert found["state"] in ("failed", "finished")


@pytest.mark.parametrize(
    "body", [{}, {"do": "start", "kind": "demo"}, {"do": "start", "pages": "--help"}, {"do": "x"}]
)
def test_orders_are_checked(client: Client, body: dict[str, object]) -> None:
    client.post("/api/collections", topic())
    assert client.post("/api/c/birds/run", body).status == 400


def test_a_broken_topic_is_named_in_the_list(client: Client) -> None:
    client.post("/api/collections", topic())
    (client.root / "birds" / "topic.toml").write_text("[crawl]\npagse = 1\n")
    (row,) = client.get("/api/collections").json
    assert "pagse" in row["problem"]
    assert client.post("/api/c/birds/run", {"do": "start"}).status == 400


def test_metrics_are_in_prometheus_format(client: Client) -> None:
    client.post("/api/collections", topic(name="bi rds ü"))
    Store.open(client.root / "bi rds ü", "crawl").close()
    found = client.get("/metrics")
    assert found.headers["content-type"].startswith("text/plain; version=0.0.4")
    lines = found.body.decode().splitlines()
    assert 'honeyguide_visits_total{collection="bi rds ü"} 0' in lines
    sample = re.compile(r'[a-z_]+\{collection="[^"]*"(,[a-z]+="[^"]*")*\} -?[0-9.e+]+\Z')
    assert all(line.startswith("# ") or sample.match(line) for line in lines)


def test_choices_remember_the_contact(client: Client) -> None:
    assert client.get("/api/choices").json["contact"] == ""
    client.post("/api/collections", topic())
    found = client.get("/api/choices").json
    assert found["contact"] == "me@example.org"
    assert "honeyguide" in [one["name"] for one in found["strategies"]]
    assert found["languages"]["tr"] == "Turkish"

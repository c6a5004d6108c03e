"""Advice in the studio: it is listed, accepted once, and refused where nothing can be written."""

from __future__ import annotations

from pathlib import Path

from honeyguide.config.loading import load_settings
from tests.unit.studio_client import Client
from tests.unit.test_advice import make_pages

TOPIC = '[topic]\nkeywords = ["name3"]\nseeds = ["http://a.test/"]\n'


def made(root: Path, verdicts: dict[int, float], birds: set[int]) -> Client:
    folder = root / "birds"
    folder.mkdir()
    (folder / "topic.toml").write_text(f'{TOPIC}[fetch]\ncontact = "a@example.org"\n')
    make_pages(folder, verdicts, birds, keywords=["name3"])
    return Client(root)


def test_advice_is_listed_and_accepted(tmp_path: Path) -> None:
    client = made(tmp_path, {n: float(n < 8) for n in range(100)}, set(range(40)))
    (found,) = client.get("/api/c/birds/advice").json
    assert found["kind"] == "narrow"
    assert found["acceptable"]
    other = {"proposal": "If you want these: add the keywords “of”, “another”, “moment”?"}
    answer = client.post("/api/c/birds/advice", other)
    assert answer.status == 400, "words that nobody has seen are not written"
    answer = client.post("/api/c/birds/advice", {"proposal": found["proposal"]})
    assert answer.status == 200, answer.body
    stored = list(load_settings(tmp_path / "birds" / "topic.toml").topic.keywords)
    assert stored == answer.json["keywords"]
    assert len(stored) == 4
    assert client.get("/api/c/birds/advice").json == []
    client.close()


def test_what_only_a_person_can_mend_is_refused(tmp_path: Path) -> None:
    client = made(tmp_path, dict.fromkeys(range(60), 0.9), set(range(60)))
    asked, found = client.get("/api/c/birds/advice").json
    assert (asked["kind"], asked["question"], len(asked["pages"])) == ("stray", True, 5)
    assert (found["kind"], found["acceptable"], found["command"]) == ("wide", False, "ask")
    answer = client.post("/api/c/birds/advice", {"proposal": found["proposal"]})
    assert answer.status == 400
    assert "Label a page" in answer.json["error"]
    client.close()

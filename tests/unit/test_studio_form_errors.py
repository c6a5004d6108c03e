"""Mistakes are told by the field they are in, and without keys, paths or types."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest

from honeyguide.studio.routes import explain_decode_error
from tests.unit.studio_client import Client

KNOWN: dict[str, Any] = {
    "name": "birds", "contact": "me@example.org", "seeds": ["example.org/birds"],
}  # fmt: skip
PICTURE = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 9).decode()


@pytest.mark.parametrize(
    ("said", "field", "words"),
    [({"name": ""}, "name", "must not be empty"), ({"name": "a/b"}, "name", "none of these"),
     ({"name": "a" * 101}, "name", "no more than 100 characters"),
     ({"pages": -1}, "pages", "0 or more"), ({"pages": 1.5}, "pages", "a whole number"),
     ({"contact": "nobody"}, "contact", "how to reach you"),
     ({"seeds": []}, "seeds", "at least one address"),
     ({"seeds": ["no address"]}, "seeds", "no address"),
     ({"bad": ["no address"]}, "bad", "no address"),
     ({"strategy": "keyword"}, "keywords", "needs keywords or description"),
     ({"strategy": "nothing"}, "strategy", "no strategy"),
     ({"language": ["xx"]}, "language", "'xx'"), ({"words": "qq"}, "words", "'qq'"),
     ({"lab": "evil.example"}, "lab", "a lab on this machine"),
     ({"ontology": "cell", "concept": "elephant", "strategy": "ontology_weights"}, "concept",
      "cell.obo has no concept"),
     ({"scope": "host", "seeds": [], "search_engine": "brave"}, "scope", "there are none"),
     ({"good": ["http://a.example/"], "bad": ["http://a.example/"]}, "good", "both in good and"),
     ({"good_files": [{"name": "pic.png", "content": PICTURE}]}, "good_files", "pic.png holds")],
)  # fmt: skip
def test_a_mistake_names_its_field_in_words(
    tmp_path: Path, said: dict[str, Any], field: str, words: str
) -> None:
    client = Client(tmp_path)
    found = client.post("/api/collections", KNOWN | said)
    assert (found.status, found.json.get("field")) == (400, field), found.json
    told = found.json["error"]
    assert words in told
    for foreign in ("Expected", "$", "topic.", "crawl.", "topic.toml", "/tmp", str(tmp_path), "--"):
        assert foreign not in told
    assert list(tmp_path.iterdir()) == []
    client.close()


def test_what_is_in_no_field_names_none(tmp_path: Path) -> None:
    client = Client(tmp_path)
    found = client.post("/api/collections", b"{")
    assert found.status == 400
    assert "field" not in found.json
    client.close()


def test_a_missing_field_and_one_that_has_no_words_of_ours() -> None:
    assert explain_decode_error("body", "Object missing required field `name`") == (
        "name",
        "name is missing",
    )
    field, said = explain_decode_error("query", "Expected `array`, got `str` - at `$.seeds[0]`")
    assert field == "seeds"
    assert said.startswith("the query is not what it should be: Expected")

from __future__ import annotations

import json
from pathlib import Path

from tests.commands import Told, told

__all__ = ["told"]


def test_the_tree_of_a_concept(told: Told) -> None:
    said = told("ontology", "show", "cat", "-o", "mammal", "-d", 1)
    assert said.code == 0
    assert said.out.splitlines() == ["cat  feline", "├── carnivore", "├── lion", "└── tiger"]
    assert "4 concepts within 1 edge, 4 words" in said.err


def test_the_tree_of_a_collection_as_json(told: Told, tmp_path: Path) -> None:
    (tmp_path / "topic.toml").write_text('[topic]\nontology = "cell"\nconcept = "tissue"\n')
    said = told("ontology", "show", tmp_path, "--distance", 1, "--json")
    facts = json.loads(said.out)
    assert facts["concepts"][0] == {"name": "Tissue", "distance": 0, "via": None, "synonyms": []}
    assert {c["via"] for c in facts["concepts"][1:]} == {"Tissue"}
    assert facts["stems"]["tissu"] == 0


def test_mistakes_are_told(told: Told, tmp_path: Path) -> None:
    (tmp_path / "topic.toml").write_text('[topic]\nname = "x"\n')
    for words, hint in (
        ([tmp_path], "names no ontology"),
        (["nowhere"], "--ontology FILE"),
        (["cat", "-o", "mammal", "-r", "eats"], "is-a, inst, prop"),
        (["catt", "-o", "mammal"], "'cat'"),
    ):
        said = told("ontology", "show", *words)
        assert said.code == 2
        assert hint in said.err

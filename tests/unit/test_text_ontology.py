from __future__ import annotations

import gzip
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from honeyguide.config.loading import load_settings as load_settings
from honeyguide.config.loading import parse_settings
from honeyguide.config.settings import TopicSettings
from honeyguide.crawl.from_settings import build_strategy
from honeyguide.errors import ConfigError
from honeyguide.strategies.ontology_weights import OntologyWeights
from honeyguide.text.ontology.load import OWN_ONTOLOGIES, load_ontology, topic_concepts
from honeyguide.text.ontology.ontology import Ontology, OntologyDraft, name_stems, nearest_concepts
from honeyguide.types import Concept

Written = Callable[[str, str], str]

OBO = """format-version: 1.2

[Term]
id: T:1
name: bird
synonym: "feathered \\"friend\\"" EXACT []
is_a: T:2 {source="x"} ! animal

[Term]
id: T:2
name: animal

[Term]
id: T:3
name: old bird
is_a: T:1
is_obsolete: true

[Typedef]
id: part_of
name: part of

[Term]
id: T:4
name: feather
relationship: part_of T:1 {all_only="true"} ! bird

[Instance]
id: T:5
name: Tweety
instance_of: T:1
"""
TURTLE = """@prefix s: <http://www.w3.org/2004/02/skos/core#> .
@prefix r: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix o: <http://www.w3.org/2002/07/owl#> .
@prefix e: <http://e.org/> .
e:scheme a s:ConceptScheme ; s:prefLabel "birds of the world" .
e:b a s:Concept ; s:prefLabel "bird"@en , "kuş"@tr , "Vogel"@de ; s:altLabel "fowl"@en ;
    s:broader e:a ; s:related e:f .
e:a s:narrower e:d ; r:label "animal" .
e:d s:prefLabel "Hund"@de .
e:f s:prefLabel "feather" .
e:t a e:b ; r:label "Tweety" .
e:BigOwl r:subClassOf e:b , [ a o:Restriction ; o:onProperty e:eats ; o:someValuesFrom e:m ] .
e:m r:label "mouse" .
e:lays a o:ObjectProperty ; r:label "lays" ; r:domain e:b ; r:range e:egg .
e:egg r:label "egg" .
"""


@pytest.fixture
def written(tmp_path: Path) -> Written:
    def write(name: str, text: str) -> str:
        (tmp_path / name).write_text(text, "utf-8")
        return str(tmp_path / name)

    return write


def distances(ontology: Ontology, topic: str, steps: int = 9) -> dict[str, int]:
    return {f.concept.name: f.distance for f in nearest_concepts(ontology, topic, steps)}


def test_obo(written: Written) -> None:
    birds = load_ontology(written("birds.obo", OBO))
    assert distances(birds, "bird") == {"bird": 0, "animal": 1, "feather": 1, "Tweety": 1}
    assert nearest_concepts(birds, "T:1")[0].concept.synonyms == ('feathered "friend"',)
    assert nearest_concepts(birds, 'FEATHERED  "friend"')[0].concept.name == "bird", "by a synonym"
    assert len(birds) == 4, "neither obsolete terms nor relations are concepts"


def test_rdf(written: Written) -> None:
    pytest.importorskip("pyoxigraph")
    birds = load_ontology(written("birds.ttl", TURTLE))
    near = distances(birds, "bird")
    assert near == {
        "bird": 0, "animal": 1, "feather": 1, "Tweety": 1, "egg": 1, "Big Owl": 1,
        "mouse": 2, "Hund": 2,
    }  # fmt: skip
    assert nearest_concepts(birds, "bird")[0].concept.synonyms == ("fowl",)
    turkish = load_ontology(written("again.ttl", TURTLE), "tr")
    assert nearest_concepts(turkish, "kuş")[0].concept.name == "kuş"


def test_rdf_xml_with_another_ending(written: Written) -> None:
    pytest.importorskip("pyoxigraph")
    xml = (
        '<?xml version="1.0"?><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" '
        'xmlns:rdfs="http://www.w3.org/2000/01/rdf-schema#" '
        'xmlns:owl="http://www.w3.org/2002/07/owl#">'
        '<owl:Class rdf:about="http://e.org/FinchBird"><rdfs:subClassOf '
        'rdf:resource="http://e.org/Bird"/></owl:Class></rdf:RDF>'
    )
    assert distances(load_ontology(written("birds.txt", xml)), "finch bird") == {
        "Finch Bird": 0,
        "Bird": 1,
    }


def test_rdf_without_its_library_names_the_extra(
    written: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyoxigraph", None)
    with pytest.raises(ConfigError, match=r"honeyguide\[ontology\]"):
        load_ontology(written("birds.ttl", TURTLE))


def test_mesh_headings_with_several_places(written: Written, tmp_path: Path) -> None:
    text = "Body;A01\nHead;A01.456\nBones, Skull;A01.456.810\nSkeleton;A02\nBones, Skull;A02.835\n"
    packed = tmp_path / "mtrees2019.bin.gz"
    packed.write_bytes(gzip.compress(text.encode()))
    for source in (str(packed), written("trees.txt", text)):
        near = distances(load_ontology(source), "skull bones")
        assert near == {"Skull Bones": 0, "Head": 1, "Skeleton": 1, "Body": 2}


def test_umls_rows_are_filtered(written: Written, tmp_path: Path) -> None:
    def name(cui: str, lat: str, said: str, pref: str = "P", suppress: str = "N") -> str:
        form = "PF|S|Y" if pref == "P" else "VO|S|N"
        return f"{cui}|{lat}|{pref}|L|{form}|A||||SRC|PT|1|{said}|0|{suppress}||"

    def relation(one: str, rel: str, two: str, suppress: str = "N") -> str:
        return f"{one}|A|AUI|{rel}|{two}|A|AUI||R||SRC|SRC|||{suppress}||"

    names = [
        name("C1", "ENG", "fowl", "S"), name("C1", "ENG", "bird"), name("C1", "TUR", "kuş"),
        name("C2", "ENG", "animal"), name("C3", "ENG", "gone", suppress="O"),
        name("C4", "GER", "Ei"), name("C5", "ENG", "finch"), name("C6", "ENG", "egg"),
    ]  # fmt: skip
    relations = [
        relation("C1", "PAR", "C2"), relation("C1", "CHD", "C5"), relation("C1", "RO", "C6"),
        relation("C1", "RO", "C4"), relation("C2", "RO", "C6", "Y"), relation("C1", "SY", "C6"),
    ]  # fmt: skip
    written("MRCONSO.RRF", "\n".join(names))
    written("MRREL.RRF", "\n".join(relations))
    birds = load_ontology(str(tmp_path))
    assert distances(birds, "bird") == {"bird": 0, "animal": 1, "finch": 1, "egg": 1}
    assert distances(birds, "bird", 1).keys() >= {"finch"}
    assert nearest_concepts(birds, "bird")[0].concept.synonyms == ("fowl",)
    assert [tuple(r) for r in birds.edges["is-a"]] == [(0, 1), (2, 0)]
    assert load_ontology(str(tmp_path), "tr").names == ("kuş",)
    with pytest.raises(ConfigError, match="language"):
        load_ontology(str(tmp_path), "fi")


def test_semantic_network_ignores_the_closure(written: Written, tmp_path: Path) -> None:
    types = [("Entity", "A"), ("Body", "A1"), ("Cell", "A1.2"), ("Function", "B")]
    rows = [f"STY|T{i}|{name}|{place}|d||||x||" for i, (name, place) in enumerate(types)]
    written("SRDEF", "\n".join([*rows, "RL|T9|isa|H|d||||x||"]))
    written("SRSTRE2", "Cell|isa|Entity|\nCell|isa|Body|\nCell|affects|Function|\n")
    near = distances(load_ontology(str(tmp_path)), "cell")
    assert near == {"Cell": 0, "Body": 1, "Function": 1, "Entity": 2}


def test_indented_tree(written: Written) -> None:
    plain = written("tree.txt", "# mine\nanimal\n  bird\n    finch\n  fish\n")
    assert distances(load_ontology(plain), "finch") == {
        "finch": 0,
        "bird": 1,
        "animal": 2,
        "fish": 3,
    }
    tabbed = written("tree.tsv", "animal\tT1\t1\n  bird\tT2\t2\nfish\tT3\t2\n")
    assert distances(load_ontology(tabbed), "T2") == {"bird": 0, "animal": 1, "fish": 2}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("e.csv", "child,relation,parent\nbird,is-a,animal\nTweety,inst,bird\nbird,synonym,fowl\n"),
        ("e.csv", "﻿bird;is_a;animal\r\nTweety;INST;bird\r\nbird;synonym;fowl\r\n"),
        ("e.txt", "bird,animal\nTweety,inst,Bird\nbird,synonym,fowl\n"),
        (
            "e.json",
            '{"edges": [["bird", "animal"], ["Tweety", "inst", "bird"],'
            ' ["bird", "synonym", "fowl"]]}',
        ),
    ],
)
def test_edge_lists(written: Written, name: str, text: str) -> None:
    birds = load_ontology(written(name, text))
    assert distances(birds, "bird") == {"bird": 0, "animal": 1, "Tweety": 1}
    assert nearest_concepts(birds, "fowl")[0].concept.name == "bird"


def star(leaves: int) -> Ontology:
    draft = OntologyDraft("star")
    for number in range(leaves, 0, -1):
        draft.add_name(f"n{number}", f"name {number:04}")
        draft.add_edge("is-a", f"n{number}", "hub")
    draft.add_name("hub", "hub")
    return draft.build()


def test_the_nearest_are_kept_and_then_by_the_alphabet() -> None:
    found = nearest_concepts(star(500), "hub", 3)
    assert len(found) == 200
    assert [f.concept.name for f in found[:3]] == ["hub", "name 0001", "name 0002"]


def test_nameless_concepts_lead_on_and_circles_end() -> None:
    draft = OntologyDraft("circle")
    for one, other in (("a", "b"), ("b", "c"), ("c", "a"), ("c", "d"), ("a", "a")):
        draft.add_edge("prop", one, other)
    for name in "acd":
        draft.add_name(name, name)
    assert distances(draft.build(), "d") == {"d": 0, "c": 1, "a": 2}


def test_a_missing_concept_names_those_alike() -> None:
    with pytest.raises(ConfigError, match=r"no concept 'mamal'; it has 'mammal'"):
        nearest_concepts(load_ontology("mammal"), "mamal")
    with pytest.raises(ConfigError, match="58 in all"):
        nearest_concepts(load_ontology("mammal"), "🐋")


@given(st.text(max_size=60), st.sampled_from(("en", "tr", "xx")))
def test_any_name_splits_into_distinct_stems(name: str, language: str) -> None:
    stems = name_stems(name, language)
    assert len(set(stems)) == len(stems)


def test_the_topic_brings_its_concepts(tmp_path: Path) -> None:
    raw = {
        "topic": {
            "ontology": "mammal",
            "concept": "cat",
            "distance": 1,
            "seeds": ["http://e.org/"],
        },
        "crawl": {"strategy": "ontology_weights"},
    }
    strategy = build_strategy(parse_settings(raw))
    assert isinstance(strategy, OntologyWeights)
    assert [c.name for c in strategy.concepts] == ["cat", "carnivore", "lion", "tiger"]
    assert topic_concepts(TopicSettings(keywords=("a cat",))) == (Concept("a cat", 0),)
    for topic, said in (
        (TopicSettings(ontology="mammal"), "topic.concept: say"),
        (TopicSettings(ontology="mammal", concept="cat", relations=("eats",)), "not 'eats'"),
        (TopicSettings(ontology="mamal", concept="cat"), "ours are cell, mammal"),
    ):
        with pytest.raises(ConfigError, match=said):
            topic_concepts(topic)
    (tmp_path / "mine.csv").write_bytes(OWN_ONTOLOGIES["mammal"].read_bytes())
    (tmp_path / "topic.toml").write_text('[topic]\nontology = "mine.csv"\nconcept = "dog"\n')
    assert topic_concepts(load_settings(tmp_path / "topic.toml").topic)[0].name == "dog"


def test_without_ontology_and_keywords_it_says_what_is_needed() -> None:
    raw = {"topic": {"description": "cats"}, "crawl": {"strategy": "ontology_ann"}}
    with pytest.raises(ConfigError, match="needs ontology or keywords"):
        build_strategy(parse_settings(raw))

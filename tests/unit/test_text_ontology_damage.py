"""Damaged, endless and meaningless files end in a ConfigError, with the line where there is one."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from honeyguide.errors import ConfigError
from honeyguide.text.ontology import rdf as entities
from honeyguide.text.ontology import readers
from honeyguide.text.ontology.load import load_ontology

Written = Callable[[str, str], str]
OBO = "[Term]\nid: T:1\nname: bird\nis_a: T:2\n\n[Term]\nid: T:2\nname: animal\n"


@pytest.fixture
def written(tmp_path: Path) -> Written:
    def write(name: str, text: str) -> str:
        (tmp_path / name).write_text(text, "utf-8")
        return str(tmp_path / name)

    return write


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("x.obo", "[Term]\nid: A\nname: a\nnonsense\n", "line 4"),
        ("x.obo", "[Term]\nname: a\n", "line 2"),
        ("x.obo", "[Ter\n", "line 1"),
        ("x.bin", "Body;A01\nHead\n", "line 2"),
        ("x.csv", "a,is-a,b\na,b,c,d\n", "line 2"),
        ("x.csv", "a,is-a,b\n\na,likes,b\n", r"line 3: 'likes' is none of"),
        ("x.csv", "child,relation,parent\na,is-a,b\nc,d\n", "line 3: the head .* three columns"),
        ("x.csv", "a,is-a,b\nc,is-a\n", "line 2: .*nothing comes after 'is-a'"),
        ("x.json", '[["a", "is_a"]]', "edge 1: .*nothing comes after"),
        ("x.owl", "<rdf", "x.owl"),
        ("x.owl", "this is a letter", "not an ontology"),
        ("x.json", '{"edges": [\n["a", "b"],\n[', "line 3"),
        ("x.json", '[["a", 7]]', "edge 1"),
        ("x.json", '{"a": 1}', "list of edges"),
        ("x.json", "[" * 100_000, "JSON"),
        ("MRCONSO.RRF", "C1|ENG|P\n", "line 1: 3 columns"),
        ("x.ttl", "@prefix e: <http://e.org/> .\ne:a e:b .\n", "line 2"),
        ("x.txt", "", "empty"),
        ("x.dat", "abc\0def", "no text"),
        ("x.obo", "format-version: 1.2\n", "no concept"),
        ("x.ofn", "Prefix(:=<http://e.org/>)", "functional syntax"),
    ],
)
def test_damage_is_told_with_its_line(written: Written, name: str, text: str, line: str) -> None:
    if name.endswith((".ttl", ".owl")):
        pytest.importorskip("pyoxigraph")
    with pytest.raises(ConfigError, match=line):
        load_ontology(written(name, text))


def test_what_is_no_file_at_all(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="does not exist"):
        load_ontology(str(tmp_path / "none.obo"))
    with pytest.raises(ConfigError, match="neither MRCONSO"):
        load_ontology(str(tmp_path))
    (tmp_path / "x.obo.gz").write_bytes(gzip.compress(OBO.encode())[:-20])
    with pytest.raises(ConfigError, match="cannot be read"):
        load_ontology(str(tmp_path / "x.obo.gz"))


def test_a_line_without_end_is_cut_short(written: Written, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readers, "_LONGEST", 1000)
    monkeypatch.setattr(readers, "_CHUNK", 64)
    assert len(load_ontology(written("ok.obo", OBO))) == 2, "lines across chunks are whole"
    with pytest.raises(ConfigError, match="line 2: longer"):
        load_ontology(written("bad.obo", "[Term]\nid: " + "x" * 5000))


@given(st.binary(max_size=300), st.sampled_from(("obo", "bin", "csv", "json", "txt", "ttl", "owl")))
@example(b"\x1c", "txt")
def test_any_bytes_give_an_ontology_or_a_config_error(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, ending: str
) -> None:
    path = tmp_path_factory.getbasetemp() / f"any.{ending}"
    path.write_bytes(data)
    with suppress(ConfigError):
        assert len(load_ontology(str(path))) > 0


@pytest.mark.parametrize(
    "entities",
    [
        '<!ENTITY a "xxxxxxxx"> <!ENTITY b "&a;&a;&a;&a;&a;">',
        f'<!ENTITY a "{"x" * 2000}">',
        '<!ENTITY a SYSTEM "file:///etc/passwd">',
        '<!ENTITY a "]>"> <!ENTITY b "&a;&a;">',
        '<!-- ]> --> <!ENTITY a "x"> <!ENTITY b "&a;&a;">',
        '<!ENTITY a"x" "&a;">',
        '<!ENTITY\u00a0a "xxxxx">',
    ],
)
def test_entities_that_grow_or_lie_elsewhere_are_refused(tmp_path: Path, entities: str) -> None:
    file = tmp_path / "bomb.owl"
    rdf = '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"></rdf:RDF>'
    file.write_text(f'<?xml version="1.0"?><!DOCTYPE rdf:RDF [ {entities} ]>{rdf}')
    with pytest.raises(ConfigError, match="entities"):
        load_ontology(str(file))


RDF = (
    '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" '
    'xmlns:rdfs="http://www.w3.org/2000/01/rdf-schema#"><rdf:Description rdf:about="http://x/a">'
    "<rdfs:label>{label}</rdfs:label></rdf:Description></rdf:RDF>"
)
DOUBLED = '<!ENTITY a "lollollol"><!ENTITY b "&a;&a;&a;">'


@pytest.mark.parametrize("before", [1_100_000, (1 << 20) - 4, (1 << 21) - 3])
def test_declarations_anywhere_are_looked_for(tmp_path: Path, before: int) -> None:
    """The parser takes them after a long comment, and also after the root's start tag."""
    pytest.importorskip("pyoxigraph")
    file = tmp_path / "bomb.rdf"
    start = f"<!--{'x' * before}"
    for said in (
        f"{start}--><!DOCTYPE r [{DOUBLED}]>{RDF.format(label='&b;')}",
        RDF.format(label="x").replace("<rdf:D", f"{start}--><!doctype r [{DOUBLED}]><rdf:D"),
        f'<!DOCTYPE r [<!ENTITY c "x">]>{start[:-30]}--><!DOCTYPE r [{DOUBLED}]>'
        + RDF.format(label="&b;"),
    ):
        file.write_text(said)
        with pytest.raises(ConfigError, match="entities"):
            load_ontology(str(file))


def test_entities_that_add_up_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyoxigraph")
    file = tmp_path / "bomb.owl"
    doctype = f'<?xml version="1.0"?><!DOCTYPE r [<!ENTITY a "{"x" * 999}">]>'
    file.write_text(doctype + RDF.format(label="&a;" * 60_000))
    with pytest.raises(ConfigError, match="entities make 59,940,000 bytes"):
        load_ontology(str(file))
    file.write_text(doctype + RDF.format(label="&a;" * 40))
    assert len(load_ontology(str(file))) == 1
    # A use that is cut in two by the end of a piece counts all the same.
    monkeypatch.setattr(entities, "_CHUNK", 7)
    monkeypatch.setattr(entities, "MAX_ENTITY_BYTES", 0)
    file.write_text(doctype + "\n" * (1 << 20) + RDF.format(label="&a;" * 2_000))
    with pytest.raises(ConfigError, match="entities make 1,998,000 bytes"):
        load_ontology(str(file))


def test_a_long_prefix_is_not_filled_in_again_and_again(written: Written) -> None:
    pytest.importorskip("pyoxigraph")
    prefix = f"@prefix z: <http://x.example/{'x' * 20_000}/> .\n"
    said = "z:a <http://www.w3.org/2000/01/rdf-schema#subClassOf> z:b .\n"
    with pytest.raises(ConfigError, match="more than 1,000 characters"):
        load_ontology(written("x.ttl", prefix + said))

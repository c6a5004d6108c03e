"""UMLS files that a user has a licence for: Metathesaurus (RRF) and Semantic Network.

Rows are filtered while they stream by: another language, suppressed names and relations, and
relations between concepts without a kept name never take up memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from honeyguide.errors import ConfigError
from honeyguide.text.ontology.lines import damaged, lines
from honeyguide.text.ontology.ontology import Draft, Ontology

_LANGUAGES = {
    "ar": "ARA", "cs": "CZE", "da": "DAN", "de": "GER", "el": "GRE", "en": "ENG", "es": "SPA",
    "et": "EST", "eu": "BAQ", "fi": "FIN", "fr": "FRE", "he": "HEB", "hr": "SCR", "hu": "HUN",
    "it": "ITA", "ja": "JPN", "ko": "KOR", "lt": "LIT", "lv": "LAV", "nl": "DUT", "no": "NOR",
    "pl": "POL", "pt": "POR", "ru": "RUS", "sv": "SWE", "tr": "TUR", "uk": "UKR", "zh": "CHI",
}  # fmt: skip


def find(folder: Path, name: str) -> Path | None:
    """A file of that name in the folder, perhaps gzip'd."""
    return next((p for p in (folder / name, folder / f"{name}.gz") if p.is_file()), None)


def read_metathesaurus(names: Path, relations: Path | None, language: str) -> Ontology:
    """MRCONSO, and MRREL if it is there. PAR, CHD, RB and RN are is-a, RO is prop."""
    draft = Draft(str(names))
    wanted = _LANGUAGES.get(language, language.upper())
    for row in _rows(names, 18):
        concept, lat, ts, stt, ispref, said, suppress = (row[i] for i in (0, 1, 2, 4, 6, 14, 16))
        if lat != wanted or suppress not in ("N", ""):
            continue
        if ts == "P" and stt == "PF" and ispref == "Y":
            draft.prefer(concept, said)
        else:
            draft.name(concept, said)
    if relations is not None:
        for row in _rows(relations, 16):
            one, relation, other, suppress = row[0], row[3], row[4], row[14]
            if suppress not in ("N", "") or one not in draft or other not in draft:
                continue
            # MRREL says what the second concept is to the first.
            if relation in ("PAR", "RB"):
                draft.edge("is-a", one, other)
            elif relation in ("CHD", "RN"):
                draft.edge("is-a", other, one)
            elif relation == "RO":
                draft.edge("prop", one, other)
    try:
        return draft.done()
    except ConfigError as error:
        raise ConfigError(f"{error} in {wanted}; set topic.language to a language of it") from error


def read_network(definitions: Path, structure: Path | None) -> Ontology:
    """SRDEF for the types and their tree, SRSTR or SRSTRE2 for the other relations.

    SRSTRE holds the closure of is-a, in which an ancestor is as near as a parent: the tree
    numbers of SRDEF say what is direct.
    """
    draft = Draft(str(definitions))
    places: dict[str, str] = {}
    for row in _rows(definitions, 4):
        if row[0] == "STY":
            draft.name(row[2], row[2])
            places[row[3]] = row[2]
    for place, name in places.items():
        parent = places.get(_above(place))
        if parent is not None:
            draft.edge("is-a", name, parent)
    if structure is not None:
        for row in _rows(structure, 3):
            if row[1] != "isa" and row[0] in draft and row[2] in draft:
                draft.edge("prop", row[0], row[2])
    return draft.done()


def _above(place: str) -> str:
    """The tree number of the parent: A1.2.1 → A1.2, A1 → A."""
    if "." in place:
        return place.rpartition(".")[0]
    return place[:1] if len(place) > 1 else ""


def _rows(path: Path, columns: int) -> Iterator[list[str]]:
    for number, line in lines(path):
        if line.strip():
            row = line.split("|")
            if len(row) < columns:
                raise damaged(path, number, f"{len(row)} columns, not {columns}")
            yield row

"""Sections, tables, equations and algorithms of the founding papers that are cited do exist."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PLACES: dict[str, dict[str, list[str]]] = tomllib.loads(
    (Path(__file__).parent / "sections.toml").read_text("utf-8")
)
_KINDS = {"§": "section", "fig": "figure"}
_NUMBER = r"(?:\d+(?:\.\d+)*|[IVX]+)"
_CITED = re.compile(
    rf"({'|'.join(PLACES)})\b((?:(?!\. [A-Z]|{'|'.join(PLACES)}|[)|;*]).){{0,130}})"
)
"""From a paper's name to the end of the sentence, another name, or a bracket that closes."""
_PLACE = re.compile(
    r"(section|§|table|fig(?:ure)?|equation|algorithm)(?:s|\.)? ?"
    rf"({_NUMBER}(?:(?:, | and |–){_NUMBER})*)",
    re.IGNORECASE,
)


def cited_places(text: str) -> Iterator[tuple[str, str, str]]:
    """Paper, kind of place, number."""
    plain = re.sub(r"\s*\n\s*(?:#\s*)?", " ", text)
    plain = re.sub(r" \((20\d\d)\)", r" \1", plain)
    for paper, rest in _CITED.findall(plain):
        for kind, numbers in _PLACE.findall(rest):
            for number in re.findall(_NUMBER, numbers):
                yield paper, _KINDS.get(kind.lower(), kind.lower()), number


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Iliou et al., section 3.1, name", [("Iliou", "section", "3.1")]),
        ("(Zheng, Kang & Kim 2008, sections 3.1 and 3.2) x",
         [("Zheng", "section", "3.1"), ("Zheng", "section", "3.2")]),
        ("Meegahapola et al. (2018), tables II and III:",
         [("Meegahapola", "table", "II"), ("Meegahapola", "table", "III")]),
        ("Xu, Yoon\n# & Tourassi §5", [("Xu", "section", "5")]),
        ("(Xu 2014), section 2.3 of RFC 9309", []),
        ("Xu. Another has section 7", []),
    ],
)  # fmt: skip
def test_citations_are_found(text: str, found: list[tuple[str, str, str]]) -> None:
    assert list(cited_places(text)) == found


def test_every_place_that_is_cited_exists() -> None:
    cited, wrong = 0, []
    for folder in ("src", "docs", "bench", "tests"):
        for path in sorted((ROOT / folder).rglob("*.*")):
            if path.suffix not in (".py", ".md") or path == Path(__file__):
                continue
            for paper, kind, number in cited_places(path.read_text("utf-8")):
                cited += 1
                if number not in PLACES[paper].get(kind, ()):
                    wrong.append(f"{path.relative_to(ROOT)}: {paper}, {kind} {number}")
    assert not wrong
    assert cited >= 10


def test_the_first_paper_is_cited_by_its_own_name() -> None:
    # It prints no year; "Hybrid focused crawling" is another paper of the same group.
    for folder in ("src", "docs", "bench"):
        for path in sorted((ROOT / folder).rglob("*.*")):
            if path.suffix in (".py", ".md"):
                text = path.read_text("utf-8")
                assert not re.search(r"Iliou[^.\n]{0,60}20\d\d|Hybrid focused crawling", text), path

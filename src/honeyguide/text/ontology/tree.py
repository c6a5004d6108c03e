"""An indented tree: one concept a line, deeper than the one it is a kind of.

After the name, separated by tabs, may come an identifier and a depth (as listings of the UMLS
Semantic Network have them); a depth goes before the indentation. ``#`` begins a comment.
"""

from __future__ import annotations

from pathlib import Path

from honeyguide.text.ontology.lines import damaged, lines
from honeyguide.text.ontology.ontology import Draft, Ontology


def read(path: Path) -> Ontology:
    draft = Draft(str(path))
    above: list[tuple[int, str]] = []
    """The way from the root to the line before, with depths."""
    for number, line in lines(path):
        text = line.expandtabs(8) if line[:1] == "\t" else line
        body = text.strip()
        if not body or body[0] == "#":
            continue
        name, *more = (part.strip() for part in body.split("\t"))
        if not name or len(name) > 200:
            raise damaged(path, number, f"{body[:40]!r} is no name of a concept")
        depth = len(text) - len(text.lstrip())
        if len(more) > 1 and more[1].isdecimal():
            depth = int(more[1][:6])
        concept = more[0] if more and more[0] else name
        draft.name(concept, name)
        while above and above[-1][0] >= depth:
            above.pop()
        if above:
            draft.edge("is-a", concept, above[-1][1])
        above.append((depth, concept))
    return draft.done()

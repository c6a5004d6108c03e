"""Names that come from strangers' files and folders, made harmless where they are read."""

from __future__ import annotations

from unicodedata import normalize

_LONGEST = 100


def shown(text: str) -> str:
    """One line that only shows: controls, invisible characters and halves of characters go."""
    return " ".join("".join(c for c in text if c.isprintable() or c.isspace()).split())


def label(text: str) -> str:
    """What a category is called; '' if nothing is left. One name, however it was typed."""
    # Cut first: composing a long run of accents takes its time.
    return normalize("NFC", shown(text.lstrip()[: 4 * _LONGEST]))[:_LONGEST].strip()

"""Small tables of the Turkish normaliser: plain text, one entry a line, a user's own added.

    slang.txt           slm = selam
    signs.txt           $ = ş            what a sign may stand for; several: 1 = ı i l
    phrases.txt         4u = senin için  how a word may end
    abbreviations.txt   Dr = -           ends no sentence; vb = end may end one

``#`` begins a comment. A user's folder holds files of the same names; its lines win over ours.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from pathlib import Path

from honeyguide.errors import ConfigError
from honeyguide.text.tokens import fold

NAMES = ("slang", "signs", "phrases", "abbreviations")
_LARGEST = 1_000_000
"""Bytes of a user's table: larger is no table but a mistake."""


@dataclass(frozen=True)
class Tables:
    slang: Mapping[str, str]
    signs: Mapping[str, tuple[str, ...]]
    phrases: Mapping[str, str]
    abbreviations: Mapping[str, bool]


@lru_cache(maxsize=8)
def tables(folder: str = "") -> Tables:
    """Ours, and a user's; ConfigError for a folder or a line that is wrong."""
    ours = resources.files(__package__) / "data"
    found = {
        name: entries((ours / f"{name}.txt").read_text("utf-8"), f"{name}.txt") for name in NAMES
    }
    if folder:
        for name, more in _users(Path(folder)).items():
            found[name].update(more)
    return Tables(
        slang=found["slang"],
        signs={sign: tuple(meant.split()) for sign, meant in found["signs"].items()},
        phrases=dict(sorted(found["phrases"].items(), key=lambda entry: -len(entry[0]))),
        abbreviations={short: said == "end" for short, said in found["abbreviations"].items()},
    )


def entries(text: str, name: str) -> dict[str, str]:
    """``left = right`` lines, folded as Turkish."""
    found = {}
    for number, line in enumerate(text.splitlines(), 1):
        content = line.partition("#")[0].strip()
        if not content:
            continue
        left, equals, right = (part.strip() for part in content.partition("="))
        if not (left and equals and right) or " " in left:
            raise ConfigError(
                f"{name}, line {number}: write “word = meaning”, not {content[:80]!r}"
            )
        found[fold(left, "tr").rstrip(".")] = fold(right, "tr")
    return found


def _users(folder: Path) -> dict[str, dict[str, str]]:
    if not folder.is_dir():
        raise ConfigError(f"tables: {folder} is no folder")
    found = {}
    for name in NAMES:
        path = folder / f"{name}.txt"
        try:
            if not path.exists():
                continue
            if path.stat().st_size > _LARGEST:
                raise ConfigError(f"{path} is larger than {_LARGEST:,} bytes")
            found[name] = entries(path.read_text("utf-8-sig"), str(path))
        except (OSError, UnicodeDecodeError) as wrong:
            raise ConfigError(f"{path} cannot be read: {wrong}") from wrong
    if not found:
        wanted = ", ".join(f"{name}.txt" for name in NAMES)
        raise ConfigError(f"tables: {folder} has none of {wanted}")
    return found

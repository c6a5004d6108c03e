"""A query as people read it, as the store keeps it and as engines are asked it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from honeyguide.text.normalise import Spelling, folded

LONGEST = 1000
"""Characters of a query that are read; no engine takes more."""

_PART = re.compile(r'(-?)"([^"]*)"|(\S+)')
_INSIDE = re.compile(r'["=:|()*~^{}\[\]<>\\]')
_SIGNS = re.compile(rf"{_INSIDE.pattern}|\A[-+!?@]").search
"""What may mean more to an engine than its letters say: such words stay a person's own."""
_OPERATORS = frozenset({"AND", "OR", "NOT", "NEAR"})
_JOINERS = "\u200c\u200d"
"""They stand inside words of Persian and Hindi."""
_ANY = Spelling()


@dataclass(frozen=True, slots=True)
class Query:
    """What an engine is asked: phrases to find and phrases to leave out, or a person's own words.

    A phrase of several words is quoted when it is sent; words of a person are sent as typed.
    """

    terms: tuple[str, ...] = ()
    """Phrases, best first."""
    without: tuple[str, ...] = ()
    """Phrases that results must not hold, for engines that understand it."""
    text: str = ""
    """A person's own words; then there are no terms."""

    @property
    def key(self) -> str:
        """What makes two queries the same: neither case nor the order of terms, nor what is left
        out. Words that a person typed are the same as terms that would be sent alike."""
        return _key(parse(self.text) if self.text else self)

    def __str__(self) -> str:
        if self.text:
            return _clean(self.text)
        return " ".join([*map(_quoted, self.terms), *(f'-"{term}"' for term in self.without)])


def parse(text: str) -> Query:
    """The query that is written so: ``str(parse(text))`` is the text again, but for blanks.

    Terms are told from a person's words by the writing alone: what would be sent in the very same
    way is one query, whoever made it.
    """
    text = _clean(text)
    made = _taken_apart(text)
    plain = all(map(_plain, (*made.terms, *made.without)))
    return made if made.terms and plain and str(made) == text else Query(text=text)


def phrase(text: str) -> str:
    """A text as a term can hold it, without what an engine could take for an order."""
    words = (word.lstrip("-+!?@") for word in _clean(_INSIDE.sub(" ", text)).split())
    return " ".join(word for word in words if word and word not in _OPERATORS)


def fold(term: str) -> str:
    """One writing for terms that readers take for the same, in any language."""
    return folded(term, _ANY)[0]


def _taken_apart(text: str) -> Query:
    terms: list[str] = []
    without: list[str] = []
    for part in _PART.finditer(text):
        minus, phrase, word = part.groups()
        (without if minus else terms).append(word if phrase is None else phrase)
    return Query(tuple(terms), tuple(without))


def _plain(term: str) -> bool:
    return bool(term.strip()) and not _SIGNS(term) and term not in _OPERATORS


@lru_cache(maxsize=4096)
def _key(query: Query) -> str:
    if query.text:
        # No term holds the sign, so that no row of terms is taken for these words.
        return f"= {fold(_clean(query.text))}"
    return " ".join(map(_quoted, _sorted(query.terms)))


def _sorted(terms: Iterable[str]) -> list[str]:
    return sorted({" ".join(fold(term).split()) for term in terms})


def _quoted(term: str) -> str:
    return f'"{term}"' if " " in term else term


def _clean(text: str) -> str:
    """On one line and without what cannot be seen, stored or sent; no end of it is hostile."""
    shown = (c if c.isprintable() or c in _JOINERS else " " for c in text[: 4 * LONGEST])
    return " ".join("".join(shown).split())[:LONGEST].rstrip()

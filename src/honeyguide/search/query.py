"""Search queries: their text, their parts, and when two of them are the same."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from honeyguide.text.normalise import Spelling, fold_letters

MAX_QUERY_LENGTH = 1000
"""Characters of a query that are read; no engine takes more."""

_QUERY_PART = re.compile(r'(-?)"([^"]*)"|(\S+)')
_OPERATOR_CHARS = re.compile(r'["=:|()*~^{}\[\]<>\\]')
_find_operator = re.compile(rf"{_OPERATOR_CHARS.pattern}|\A[-+!?@]").search
"""Characters that may be operators of an engine; words with them are a person's own."""
_OPERATORS = frozenset({"AND", "OR", "NOT", "NEAR"})
_JOINERS = "\u200c\u200d"
"""They stand inside words of Persian and Hindi."""
_ANY_LANGUAGE = Spelling()


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
        return _query_key(parse_query(self.text) if self.text else self)

    def __str__(self) -> str:
        if self.text:
            return _clean_line(self.text)
        return " ".join([*map(_quote_phrase, self.terms), *(f'-"{term}"' for term in self.without)])


def parse_query(text: str) -> Query:
    """The query that is written so: ``str(parse(text))`` is the text again, but for blanks.

    Terms are told from a person's words by the writing alone: what would be sent in the very same
    way is one query, whoever made it.
    """
    text = _clean_line(text)
    made = _split_parts(text)
    plain = all(map(_is_plain, (*made.terms, *made.without)))
    return made if made.terms and plain and str(made) == text else Query(text=text)


def clean_phrase(text: str) -> str:
    """A text as a term can hold it, without what an engine could take for an order."""
    words = (word.lstrip("-+!?@") for word in _clean_line(_OPERATOR_CHARS.sub(" ", text)).split())
    return " ".join(word for word in words if word and word not in _OPERATORS)


def fold_term(term: str) -> str:
    """One writing for terms that readers take for the same, in any language."""
    return fold_letters(term, _ANY_LANGUAGE)[0]


def _split_parts(text: str) -> Query:
    terms: list[str] = []
    without: list[str] = []
    for part in _QUERY_PART.finditer(text):
        minus, phrase, word = part.groups()
        (without if minus else terms).append(word if phrase is None else phrase)
    return Query(tuple(terms), tuple(without))


def _is_plain(term: str) -> bool:
    return bool(term.strip()) and not _find_operator(term) and term not in _OPERATORS


@lru_cache(maxsize=4096)
def _query_key(query: Query) -> str:
    if query.text:
        # No term holds the sign, so that no row of terms is taken for these words.
        return f"= {fold_term(_clean_line(query.text))}"
    return " ".join(map(_quote_phrase, _sorted_terms(query.terms)))


def _sorted_terms(terms: Iterable[str]) -> list[str]:
    return sorted({" ".join(fold_term(term).split()) for term in terms})


def _quote_phrase(term: str) -> str:
    return f'"{term}"' if " " in term else term


def _clean_line(text: str) -> str:
    """On one line and without what cannot be seen, stored or sent; no end of it is hostile."""
    shown = (c if c.isprintable() or c in _JOINERS else " " for c in text[: 4 * MAX_QUERY_LENGTH])
    return " ".join("".join(shown).split())[:MAX_QUERY_LENGTH].rstrip()

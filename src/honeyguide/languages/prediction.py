"""Predict the language of the pages that links lead to, from links that were followed.

A link shows signs: a declared language (hreflang), a code in its address, the domain of a country,
the letters of its words, the language of the page that contains it. Each sign has a weight, and so
have the registrable domain, the host, the first part of the path and the directory of the link,
which begin at 0. A site that marks everything ``/tr/`` and writes English is soon known for it and
cannot spoil the mark for others.

Weights are log-odds, corrected after each visit. The weights concerned share the surprise,
uncertain ones the most: logistic regression in one pass, as in the dynamic models of West, Harrison
& Migon 1985, with variances only. New here: one registrable domain can move the weight of a sign by
a bounded amount only, since signs are shared by all sites.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from math import exp
from typing import NamedTuple

from honeyguide.languages.detection import (
    DETECTABLE,
    LANGUAGE_TABLES,
    DetectedLanguage,
    primary_code,
)
from honeyguide.text.language import BoundedMemo, stop_words
from honeyguide.types import Link, Reason, Url
from honeyguide.url import domain_of

_ALPHABETS: dict[str, str] = LANGUAGE_TABLES["alphabets"]
"""Letters of languages in Latin script besides those of English."""
_ENGLISH = frozenset(LANGUAGE_TABLES["english_words"].split())
"""Words that only English has. The usual stop words contain country codes."""
_RICH = frozenset(LANGUAGE_TABLES["rich"].split())
"""Languages in Latin script that use letters of their own in nearly every phrase."""
_PLAIN = 12
"""Length of ASCII text from which a missing letter of such a language is evidence."""


class LanguageLetters:
    """Whether words look like the wanted languages."""

    def __init__(self, wanted: frozenset[str]) -> None:
        ranges: dict[str, str] = LANGUAGE_TABLES["scripts"]
        scripts = [chars for chars, codes in ranges.items() if wanted.intersection(codes.split())]
        latin = "".join(_ALPHABETS.get(code, "") for code in sorted(wanted))
        own = "".join(scripts) + re.escape(latin + latin.upper().replace("SS", ""))
        self._own = re.compile(f"[{own}]" if own else r"(?!)").search
        stops: frozenset[str] = frozenset().union(*map(stop_words, sorted(wanted)))
        english = _ENGLISH if "en" not in wanted else frozenset()
        self._english = english - stops
        self._stops = frozenset(word for word in stops if len(word) > 1) - english
        telling = bool(scripts) or not wanted.isdisjoint(_RICH)
        self._plain = "plain" if telling and "en" not in wanted else ""

    def classify_text(self, text: str) -> str:
        """'own', 'foreign', 'english', 'plain' (ASCII only), or '' if unclear."""
        text = text[:200]
        if not text.isascii():
            if self._own(text):
                return "own"
            if any(letter.isalpha() and letter > "\x7f" for letter in text):
                return "foreign"
        words = text.lower().split()
        if not self._stops.isdisjoint(words):
            return "own"
        if not self._english.isdisjoint(words):
            return "english"
        return self._plain if len(text) >= _PLAIN else ""


# --- Signs in addresses ---


_AMBIGUOUS_CODES = frozenset(LANGUAGE_TABLES["ambiguous_codes"].split())
"""Codes that mostly mean something else in an address: departments, words, states, countries.
They count where they are wanted, or with a country: ``/it-it/``."""
_NAMES: dict[str, str] = LANGUAGE_TABLES["names"]
_CODE = re.compile(r"([a-z]{2,3})(?:[-_](?:[a-z]{2}|[a-z]{4}|[0-9]{3}))?\Z").match
_QUERY = re.compile(
    r"[?&;](?:lang|language|lng|hl|locale|lc|ln|dil|langid|setlang|uselang|ui)=([a-z_-]{2,7})",
    re.IGNORECASE,
).search

_MAX_HINT_CHARS = 400
"""Characters of an address that are read."""

COUNTRY_LANGUAGES: dict[str, tuple[str, ...]] = {
    country: tuple(codes.split()) for country, codes in LANGUAGE_TABLES["countries"].items()
}
"""Languages of top-level domains. Country domains that are used worldwide (.io, .tv, .me, .co,
.ai …) are left out."""


def language_of_name(name: str, wanted: frozenset[str]) -> str:
    """The language that a part of an address names: ``tr``, ``en-US``, ``turkce``; or ''."""
    name = name.lower()
    found = _CODE(name)
    code = primary_code(found[1]) if found else ""
    if code in wanted:
        return code
    if len(code) != 2 or code not in DETECTABLE or name in _AMBIGUOUS_CODES:
        return _NAMES.get(name, "")
    return code


def language_of_directory(directory: str, wanted: frozenset[str]) -> str:
    """The language of ``https://tr.example.org/a/b/``: that of the last part that names one."""
    host, *segments = directory.partition("//")[2][:_MAX_HINT_CHARS].split("/")
    label, _, rest = host.partition(".")
    found = language_of_name(label, wanted) if "." in rest else ""
    for segment in segments:
        found = language_of_name(segment, wanted) or found
    return found


def language_of_file(name: str, wanted: frozenset[str]) -> str:
    """The language of the end of an address: ``index_tr.html``, ``tr``, ``x?lang=tr``."""
    query = name.find("?")
    if query >= 0:
        if (found := _QUERY(name[query : query + _MAX_HINT_CHARS])) and (
            code := primary_code(found[1])
        ) in DETECTABLE:
            return code
        name = name[:query]
    dot = name.rfind(".")
    stem = name if dot < 0 else name[:dot]
    if len(stem) > 3 and stem[-3] in "._-":
        return language_of_name(stem[-2:], wanted)
    return language_of_name(stem, wanted) if len(stem) < 12 and stem.isalpha() else ""


# --- Weights ---


_PLACE = 0.7
"""Prior variance of a place."""
_SWAY = 0.5
"""How far one registrable domain can move the weight of a sign."""
_FADE = 0.995
"""Certainty that remains after a visit: sites change and are not uniform."""
_FAR = 5.0
"""Largest absolute weight."""
_HOSTS = 50_000
"""Places, and domains, that are stored; the oldest are dropped first."""


class SignWeight:
    """A weight with its variance."""

    __slots__ = ("doubt", "mean", "most")

    def __init__(self, mean: float, doubt: float) -> None:
        self.mean = mean
        self.doubt = self.most = doubt


class SignWeights:
    """Weights of signs, with a prior (mean and variance), and of places, which begin at 0."""

    def __init__(self, prior: Mapping[str, tuple[float, float]]) -> None:
        self.signs = {sign: SignWeight(*known) for sign, known in prior.items()}
        self.places: OrderedDict[str, SignWeight] = OrderedDict()
        self.moved: OrderedDict[str, dict[str, float]] = OrderedDict()
        """Registrable domain → how far it moved each sign."""

    def learn(
        self, signs: Sequence[str], places: Sequence[str], owners: Collection[str], came: bool
    ) -> None:
        """Correct the weights after a visit. ``owners`` are the domains that wrote the page or the
        link."""
        moved = [self._moved_by(name) for name in owners]
        own = [self._place_weight(place) for place in places]
        odds = sum(self.signs[sign].mean for sign in signs) + sum(part.mean for part in own)
        expected = 1 / (1 + exp(-odds))
        slope, way = expected * (1 - expected), 1 if came else -1
        room = {sign: min(_SWAY - way * each.get(sign, 0.0) for each in moved) for sign in signs}
        free = [sign for sign in signs if room[sign] > 0]
        parts = [self.signs[sign] for sign in free] + own
        doubt = 1 + slope * sum(part.doubt for part in parts)
        steps = [part.doubt * abs(came - expected) / doubt for part in parts]
        for turn, sign in enumerate(free):
            steps[turn] = min(steps[turn], room[sign])
            for each in moved:
                each[sign] = each.get(sign, 0.0) + way * steps[turn]
        for part, step in zip(parts, steps, strict=True):
            part.mean = min(max(part.mean + way * step, -_FAR), _FAR)
            left = part.doubt * (1 - slope * part.doubt / doubt)
            part.doubt = min(part.most, left / _FADE)

    def _moved_by(self, name: str) -> dict[str, float]:
        moved = self.moved.get(name)
        if moved is None:
            moved = self.moved[name] = {}
            if len(self.moved) > _HOSTS:
                self.moved.popitem(last=False)
        return moved

    def _place_weight(self, place: str) -> SignWeight:
        weight = self.places.get(place)
        if weight is None:
            weight = self.places[place] = SignWeight(0.0, _PLACE)
            if len(self.places) > _HOSTS:
                self.places.popitem(last=False)
        return weight


# --- Prediction ---


SIGN_PRIORS: dict[str, tuple[float, float]] = {
    sign: (mean, variance) for sign, (mean, variance) in LANGUAGE_TABLES["sign_priors"].items()
}
"""Prior weights and variances of the signs."""
_PAGES = 50_000
"""Pages whose language is stored; the oldest are dropped first."""
_MEMO = 20_000
"""Texts of each kind whose classification is cached."""
_MAX_URL_CHARS = 300
"""Characters of an address that distinguish places."""
_WORDS = {
    "own": "words with a wanted language's letters", "foreign": "words with other letters",
    "english": "words in English", "plain": "words in plain letters", "": "",
}  # fmt: skip
_AROUND = {kind: sign.replace("words", "words around") for kind, sign in _WORDS.items()}
_STANDS = {
    (True, True): "on a page in a wanted language",
    (True, False): "on a page in another language",
    (False, True): "on another site's page in a wanted language",
    (False, False): "on another site's page in another language",
}


class _DirectorySigns(NamedTuple):
    """What the links to one directory have in common."""

    domain: str
    """The registrable domain."""
    places: tuple[str, ...]
    """Domain, host, first part of the path, and the directory; each once."""
    mark: str
    """The sign of a language in its name, or ''."""
    country: str
    """The sign of its top-level domain, or ''."""


class LinkLanguagePredictor:
    """Predicts whether links lead to pages in the wanted languages. Deterministic: the same visits
    give the same predictions."""

    def __init__(self, wanted: tuple[str, ...]) -> None:
        self._wanted = frozenset(primary_code(code) or code for code in wanted)
        self._weights = SignWeights(SIGN_PRIORS)
        self._pages: OrderedDict[Url, bool] = OrderedDict()
        """Pages that were read, and whether they are in a wanted language."""
        letters = LanguageLetters(self._wanted)
        memo = partial(BoundedMemo, most=_MEMO, longest=_MAX_URL_CHARS)
        self._phrases = memo(lambda text: _WORDS[letters.classify_text(text)])
        self._arounds = memo(lambda text: _AROUND[letters.classify_text(text)])
        self._names = memo(lambda name: self._address_sign(language_of_file(name, self._wanted)))
        self._directories = memo(self._read_directory)

    def add_page(self, url: Url, detected: DetectedLanguage) -> None:
        """Record the language of a page whose links will be predicted."""
        if detected.code and len(url) <= _MAX_URL_CHARS:
            self._pages[url] = detected.code in self._wanted
            if len(self._pages) > _PAGES:
                self._pages.popitem(last=False)

    def predict_links(self, links: Sequence[Link]) -> list[float]:
        """The probability of each link to lead to a page in a wanted language."""
        weights = {sign: weight.mean for sign, weight in self._weights.signs.items()}
        weights[""] = 0.0
        phrases, arounds, names = self._phrases, self._arounds, self._names
        known: dict[str, tuple[float, str, str]] = {}
        page: Url | None = None
        site, source_odds = "", 0.0
        found = []
        for link in links:
            url, source, anchor, before, after, _, _, hreflang = link[:8]
            directory = _directory_of(url)
            shared = known.get(directory)
            if shared is None:
                shared = known[directory] = self._directory_odds(directory)
            odds, mark, host = shared
            if source != page or host != site:
                page, site = source, host
                source_odds = weights[self._source_sign(source, host)]
            odds += source_odds
            odds += weights[names[url[len(directory) :]] or mark]
            sign = phrases[anchor]
            if not sign and (before or after):
                sign = arounds[f"{before} {after}"]
            odds += weights[sign]
            if hreflang:
                odds += weights[self._declared_sign(hreflang)]
            found.append(1 / (1 + exp(-odds)))
        return found

    def learn_link(self, link: Link, wanted: bool) -> None:
        """Learn whether a link led to a page in a wanted language."""
        directory = self._directories[_directory_of(link.url)]
        # Who wrote the page, and who wrote the link: either may lie.
        owners = {directory.domain}
        if link.source:
            owners.add(self._directories[_directory_of(link.source)].domain)
        self._weights.learn(self._link_signs(link), directory.places, owners, wanted)

    def explain_link(self, link: Link) -> tuple[Reason, ...]:
        """The signs of a link in log-odds; their sum gives its probability."""
        signs, places = self._weights.signs, self._weights.places
        reasons = [Reason(sign, signs[sign].mean) for sign in self._link_signs(link)]
        reasons += (
            Reason(f"other links to {place}", places[place].mean)
            for place in self._directories[_directory_of(link.url)].places
            if place in places
        )
        return tuple(reasons)

    def _link_signs(self, link: Link) -> list[str]:
        """All signs of a link; :meth:`predict_links` reads the same in a faster order."""
        directory = _directory_of(link.url)
        _, _, mark, country = self._directories[directory]
        signs = [
            "any link",
            country,
            self._names[link.url[len(directory) :]] or mark,
            self._declared_sign(link.hreflang),
            self._phrases[link.anchor],
            self._source_sign(link.source, _host_of(directory)),
        ]
        if not signs[4] and (link.before or link.after):
            signs[4] = self._arounds[f"{link.before} {link.after}"]
        return [sign for sign in signs if sign]

    def _directory_odds(self, directory: str) -> tuple[float, str, str]:
        """Log-odds of all links to a directory, the sign of its name, and its host."""
        _, places, mark, country = self._directories[directory]
        odds = self._weights.signs["any link"].mean
        if country:
            odds += self._weights.signs[country].mean
        for place in places:
            if (weight := self._weights.places.get(place)) is not None:
                odds += weight.mean
        return odds, mark, _host_of(directory)

    def _read_directory(self, directory: str) -> _DirectorySigns:
        start = directory.find("//") + 2
        host = directory.find("/", start) + 1
        first = directory.find("/", host) + 1 or host
        places = (directory[start:end][:_MAX_URL_CHARS] for end in (host, first, None))
        name = directory[start:host].rstrip("/").partition(":")[0].rstrip(".")
        owner, country = domain_of(name)[:_MAX_URL_CHARS], name.rpartition(".")[2]
        sign = ""
        if country in COUNTRY_LANGUAGES:
            ours = not self._wanted.isdisjoint(COUNTRY_LANGUAGES[country])
            sign = "a wanted language's domain" if ours else "another language's domain"
        mark = self._address_sign(language_of_directory(directory, self._wanted))
        return _DirectorySigns(owner, tuple(dict.fromkeys((f"{owner}/", *places))), mark, sign)

    def _address_sign(self, code: str) -> str:
        if not code:
            return ""
        which = "a wanted" if code in self._wanted else "another"
        return f"{which} language in its address"

    def _declared_sign(self, tag: str) -> str:
        if not (code := primary_code(tag)):
            return ""
        return f"declared in {'a wanted' if code in self._wanted else 'another'} language"

    def _source_sign(self, source: Url | None, host: str) -> str:
        ours = self._pages.get(source) if source else None
        if source is None or ours is None:
            return ""
        return _STANDS[source.startswith(host), ours]


def _directory_of(url: str) -> str:
    """The address up to the last slash of the path."""
    query = url.find("?")
    return url[: (url.rfind("/") if query < 0 else url.rfind("/", 0, query)) + 1]


def _host_of(url: str) -> str:
    return url[: url.find("/", 8) + 1]

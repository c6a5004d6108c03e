"""What language links lead to, told from what links looked like that were followed.

A link shows signs: a declared language (hreflang), a code in its address, a country's domain, the
letters of its words, the language of the page that it stands on. Each has a weight, and so have its
registrable domain, its host, the first part of its path, and its directory, which begin at nothing.
They learn from each visit (:mod:`honeyguide.text.language_weights`), so a site that marks
everything ``/tr/`` and writes English is soon known for it, and cannot spoil the mark for others.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from math import exp
from typing import NamedTuple, TypeVar

from honeyguide.text.language_detection import Tongue
from honeyguide.text.language_letters import Letters
from honeyguide.text.language_priors import primary
from honeyguide.text.language_url_hints import COUNTRIES, tongue_of_directory, tongue_of_file
from honeyguide.text.language_weights import Weights
from honeyguide.types import Link, Reason, Url
from honeyguide.url import domain

V = TypeVar("V")

PRIOR: dict[str, tuple[float, float]] = {
    "any link": (0.0, 0.5),
    "declared in a wanted language": (2.5, 1.0),
    "declared in another language": (-3.0, 1.0),
    "a wanted language in its address": (2.0, 1.0),
    "another language in its address": (-2.5, 1.0),
    "a wanted language's domain": (1.2, 0.5),
    "another language's domain": (-1.5, 0.5),
    "words with a wanted language's letters": (2.0, 0.5),
    "words with other letters": (-2.0, 0.5),
    "words in English": (-1.5, 0.5),
    "words in plain letters": (-0.5, 0.3),
    "words around with a wanted language's letters": (1.0, 0.5),
    "words around with other letters": (-1.0, 0.5),
    "words around in English": (-0.7, 0.5),
    "words around in plain letters": (-0.2, 0.3),
    "on a page in a wanted language": (1.5, 0.5),
    "on a page in another language": (-1.5, 0.5),
    "on another site's page in a wanted language": (0.8, 0.5),
    "on another site's page in another language": (-0.8, 0.5),
}
"""Weights, and their variances, before anything was followed."""
_PAGES = 50_000
"""Pages that were read, and are remembered; the oldest are forgotten first …"""
_MEMO = 20_000
"""… and texts of each kind that were looked at."""
_LONG = 300
"""Characters of an address that tell one place from another."""
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


class _Memo(dict[str, V]):
    """What was made of texts before: ``memo[text]``."""

    def __init__(self, make: Callable[[str], V]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, text: str) -> V:
        if len(text) > _LONG:
            return self._make(text)
        if len(self) >= _MEMO:
            self.clear()
        made = self[text] = self._make(text)
        return made


class _Directory(NamedTuple):
    """What the links to one directory have in common."""

    domain: str
    """The registrable one."""
    places: tuple[str, ...]
    """Domain, host, first part of the path, the directory; each once."""
    mark: str
    """The sign that a language in its name is, if any …"""
    country: str
    """… and its top-level domain."""


class Guess:
    """Foretells whether links lead to pages in the wanted languages. Nobody's clock, no dice:
    told the same visits, it says the same."""

    def __init__(self, wanted: tuple[str, ...]) -> None:
        self._wanted = frozenset(primary(code) or code for code in wanted)
        self._weights = Weights(PRIOR)
        self._pages: OrderedDict[Url, bool] = OrderedDict()
        """Pages that were read, and whether in a wanted language."""
        letters = Letters(self._wanted)
        self._phrases = _Memo(lambda text: _WORDS[letters.of(text)])
        self._arounds = _Memo(lambda text: _AROUND[letters.of(text)])
        self._names = _Memo(lambda name: self._mark(tongue_of_file(name, self._wanted)))
        self._directories = _Memo(self._seen)

    def read(self, url: Url, tongue: Tongue) -> None:
        """A page was read; its links may be asked about from now on."""
        if tongue.code and len(url) <= _LONG:
            self._pages[url] = tongue.code in self._wanted
            if len(self._pages) > _PAGES:
                self._pages.popitem(last=False)

    def chances(self, links: Sequence[Link]) -> list[float]:
        """How likely each leads to a page in a wanted language."""
        weights = {sign: weight.mean for sign, weight in self._weights.signs.items()}
        weights[""] = 0.0
        phrases, arounds, names = self._phrases, self._arounds, self._names
        known: dict[str, tuple[float, str, str]] = {}
        page: Url | None = None
        site, standing = "", 0.0
        found = []
        for link in links:
            url, source, anchor, before, after, _, _, hreflang = link[:8]
            directory = _directory(url)
            shared = known.get(directory)
            if shared is None:
                shared = known[directory] = self._shared(directory)
            odds, mark, host = shared
            if source != page or host != site:
                page, site = source, host
                standing = weights[self._stands(source, host)]
            odds += standing
            odds += weights[names[url[len(directory) :]] or mark]
            sign = phrases[anchor]
            if not sign and (before or after):
                sign = arounds[f"{before} {after}"]
            odds += weights[sign]
            if hreflang:
                odds += weights[self._declared(hreflang)]
            found.append(1 / (1 + exp(-odds)))
        return found

    def followed(self, link: Link, wanted: bool) -> None:
        """It led to a page in a wanted language, or to one in another."""
        directory = self._directories[_directory(link.url)]
        # Who wrote the page, and who wrote the link: either may lie.
        owners = {directory.domain}
        if link.source:
            owners.add(self._directories[_directory(link.source)].domain)
        self._weights.learn(self._signs(link), directory.places, owners, wanted)

    def why(self, link: Link) -> tuple[Reason, ...]:
        """The signs of a link, in log-odds; together they are its chance."""
        signs, places = self._weights.signs, self._weights.places
        reasons = [Reason(sign, signs[sign].mean) for sign in self._signs(link)]
        reasons += (
            Reason(f"other links to {place}", places[place].mean)
            for place in self._directories[_directory(link.url)].places
            if place in places
        )
        return tuple(reasons)

    def _signs(self, link: Link) -> list[str]:
        """All that it shows; :meth:`chances` looks at the same in another order, for speed."""
        directory = _directory(link.url)
        _, _, mark, country = self._directories[directory]
        signs = [
            "any link",
            country,
            self._names[link.url[len(directory) :]] or mark,
            self._declared(link.hreflang),
            self._phrases[link.anchor],
            self._stands(link.source, _host(directory)),
        ]
        if not signs[4] and (link.before or link.after):
            signs[4] = self._arounds[f"{link.before} {link.after}"]
        return [sign for sign in signs if sign]

    def _shared(self, directory: str) -> tuple[float, str, str]:
        """Log-odds of all links to a directory, the sign that its name is, and its host."""
        _, places, mark, country = self._directories[directory]
        odds = self._weights.signs["any link"].mean
        if country:
            odds += self._weights.signs[country].mean
        for place in places:
            if (weight := self._weights.places.get(place)) is not None:
                odds += weight.mean
        return odds, mark, _host(directory)

    def _seen(self, directory: str) -> _Directory:
        start = directory.find("//") + 2
        host = directory.find("/", start) + 1
        first = directory.find("/", host) + 1 or host
        places = (directory[start:end][:_LONG] for end in (host, first, None))
        name = directory[start:host].rstrip("/").partition(":")[0].rstrip(".")
        owner, country = domain(name)[:_LONG], name.rpartition(".")[2]
        sign = ""
        if country in COUNTRIES:
            ours = not self._wanted.isdisjoint(COUNTRIES[country])
            sign = "a wanted language's domain" if ours else "another language's domain"
        mark = self._mark(tongue_of_directory(directory, self._wanted))
        return _Directory(owner, tuple(dict.fromkeys((f"{owner}/", *places))), mark, sign)

    def _mark(self, code: str) -> str:
        if not code:
            return ""
        ours = code in self._wanted
        return "a wanted language in its address" if ours else "another language in its address"

    def _declared(self, tag: str) -> str:
        code = primary(tag)
        if not code:
            return ""
        ours = code in self._wanted
        return "declared in a wanted language" if ours else "declared in another language"

    def _stands(self, source: Url | None, host: str) -> str:
        ours = self._pages.get(source) if source else None
        if source is None or ours is None:
            return ""
        return _STANDS[source.startswith(host), ours]


def _directory(url: str) -> str:
    """Up to the last slash of the path."""
    query = url.find("?")
    return url[: (url.rfind("/") if query < 0 else url.rfind("/", 0, query)) + 1]


def _host(url: str) -> str:
    return url[: url.find("/", 8) + 1]

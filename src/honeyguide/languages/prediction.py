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

from honeyguide.languages.detection import DETECTABLE, DetectedLanguage, primary_code
from honeyguide.text.language import BoundedMemo, stop_words
from honeyguide.types import Link, Reason, Url
from honeyguide.url import domain_of

_ALPHABETS = {
    "az": "çəğıiöşüİ", "ca": "àçèéíïòóúü·", "cs": "áčďéěíňóřšťúůýž", "da": "æøå", "de": "äöüß",
    "es": "áéíñóúü¿¡", "et": "äõöüšž", "fi": "äöå", "fr": "àâæçéèêëîïôœùûüÿ", "hr": "čćđšž",
    "hu": "áéíóöőúüű", "is": "áðéíóúýþæö", "it": "àèéìòù", "lt": "ąčęėįšųūž", "lv": "āčēģīķļņšūž",
    "nl": "éëïöü", "no": "æøå", "pl": "ąćęłńóśźż", "pt": "áâãàçéêíóôõú", "ro": "ăâîșțşţ",
    "sk": "áäčďéíĺľňóôŕšťúýž", "sl": "čšž", "sq": "çë", "sv": "åäö", "tk": "çäňöşüýž",
    "tr": "çğıöşüâîûİ", "uz": "ʻ’",
    "vi": "àáâãèéêìíòóôõùúýăđĩũơưạảấầẩẫậắằẳẵặẹẻẽếềểễệỉịọỏốồổỗộớờởỡợụủứừửữựỳỵỷỹ",
}  # fmt: skip
"""Letters of languages in Latin script besides those of English."""
_SCRIPTS = {
    "\u0370-\u03ff\u1f00-\u1fff": "el grc", "\u0400-\u052f": "ba be bg kk ky mk mn ru sr tg tt uk",
    "\u0530-\u058f": "hy", "\u0590-\u05ff": "he hbo",
    "\u0600-\u06ff\u0750-\u077f\ufb50-\ufdff\ufe70-\ufeff": "ar ary arz fa ku ps sdh ug ur",
    "\u0900-\u097f": "hi mr ne sa gom", "\u0980-\u09ff": "as bn", "\u0a00-\u0a7f": "pa",
    "\u0a80-\u0aff": "gu", "\u0b00-\u0b7f": "or", "\u0b80-\u0bff": "ta", "\u0c00-\u0c7f": "te",
    "\u0c80-\u0cff": "kn", "\u0d00-\u0d7f": "ml", "\u0d80-\u0dff": "si", "\u0e00-\u0e7f": "th",
    "\u0e80-\u0eff": "lo", "\u1000-\u109f": "my", "\u10a0-\u10ff": "ka", "\u1200-\u137f": "am",
    "\u1780-\u17ff": "km", "\uac00-\ud7af\u1100-\u11ff": "ko", "\u3040-\u30ff": "ja",
    "\u3400-\u9fff": "zh ja yue wuu",
}  # fmt: skip
_ENGLISH = frozenset(
    {"about", "an", "and", "are", "as", "at", "be", "by", "can", "for", "from", "has", "have",
     "how", "if", "into", "is", "it", "its", "more", "not", "of", "on", "or", "our", "out", "that",
     "the", "their", "this", "to", "using", "we", "what", "when", "which", "who", "why", "with",
     "you", "your"}
)  # fmt: skip
"""Words that only English has. The usual stop words contain country codes."""
_RICH = frozenset({"az", "cs", "hu", "lt", "lv", "pl", "ro", "sk", "tr", "vi"})
"""Languages in Latin script that use letters of their own in nearly every phrase."""
_PLAIN = 12
"""Length of ASCII text from which a missing letter of such a language is evidence."""


class LanguageLetters:
    """Whether words look like the wanted languages."""

    def __init__(self, wanted: frozenset[str]) -> None:
        scripts = [chars for chars, codes in _SCRIPTS.items() if wanted.intersection(codes.split())]
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


_OTHER_WORDS = frozenset(
    {"am", "an", "as", "be", "br", "id", "in", "is", "it", "la", "lo", "mn", "ms", "my", "no", "or",
     "pa", "se", "si", "sl", "so", "st", "te", "th", "tl", "uk", "vi", "wa"}
)  # fmt: skip
"""Codes that mostly mean something else in an address: departments, words, states, countries.
They count where they are wanted, or with a country: ``/it-it/``."""
_NAMES = {
    "turkish": "tr", "turkce": "tr", "türkçe": "tr", "english": "en", "ingilizce": "en",
    "german": "de", "deutsch": "de", "french": "fr", "francais": "fr", "spanish": "es",
    "espanol": "es", "russian": "ru", "arabic": "ar", "italian": "it", "italiano": "it",
    "portuguese": "pt", "portugues": "pt", "chinese": "zh", "japanese": "ja", "korean": "ko",
}  # fmt: skip
_CODE = re.compile(r"([a-z]{2,3})(?:[-_](?:[a-z]{2}|[a-z]{4}|[0-9]{3}))?\Z").match
_QUERY = re.compile(
    r"[?&;](?:lang|language|lng|hl|locale|lc|ln|dil|langid|setlang|uselang|ui)=([a-z_-]{2,7})",
    re.IGNORECASE,
).search

_MAX_HINT_CHARS = 400
"""Characters of an address that are read."""

_COUNTRIES = """
ad ca|ae ar|af fa ps|al sq|am hy|ar es|at de|az az|ba bs hr sr|bd bn|be nl fr|bg bg|bh ar|bo es
br pt|by be ru|ca en fr|ch de fr it|cl es|cn zh|cr es|cu es|cy el tr|cz cs|de de|dk da|do es
dz ar fr|ec es|ee et|eg ar|es es ca gl eu|fi fi sv|fo fo|fr fr|ge ka|gr el|gt es|hk zh en|hn es
hr hr|hu hu|id id|ie en ga|il he|in en hi|iq ar ku|ir fa|is is|it it|jo ar|jp ja|ke en sw|kg ky ru
kh km|kr ko|kw ar|kz kk ru|lb ar|lk si ta|lt lt|lu fr de lb|lv lv|ma ar fr|md ro|mk mk|mn mn
mt mt en|mx es|my ms en|ng en|ni es|nl nl|no no|np ne|nz en|om ar|pa es|pe es|ph tl en|pk ur en
pl pl|ps ar|pt pt|py es|qa ar|ro ro|rs sr|ru ru|sa ar|se sv|sg en zh|si sl|sk sk|sn fr|so so|sv es
sy ar|th th|tj tg|tm tk|tn ar fr|tr tr|tw zh|tz sw|ua uk ru|uk en|us en|uy es|uz uz|va it la|ve es
vn vi|ye ar|za en af|au en|cat ca|eus eu|gal gl|bzh br|su ru|edu en|gov en|mil en|xn--p1ai ru
xn--fiqs8s zh|xn--j6w193g zh|xn--wgbh1c ar|xn--mgberp4a5d4ar ar|xn--j1amh uk|xn--3e0b707e ko
xn--90ais be|xn--qxam el|xn--node ka|xn--h2brj9c hi|xn--e1a4c bg|xn--90a3ac sr
"""
COUNTRY_LANGUAGES = {
    words[0]: tuple(words[1:])
    for words in (entry.split() for entry in re.split(r"[|\n]", _COUNTRIES))
    if words
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
    if len(code) != 2 or code not in DETECTABLE or name in _OTHER_WORDS:
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

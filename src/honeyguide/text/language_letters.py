"""What the letters of a few words say of their language; for links, so in a microsecond."""

from __future__ import annotations

import re

from honeyguide.text.tokens import stop_words

_ALPHABETS = {
    "az": "çəğıiöşüİ", "ca": "àçèéíïòóúü·", "cs": "áčďéěíňóřšťúůýž", "da": "æøå", "de": "äöüß",
    "es": "áéíñóúü¿¡", "et": "äõöüšž", "fi": "äöå", "fr": "àâæçéèêëîïôœùûüÿ", "hr": "čćđšž",
    "hu": "áéíóöőúüű", "is": "áðéíóúýþæö", "it": "àèéìòù", "lt": "ąčęėįšųūž", "lv": "āčēģīķļņšūž",
    "nl": "éëïöü", "no": "æøå", "pl": "ąćęłńóśźż", "pt": "áâãàçéêíóôõú", "ro": "ăâîșțşţ",
    "sk": "áäčďéíĺľňóôŕšťúýž", "sl": "čšž", "sq": "çë", "sv": "åäö", "tk": "çäňöşüýž",
    "tr": "çğıöşüâîûİ", "uz": "ʻ’",
    "vi": "àáâãèéêìíòóôõùúýăđĩũơưạảấầẩẫậắằẳẵặẹẻẽếềểễệỉịọỏốồổỗộớờởỡợụủứừửữựỳỵỷỹ",
}  # fmt: skip
"""The letters, besides those of English, of languages in Latin script."""
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
"""Words that give English away. The usual list of stop words has countries' codes among them."""
_RICH = frozenset({"az", "cs", "hu", "lt", "lv", "pl", "ro", "sk", "tr", "vi"})
"""Latin script, but with so many letters of their own that few phrases do without."""
_PLAIN = 12
"""ASCII letters in a row of words that a language with many others would hardly do without."""


class Letters:
    """Whether words look like the wanted languages."""

    def __init__(self, wanted: frozenset[str]) -> None:
        scripts = [chars for chars, codes in _SCRIPTS.items() if wanted.intersection(codes.split())]
        latin = "".join(_ALPHABETS.get(code, "") for code in sorted(wanted))
        own = "".join(scripts) + re.escape(latin + latin.upper().replace("SS", ""))
        self._own = re.compile(f"[{own}]").search if own else _nowhere
        stops: frozenset[str] = frozenset().union(*map(stop_words, sorted(wanted)))
        english = _ENGLISH if "en" not in wanted else frozenset()
        self._english = english - stops
        self._stops = frozenset(word for word in stops if len(word) > 1) - english
        telling = bool(scripts) or not wanted.isdisjoint(_RICH)
        self._plain = "plain" if telling and "en" not in wanted else ""

    def of(self, text: str) -> str:
        """'own', 'foreign', 'english', 'plain' (nothing but ASCII), or '' : no telling."""
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


def _nowhere(text: str) -> None:
    """No letter is searched for."""

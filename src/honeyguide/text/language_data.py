"""What we know of single languages: stemmers, letters that are alike, scripts without blanks."""

from __future__ import annotations

from honeyguide.text.normalise import Pairs, Spelling

SNOWBALL = {
    "ar": "arabic", "ca": "catalan", "cs": "czech", "da": "danish", "de": "german", "el": "greek",
    "en": "english", "eo": "esperanto", "es": "spanish", "et": "estonian", "eu": "basque",
    "fa": "persian", "fi": "finnish", "fr": "french", "ga": "irish", "hi": "hindi",
    "hu": "hungarian", "hy": "armenian", "id": "indonesian", "it": "italian", "lt": "lithuanian",
    "nb": "norwegian", "ne": "nepali", "nl": "dutch", "nn": "norwegian", "no": "norwegian",
    "pl": "polish", "pt": "portuguese", "ro": "romanian", "ru": "russian", "sr": "serbian",
    "st": "sesotho", "sv": "swedish", "ta": "tamil", "tr": "turkish", "yi": "yiddish",
}  # fmt: skip
"""Code → Snowball's stemmer; an older PyStemmer may lack some."""

STOPS = {"nb": "no", "nn": "no"}
"""Codes whose list of stop words goes by another code."""

PER_WORD = {"zh": 2, "yue": 2, "ja": 2, "th": 3, "lo": 3, "km": 3, "my": 3}
"""Languages without blanks between words, and how many characters make a word of running text."""

_TURKIC: Pairs = (("İ", "i"), ("I", "ı"))
_CAPITALS = {"tr": _TURKIC, "az": _TURKIC, "crh": _TURKIC}

_ALIKE: dict[str, Pairs] = {
    "ar": (("أ", "ا"), ("إ", "ا"), ("آ", "ا"), ("ٱ", "ا"), ("ى", "ي")),
    "de": (("ß", "ss"),),
    # Capitals are written without accents, and ς is σ at the end.
    "el": (
        ("ά", "α"), ("έ", "ε"), ("ή", "η"), ("ί", "ι"), ("ό", "ο"), ("ύ", "υ"), ("ώ", "ω"),
        ("ΐ", "ϊ"), ("ΰ", "ϋ"), ("ς", "σ"),
    ),
    # Keyboards and old encodings write the Arabic letters.
    "fa": (("ي", "ی"), ("ى", "ی"), ("ك", "ک"), ("ۀ", "ه")),
    "fr": (("œ", "oe"), ("æ", "ae")),
    # Old encodings have the cedilla only.
    "ro": (("ş", "ș"), ("ţ", "ț")),
    "ru": (("ё", "е"),),
    # Most people no longer write the circumflex.
    "tr": (("â", "a"), ("î", "i"), ("û", "u")),
    "ur": (("ي", "ی"), ("ك", "ک")),
}  # fmt: skip

_WITHOUT_MARKS = frozenset(
    """
    af ar az be bg br bs ca co crh cs cy da de el en eo es et eu fi fo fr fy ga gd gl ha he hr hu
    hy id is it ja ka kk ko ku ky la lb lt lv mk ms mt nb nl nn no oc pl ps pt ro ru sk sl so sq
    sr st sv sw tl tr uk ur uz vi yue zh zu
    """.split()  # noqa: SIM905 - eighty quotes would hide the codes
)
"""Languages all of whose letters are single characters, once their parts are put together."""


def spelling_of(code: str) -> Spelling:
    return Spelling(
        capitals=_CAPITALS.get(code, ()),
        alike=_ALIKE.get(code, ()),
        marks=code not in _WITHOUT_MARKS,
        joiner=code == "fa",
    )


_PARTICLES = (
    "에서는", "에서도", "으로는", "으로써", "으로서", "이라고", "에게서", "까지는", "부터는",
    "에서", "에게", "으로", "이나", "이란", "이라", "까지", "부터", "처럼", "보다", "마다", "에는",
    "에도", "과의", "와의", "로의", "들의", "들은", "들이", "들을",
    "은", "는", "이", "가", "을", "를", "의", "에", "로", "와", "과", "도", "만", "들",
)  # fmt: skip


def korean(word: str) -> str:
    """A noun without the particle that is written together with it: 기계학습은 → 기계학습.

    No stemmer of Snowball knows Korean; these particles, longest first, are what most hides a
    keyword. At least two syllables are left.
    """
    for particle in _PARTICLES:
        if len(word) - len(particle) >= 2 and word.endswith(particle):
            return word[: -len(particle)]
    return word


_ARTICLES = ("وال", "بال", "كال", "فال", "ال", "لل")


def arabic(word: str) -> str:
    """A word without the article, alone or after a preposition, as Larkey, Ballesteros & Connell
    2002 strip it: Snowball leaves it before short words."""
    for article in _ARTICLES:
        if len(word) - len(article) >= 2 and word.startswith(article):
            return word[len(article) :]
    return word


OWN = {"ar": arabic, "ko": korean}
"""Code → our own stemmer, which goes before Snowball's if there is one."""

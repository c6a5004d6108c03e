"""Codes of languages: which can be heard, and how often each is to be expected."""

from __future__ import annotations

import re

_HEARD = (
    "ace af am an ar ary arz as az ba bcl be bg bn br bs ca crh cs cy da de dz el en eo es et eu"
    " ext fa fi fo fr fuv fy ga gcf gcr gd gl gom grc gu gug guw ha hbo he hi hr ht hu hy id ig is"
    " it ja jv ka kab kik kk km kn ko ku ky la lb lg lij ln lo lt ltg lv mg mk ml mn mr ms mt my ne"
    " nl nn no nso oc om or pa pcm pl ps pt qu ro ru rw sa sdh se si sk sl sn so sq sr st sv sw ta"
    " te tg th tk tl tr tt ug uk ur uz uzs vec vi vo wa wuu xh yo yue zh zu"
)
HEARD = frozenset(_HEARD.split())
"""What the model of py3langid 0.4 was taught."""

_COMMON = (
    "ar az bg bn ca cs da de el en es et fa fi fr he hi hr hu id it ja ko lt lv nl no pl pt ro ru"
    " sk sl sq sr sv ta th tr uk ur vi zh"
)
COMMON = frozenset(_COMMON.split())
"""The languages that much of the web is written in."""

_MINOR = (
    "ace an ary arz bcl crh dz ext fuv gcf gcr gom grc gug guw hbo kab kik lij ln ltg nso oc pcm qu"
    " rw sa sdh se st uzs vec vo wa wuu yue"
)
MINOR = frozenset(_MINOR.split())
"""Listened for only where they are wanted: they would take texts from the greater language that
they are near to or a form of, and are hardly met in a crawl for another."""

WANTED, ENGLISH, RARE = 20.0, 5.0, 0.05
"""How much more often than other common ones a language is expected: a crawl begins where its
languages are, meets English everywhere, and seldom one that is not common. Leaving the seldom ones
out instead would have them heard as something else."""

_SAME = {
    "nb": "no", "iw": "he", "in": "id", "ji": "yi", "fil": "tl", "cmn": "zh", "mo": "ro",
    "sh": "sr", "zho": "zh", "eng": "en", "tur": "tr", "aze": "az", "deu": "de", "ger": "de",
    "fra": "fr", "fre": "fr", "spa": "es", "rus": "ru", "ara": "ar", "por": "pt", "ita": "it",
}  # fmt: skip
_TAG = re.compile(r"\s*([A-Za-z]{2,3})(?![A-Za-z0-9])").match


def primary(tag: str) -> str:
    """The language of a tag as pages and links declare it; '' if that is none.

    >>> primary("TR-tr"), primary("nb_NO"), primary("x-default")
    ('tr', 'no', '')
    """
    found = _TAG(tag)
    if found is None:
        return ""
    code = found[1].lower()
    return _SAME.get(code, code)


def odds(wanted: tuple[str, ...]) -> dict[str, float]:
    """The languages to tell apart if these are wanted, and how often to expect each."""
    found = dict.fromkeys(sorted(HEARD - MINOR), RARE) | dict.fromkeys(sorted(COMMON), 1.0)
    if wanted:
        found["en"] = ENGLISH
    return found | dict.fromkeys(wanted, WANTED)

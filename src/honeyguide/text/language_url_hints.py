"""What an address says of the language that it leads to."""

from __future__ import annotations

import re

from honeyguide.text.language_priors import HEARD, primary

_OTHER_WORDS = frozenset(
    {"am", "an", "as", "be", "br", "id", "in", "is", "it", "la", "lo", "mn", "ms", "my", "no", "or",
     "pa", "se", "si", "sl", "so", "st", "te", "th", "tl", "uk", "vi", "wa"}
)  # fmt: skip
"""Codes that are more often something else in an address: departments, words, states, countries.
They count where they are wanted, or stand with a country: ``/it-it/``."""
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

_LONG = 400
"""Characters of an address that are looked at."""

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
COUNTRIES = {
    words[0]: tuple(words[1:])
    for words in (entry.split() for entry in re.split(r"[|\n]", _COUNTRIES))
    if words
}
"""Languages of top-level domains. Countries' domains that the whole world uses (.io, .tv, .me,
.co, .ai …) say nothing and are left out."""


def tongue_of_name(name: str, wanted: frozenset[str]) -> str:
    """The language that a part of an address speaks of: ``tr``, ``en-US``, ``turkce``; or ''."""
    name = name.lower()
    found = _CODE(name)
    code = primary(found[1]) if found else ""
    if code in wanted:
        return code
    if len(code) != 2 or code not in HEARD or name in _OTHER_WORDS:
        return _NAMES.get(name, "")
    return code


def tongue_of_directory(directory: str, wanted: frozenset[str]) -> str:
    """What ``https://tr.example.org/a/b/`` speaks of: the last of its names that does."""
    host, *segments = directory.partition("//")[2][:_LONG].split("/")
    label, _, rest = host.partition(".")
    found = tongue_of_name(label, wanted) if "." in rest else ""
    for segment in segments:
        found = tongue_of_name(segment, wanted) or found
    return found


def tongue_of_file(name: str, wanted: frozenset[str]) -> str:
    """What the end of an address speaks of: ``index_tr.html``, ``tr``, ``x?lang=tr``."""
    query = name.find("?")
    if query >= 0:
        if (found := _QUERY(name[query : query + _LONG])) and (code := primary(found[1])) in HEARD:
            return code
        name = name[:query]
    dot = name.rfind(".")
    stem = name if dot < 0 else name[:dot]
    if len(stem) > 3 and stem[-3] in "._-":
        return tongue_of_name(stem[-2:], wanted)
    return tongue_of_name(stem, wanted) if len(stem) < 12 and stem.isalpha() else ""

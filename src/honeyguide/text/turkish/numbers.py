"""Numbers in Turkish words: ``105`` → ``yüz beş``, ``%3,5`` → ``yüzde üç virgül beş``.

Alqaraleh & Sırın write numbers out so that ``5`` and ``beş`` count as the same word. We do it for
what stands alone as a number; telephone numbers, dates, times and versions stay as they are.
"""

from __future__ import annotations

import re

LARGEST = 10**15 - 1
"""999 trillion and what follows: more digits than that are an identifier."""

_ONES = ("", "bir", "iki", "üç", "dört", "beş", "altı", "yedi", "sekiz", "dokuz")
_TENS = ("", "on", "yirmi", "otuz", "kırk", "elli", "altmış", "yetmiş", "seksen", "doksan")
_SCALES = ("", "bin", "milyon", "milyar", "trilyon")
_ORDINAL = {
    "sıfır": "sıfırıncı", "bir": "birinci", "iki": "ikinci", "üç": "üçüncü", "dört": "dördüncü",
    "beş": "beşinci", "altı": "altıncı", "yedi": "yedinci", "sekiz": "sekizinci",
    "dokuz": "dokuzuncu", "on": "onuncu", "yirmi": "yirminci", "otuz": "otuzuncu",
    "kırk": "kırkıncı", "elli": "ellinci", "altmış": "altmışıncı", "yetmiş": "yetmişinci",
    "seksen": "sekseninci", "doksan": "doksanıncı", "yüz": "yüzüncü",
}  # fmt: skip

_NUMBER = re.compile(
    r"(?P<sign>[-−–+])?(?P<percent>%)?"
    r"(?P<whole>0|[1-9]\d{0,2}(?:\.\d{3}){1,4}|[1-9]\d{0,14})"
    r"(?:,(?P<part>\d{1,6}))?(?P<after>%)?"
    r"(?:['’](?P<ending>[a-zçğıöşü]{1,7}))?",
    re.ASCII,
).fullmatch
_PLACE = re.compile(r"([1-9]\d?)\.", re.ASCII).fullmatch
_WRAPPING = '"“”„«»()[]…;:!?'


def in_words(number: int) -> list[str]:
    """A number as it is read out; ValueError beyond :data:`LARGEST`."""
    if abs(number) > LARGEST:
        raise ValueError(f"no words for a number of {len(str(abs(number)))} digits")
    if number < 0:
        return ["eksi", *in_words(-number)]
    if number == 0:
        return ["sıfır"]
    found: list[str] = []
    for scale in range(len(_SCALES) - 1, -1, -1):
        group = number // 1000**scale % 1000
        if not group:
            continue
        # One thousand is bin, never bir bin.
        if not (scale == 1 and group == 1):
            found += _hundreds(group)
        if scale:
            found.append(_SCALES[scale])
    return found


def spoken(piece: str) -> str:
    """What stands between two blanks, if that is a number: its words. '' for anything else."""
    bare = piece.strip(_WRAPPING)
    if place := _PLACE(bare):
        *before, last = in_words(int(place[1]))
        return " ".join((*before, _ORDINAL[last]))
    found = _NUMBER(bare.rstrip(".,"))
    if found is None or (found["percent"] and found["after"]):
        return ""
    words = in_words(int(found["whole"].replace(".", "")))
    if part := found["part"]:
        zeros = len(part) - len(part.lstrip("0"))
        words += ["virgül", *["sıfır"] * zeros]
        words += in_words(int(part)) if zeros < len(part) else []
    if found["percent"] or found["after"]:
        words.insert(0, "yüzde")
    if found["sign"] in ("-", "−", "–"):
        words.insert(0, "eksi")
    if ending := found["ending"]:
        words[-1] = _ended(words[-1], ending)
    return " ".join(words)


def _ended(word: str, ending: str) -> str:
    """``4'üncü`` is dördüncü: the one number whose last letter softens."""
    if word == "dört" and ending[0] in "aeıioöuü":
        word = "dörd"
    return word + ending


def _hundreds(group: int) -> list[str]:
    hundreds, tens, ones = group // 100, group // 10 % 10, group % 10
    found = [_ONES[hundreds]] if hundreds > 1 else []
    if hundreds:
        found.append("yüz")
    return found + [word for word in (_TENS[tens], _ONES[ones]) if word]

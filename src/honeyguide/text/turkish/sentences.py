"""Where Turkish sentences end.

A full stop ends none after an abbreviation (``Dr.``), an initial, an ordinal (``3.``, ``IV.``), or
before a lower-case letter that begins no address; decimals and addresses have no blank after
theirs. A line break always ends one: on a page it closes a block. Time is linear in the text,
whatever the text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

# One look per run of stops: a lookbehind keeps a run of a million dots from being tried from each.
_STOP = re.compile(r"(?<![.!?…])[.!?…]++[\"'”’»)\]]*+(?=[^\S\n])")
_BEFORE = re.compile(r"[^\W_]+(?:\.[^\W_]+)*$")
_ORDINAL = re.compile(r"\d{1,2}|[IVX]{1,5}", re.ASCII).fullmatch
_OPENING = "\"'“‘«([-–—•* \t\r\xa0"
_ADDRESS = ("www.", "http:", "https:")
_BACK = 24
"""Characters around a full stop that are looked at: no abbreviation is longer."""


def sentences(text: str, abbreviations: Mapping[str, bool]) -> list[str]:
    """The sentences of a text, blanks stripped, none empty.

    ``abbreviations``: lower-case, without the last stop → may it end a sentence, as ``vb.`` may?
    """
    found = []
    for line in text.splitlines():
        start = 0
        for stop in _STOP.finditer(line):
            if _ends(line, stop, abbreviations):
                found.append(line[start : stop.end()])
                start = stop.end()
        found.append(line[start:])
    return [stripped for sentence in found if (stripped := sentence.strip())]


def _ends(line: str, stop: re.Match[str], abbreviations: Mapping[str, bool]) -> bool:
    after = line[stop.end() : stop.end() + _BACK].lstrip(_OPENING)
    if after[:1].islower() and not after.startswith(_ADDRESS):
        return False
    if stop[0] != ".":
        return True
    before = _BEFORE.search(line[max(0, stop.start() - _BACK) : stop.start()])
    if before is None:
        return True
    word = before[0]
    if _ORDINAL(word) or (len(word) == 1 and word.isupper()):
        return False
    return abbreviations.get(word.replace("İ", "i").lower(), True)

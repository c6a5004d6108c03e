"""Reasons quote stems; people read words."""

from __future__ import annotations

import pytest

from honeyguide.text.highlights import unstem_reasons
from honeyguide.text.link_text import describe_stem, link_stems
from honeyguide.types import Link, Reason, Url

LINK = Link(Url("http://e.org/stories"), anchor="my stories", before="defined stories")


@pytest.mark.parametrize(
    ("word", "told"),
    [
        ("url:stori", "“stories” in the address"),
        ("anchor:stori", "“stories” in the anchor"),
        ("near:defin", "“defined” around it"),
        ("stori", "“stories”"),
    ],
)
@pytest.mark.parametrize("topic", ["", "bees: ", "m1: ", "Süß-Honig 2: "])
def test_words_of_links_are_read_where_they_stand(word: str, told: str, topic: str) -> None:
    assert word in link_stems(LINK, prefixes=":" in word)
    text = f"{LINK.anchor} {LINK.before} stories"
    (reason,) = unstem_reasons([Reason(f"{topic}{describe_stem(word)}", 0.3)], text, "en")
    assert reason == (f"{topic}{told}", 0.3)


def test_what_is_no_stem_is_left_as_it_is() -> None:
    said = Reason("“stori” 3 times", 0.1)
    assert unstem_reasons([said], "stories", "en") == (said,)
    assert describe_stem("odd:word") == "“odd:word”"

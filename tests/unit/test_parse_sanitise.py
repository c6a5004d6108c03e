"""The view of a page for people: nothing that would keep a browser busy comes out of it."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from honeyguide.parse.sanitise import LayoutGuard, make_layout_safe, safe_html
from honeyguide.types import Url

ACUTE = "\u0301"


def shown(body: str, kind: str = "text/html; charset=utf-8") -> str:
    html = safe_html(body.encode(), Url("https://a.example/"), kind)
    return html.partition("<body>")[2].removesuffix("</body></html>")


@pytest.mark.parametrize(
    "body",
    [
        f"<p>e{ACUTE * 50_000}",
        "<p>e" + f"<span>{ACUTE}</span>" * 500,
        f"<p>e{ACUTE * 15}<i>{ACUTE * 30}",
    ],
)
def test_piles_of_accents_are_cut(body: str) -> None:
    assert shown(body).count(ACUTE) == 20


def test_piles_are_cut_in_plain_texts_too() -> None:
    assert shown(f"e{ACUTE * 500} o{ACUTE}", "text/plain; charset=utf-8").count(ACUTE) == 21


@pytest.mark.parametrize("sign", ["a", "\u0640", "\u00a0", "\U0001f468\u200d", "&lt;"])
def test_long_words_may_break(sign: str) -> None:
    words = re.split(r"<wbr>|[ \n]", re.sub(r"<(?!wbr)[^>]*>", "", shown(f"<p>{sign * 5_000}")))
    assert max(len(word.replace("&lt;", "<")) for word in words) <= 1_000
    parts = shown("<p>" + f"<span>{sign * 50}</span>" * 100)
    assert parts.count("<wbr>") >= 5


def test_words_of_usual_lengths_are_whole() -> None:
    said = "The royal jelly of honey bees. " * 200
    assert "<wbr>" not in shown(f"<p>{said}")
    assert "<wbr>" not in shown("<p>" + "<b>honey</b> <i>bee</i> " * 1_000)


def test_cells_cover_so_much_and_no_more() -> None:
    html = shown("<table><tr><td colspan=1000 rowspan=7>a<td colspan=2>b<th rowspan=x colspan=-1>c")
    assert '<td colspan="100" rowspan="7">a' in html
    assert '<td colspan="2">b' in html
    assert "<th>c" in html
    many = shown("<table>" + "<tr>" + "<td rowspan=9999 colspan=1000>x" * 1_500)
    assert sum(100 * 100 for _ in re.findall('colspan="100" rowspan="100"', many)) <= 20_001
    assert many.count("<td") == 1_500


@given(st.lists(st.text(alphabet=f"ab {ACUTE}\u200d\u0640\n", max_size=60), max_size=20))
def test_however_a_text_is_parted_the_same_comes_out(parts: list[str]) -> None:
    signs = LayoutGuard()
    told = "".join(piece for part in parts for piece in signs.safe_pieces(part))
    assert told == "".join(LayoutGuard().safe_pieces("".join(parts)))
    assert re.search(f"[{ACUTE}\u200d]{{21}}", told) is None


@given(st.text(alphabet="ab ", max_size=30), st.integers(900, 2_500))
def test_nothing_is_lost_by_easing(text: str, times: int) -> None:
    long = text + "x" * times
    assert make_layout_safe(long).replace("\u200b", "") == long
    assert max(len(part) for part in re.split("[\u200b ]", make_layout_safe(long))) <= 1_000

"""One page in the studio: its text, its way, and its rendered view, which can do nothing."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from honeyguide.parse.sanitise import safe_html
from honeyguide.studio import page
from honeyguide.studio.routes import RawAnswer, ResourceMissing
from honeyguide.types import Link, Page, Reason, Url, Verdict
from tests.unit.store_visits import answer, good
from tests.unit.studio_here import here, keep


def test_a_page_with_its_evidence_and_its_way(tmp_path: Path) -> None:
    seed, middle = Url("https://host0.example.org/"), Url("https://host0.example.org/m")
    last = Url("https://host1.example.org/1")
    text = "Honey is made by bees; honeys differ."
    known = here(
        keep(
            tmp_path / "c",
            [
                good(0, link=Link(seed, channel="seed"), page=Page(seed, "Seed")),
                good(1, link=Link(middle, seed, "middle"), page=Page(middle, "Middle")),
                good(2, link=Link(last, middle, "to honey"), page=Page(last, "Last", text=text),
                     verdict=Verdict(0.8, (Reason("“bees” ×1", 0.3),))),
            ],
        )
    )  # fmt: skip
    view = page.page_view(known, page.PageViewQuery(visit=3))
    assert view.url == last
    assert [text[m.start : m.end] for m in view.marks] == ["Honey", "bees", "honeys"]
    assert [m.weight for m in view.marks] == [0.0, 0.3, 0.0]
    assert [(stop.url, stop.anchor) for stop in view.way] == [
        (seed, "middle"),
        (middle, "to honey"),
    ]
    assert page.page_view(known, page.PageViewQuery(url=last)).visit == 3
    with pytest.raises(ResourceMissing):
        page.page_view(known, page.PageViewQuery(visit=99))
    unknown = page.page_view(known, page.PageViewQuery(url="https://host9.example.org/"))
    assert unknown.visit is None
    assert "never seen" in unknown.answer


def test_a_rendered_page_can_do_nothing(tmp_path: Path) -> None:
    body = (
        b"<title>t</title><body onload=x()><script>evil()</script><h1>Hi</h1>"
        b"<img src=//a onerror=x()>"
    )
    url = Url("https://host1.example.org/1")
    known = here(keep(tmp_path / "c", [good(1, response=answer(url, body))], warc=True))
    raw = page.render_preview(known, page.PreviewQuery(visit=1))
    assert isinstance(raw, RawAnswer)
    assert b"<h1>Hi</h1>" in raw.body
    assert b"evil" not in raw.body
    policy = raw.headers["Content-Security-Policy"]
    assert policy.startswith("sandbox; default-src 'none';")
    assert "script-src" not in policy
    with pytest.raises(ResourceMissing):
        page.render_preview(known, page.PreviewQuery(visit=7))


def test_without_warc_only_text_can_be_shown(tmp_path: Path) -> None:
    known = here(keep(tmp_path / "c", [good(1)]))
    with pytest.raises(ResourceMissing, match="not stored"):
        page.render_preview(known, page.PreviewQuery(visit=1))


class Seen(HTMLParser):
    """Which tags and attributes a document has."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.names: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.names |= {name for name, _ in attrs}


_BITS = st.sampled_from([
    "<script>", "</script>", "<style>", "</style>", "<svg onload=x>", "<math>", "<iframe src=x>",
    "<a href='javascript:x'>", "<img src=x onerror=x alt='\">'>", "<td colspan='2 onclick=x'>",
    "<noscript>", "<title>", "<textarea>", "<!--", "-->", "<![CDATA[", "&lt;script&gt;", "<table>",
    "<form action=x>", "<object data=x>", "<b\0 x>", "\"'><script>", "<template>", "</body>", "<p>",
    "<plaintext>", "<base href=//x>",
])  # fmt: skip


@given(st.lists(_BITS | st.text(max_size=8), max_size=25))
@settings(max_examples=200, deadline=None)
def test_no_page_brings_anything_that_acts(bits: list[str]) -> None:
    html = safe_html("".join(bits).encode("utf-8", "replace"), Url("https://a.example/"))
    seen = Seen()
    seen.feed(html)
    assert not seen.tags & {"script", "iframe", "svg", "math", "img", "a", "form", "object", "base"}
    assert seen.names <= {"charset", "class", "title", "colspan", "rowspan"}
    assert html.count("<style>") == 1


def test_a_deep_and_a_huge_page_are_shown_in_bounds() -> None:
    assert len(safe_html(b"<div>" * 100_000 + b"x", Url("https://a.example/"))) < 10_000
    assert len(safe_html(b"<p>long " * 400_000, Url("https://a.example/"))) < 2_200_000

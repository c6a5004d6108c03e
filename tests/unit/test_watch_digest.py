"""Many changes in one message: grouped, bounded, and harmless whatever the pages say."""

from __future__ import annotations

import json
import re
import time
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from honeyguide.change import Change, PageEdit
from honeyguide.types import Url
from honeyguide.url import canonical_url
from honeyguide.watch.notify.message import (
    HTML_FORMAT,
    SHOWN_ENTRIES,
    ChangeMessage,
    batch_changes,
    clean_line,
    compose_message,
    digest_entries,
    entry_lines,
    escape_markdown,
    markdown_link,
    safe_link,
    shorten_edit,
)

FOOTER = PageEdit("changed", "footer/p", "© 2025", "© 2026", 0.1)
PHONE = PageEdit("added", "footer/p", "", "Call 555", 0.1)


def change(url: str, *edits: PageEdit, **more: Any) -> Change:
    values: dict[str, Any] = {"at": 1000.0, "kinds": ("content",), "significance": 0.4, **more}
    return Change(Url(url), edits=edits, **values)


def news(text: str) -> PageEdit:
    return PageEdit("added", "main/p", "", text, 0.9)


# -- grouping ----------------------------------------------------------------------------------


def test_the_same_edit_on_many_pages_is_one_entry() -> None:
    found = digest_entries([change(f"https://example.org/{n}", FOOTER) for n in range(40)])
    assert len(found) == 1
    assert len(found[0].urls) == 40
    said = compose_message(
        "c", [change(f"https://example.org/{n}", FOOTER) for n in range(40)]
    ).to_text()
    assert "the same edit on 40 pages of example.org" in said
    assert "and 35 more pages" in said


def test_two_lines_of_a_footer_are_one_entry_and_paths_do_not_matter() -> None:
    elsewhere = FOOTER._replace(path="div/footer/p")
    footers = [FOOTER, elsewhere, FOOTER]
    found = digest_entries([change(f"https://e.org/{n}", f, PHONE) for n, f in enumerate(footers)])
    assert [entry.edits for entry in found] == [(FOOTER, PHONE)]


def test_what_else_changed_stands_on_its_own() -> None:
    changes = [change(f"https://e.org/{n}", FOOTER) for n in range(3)]
    changes.append(change("https://e.org/news", FOOTER, news("We moved"), significance=0.8))
    found = digest_entries(changes)
    assert [len(entry.urls) for entry in found] == [1, 4]
    assert found[0].edits == (news("We moved"),)
    assert found[0].shared == 1
    assert found[0].significance == pytest.approx(0.8 * 0.9)
    assert found[1].significance == pytest.approx(0.4)


def test_other_hosts_and_too_few_pages_are_no_template() -> None:
    few = [change(f"https://e.org/{n}", FOOTER) for n in range(2)]
    far = [change(f"https://h{n}.org/", FOOTER) for n in range(5)]
    again = [change("https://e.org/0", FOOTER, at=float(n)) for n in range(5)]
    assert len(digest_entries(few)) == 2
    assert len(digest_entries(far)) == 5
    assert len(digest_entries(again)) == 5


def test_pages_that_went_the_same_way_are_one_entry() -> None:
    gone = [change(f"https://e.org/{n}", kinds=("gone",), detail="404") for n in range(3)]
    other = change("https://e.org/x", kinds=("gone",), detail="410")
    assert sorted(len(entry.urls) for entry in digest_entries([*gone, other])) == [1, 3]
    assert "gone: 3 pages of e.org" in compose_message("c", gone).to_text()


def test_hosts_stand_together_and_the_most_significant_is_first() -> None:
    found = digest_entries(
        [
            change("https://a.org/1", news("a"), significance=0.2),
            change("https://b.org/1", news("b"), significance=0.9),
            change("https://a.org/2", news("c"), significance=0.5),
            change("https://b.org/2", news("d"), significance=0.1),
        ]
    )
    assert [entry.urls[0][8:] for entry in found] == ["b.org/1", "b.org/2", "a.org/2", "a.org/1"]


EDITS = st.builds(
    PageEdit,
    st.sampled_from(["added", "removed", "changed"]),
    st.just("p"),
    st.sampled_from(["", "a", "b"]),
    st.sampled_from(["", "a", "b"]),
    st.floats(0, 1),
)
CHANGES = st.builds(
    Change,
    st.builds("https://{}.org/{}".format, st.sampled_from("ab"), st.integers(0, 5)).map(Url),
    st.floats(0, 1e9),
    st.sampled_from([("content",), ("gone",), ("minor", "links")]),
    st.floats(0, 1),
    edits=st.lists(EDITS, max_size=4).map(tuple),
    detail=st.sampled_from(["", "404"]),
)


@given(st.lists(CHANGES, max_size=30))
def test_nothing_is_lost_and_nothing_told_twice(changes: list[Change]) -> None:
    told = [
        (url, edit.what, edit.old, edit.new)
        for entry in digest_entries(changes)
        for url in entry.urls
        for edit in entry.edits
    ]
    wanted = {(c.url, e.what, e.old, e.new) for c in changes for e in c.edits}
    assert set(told) == wanted
    assert {u for entry in digest_entries(changes) for u in entry.urls} == {c.url for c in changes}
    places = [place for batch in batch_changes(changes) for place in batch]
    assert sorted(places) == list(range(len(changes)))


def test_ten_thousand_changes_are_quick_and_short() -> None:
    changes = [
        change(f"https://h{n % 50}.org/{n}", news(f"text {n} " * 100), FOOTER)
        for n in range(10_000)
    ]
    start = time.process_time()
    message = compose_message("c", changes)
    bodies = [
        message.to_text(),
        message.to_markdown(),
        message.to_html(),
        json.dumps(message.to_data()),
    ]
    assert time.process_time() - start < 5
    assert len(message.entries) == 10_050
    assert f"and {10_050 - SHOWN_ENTRIES} more" in bodies[0]
    assert all(len(body) < 200_000 for body in bodies)


# -- the message -------------------------------------------------------------------------------


def test_a_message_says_what_changed() -> None:
    edit = PageEdit("changed", "p",
                "One two three four five six 10 EUR a day in all weathers or so",
                "One two three four five six 12 EUR a day in all weathers or so")  # fmt: skip
    made = compose_message("mail", [change("https://e.org/a", edit)], "bees")
    assert made.title == "[bees] changed: a page of e.org"
    assert made.to_text().split("\n") == [
        "e.org",
        "  https://e.org/a changed",
        "    - … three four five six 10 EUR a day in …",
        "    + … three four five six 12 EUR a day in …",
    ]
    assert "<https://e.org/a>" in made.to_markdown()
    assert '<a href="https://e.org/a"' in made.to_html()


def test_the_same_message_has_the_same_id() -> None:
    one, two = change("https://e.org/a", FOOTER), change("https://e.org/b", FOOTER)
    assert compose_message("mail", [one, two]).id == compose_message("mail", [two, one]).id
    assert compose_message("mail", [one]).id != compose_message("mail", [two]).id
    assert compose_message("mail", [one]).id != compose_message("chat", [one]).id
    assert compose_message("mail", [one], key="k").id == "k"
    assert compose_message("mail", []).to_text() == ""


@given(st.text(alphabet="ab ", max_size=30), st.text(alphabet="ab ", max_size=30))
def test_shortened_keeps_what_differs(old: str, new: str) -> None:
    was, now = shorten_edit(PageEdit("changed", "p", old, new))
    assert (was == now) == (old.split() == new.split())


# -- hostile words -----------------------------------------------------------------------------

SPITEFUL = st.text(
    st.one_of(
        st.characters(),
        st.sampled_from(
            "<>&\"'`*_[]()\\\r\n\t\x1b\x00\u202e\u2066\u200f\ufeff\ud800\U000e0041@~|#"
        ),
    ),
    max_size=60,
)
HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "[click](javascript:alert(1))",
    "](https://evil.example/) [",
    "@everyone @here",
    "\x1b]8;;https://evil.example\x07click\x1b]8;;\x07",
    "safe\u202etxt.exe\u202c",
    "line\n\n# heading\r\n- item",
    "\u2028\u2029\x85end",
    "a" * 100_000,
    "\x00" * 1000 + "hidden",
]


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[tuple[str, list[tuple[str, str | None]]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, attrs))


def spiteful(text: str) -> ChangeMessage:
    url = canonical_url("https://e.org/" + text[:500].replace("\ud800", "")) or Url(
        "https://e.org/"
    )
    return compose_message(
        "c",
        [
            change(url, PageEdit("changed", text, text, f"{text} x", 0.1), detail=text),
            *(change(f"{url}{n}", FOOTER, detail=text) for n in range(3)),
        ],
        text,
    )


def check(message: ChangeMessage) -> None:
    for body in (message.title, message.to_text(), message.to_markdown(), message.to_html()):
        plain = body.replace("\n", "")
        assert not re.search("[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u200e\u200f]", plain)
        body.encode("utf-8")
    assert "\n" not in message.title
    tags = Tags()
    tags.feed(message.to_html())
    assert {tag for tag, _ in tags.seen} <= {"p", "a", "strong", "del", "ins"}
    for _, attributes in tags.seen:
        for name, value in attributes:
            assert name in ("style", "href", "rel", "dir")
            assert name != "href" or (value or "").startswith(("http://", "https://"))
    outside = re.sub(r"\]\(<https://[^<>\s]*>\)", "]", message.to_markdown())
    assert "<" not in outside
    assert not re.search(r"(?<!\\)(?:\\\\)*\]\(", outside)
    assert not re.search(r"@\w", outside)
    json.loads(json.dumps(message.to_data()))


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_words_stay_words(text: str) -> None:
    check(spiteful(text))


@given(SPITEFUL)
def test_no_words_are_markup(text: str) -> None:
    check(spiteful(text))


@pytest.mark.parametrize(
    ("url", "safe"),
    [
        ("https://e.org/a", True),
        ("javascript:alert(1)", False),
        ("data:text/html,x", False),
        ("https://bank.example@evil.example/", False),
        ("https://e.org/" + "a" * 3000, False),
        ("", False),
        ("https://", False),
    ],
)
def test_only_plain_addresses_are_links(url: str, safe: bool) -> None:
    assert bool(safe_link(url)) is safe
    assert ("](<" in markdown_link(url, "x")) is safe


@given(SPITEFUL, st.integers(2, 50))
def test_clean_is_short_and_stays_clean(text: str, letters: int) -> None:
    line = clean_line(text, letters)
    assert len(line) <= letters
    assert clean_line(line, letters) == line
    assert "\n" not in line


def test_clean_keeps_what_people_write() -> None:
    text = "Çığ düştü — naïve café, 日本語, עברית, 👩‍👩‍👧 می‌خواهم"
    assert clean_line(text) == text
    assert escape_markdown("a_b *c* <d> & @me") == r"a\_b \*c\* &lt;d&gt; &amp; @" + "\u200bme"
    assert "\n".join(
        entry_lines(digest_entries([change("https://e.org/", news(text))])[0], HTML_FORMAT)
    ).count(text)

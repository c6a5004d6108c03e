"""The feeds are well-formed whatever the pages say, and their ids stay."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from honeyguide.change import Change, PageEdit
from honeyguide.errors import StoreError
from honeyguide.types import Url
from honeyguide.watch.notify.channels import (
    FEED_ITEMS,
    FeedHeader,
    change_id,
    render_atom,
    render_rss,
    write_feed,
)

FEED = FeedHeader("Bees", "collection-1")
ATOM = "{http://www.w3.org/2005/Atom}"


def change(n: int = 0, text: str = "old", **more: Any) -> Change:
    edits = (PageEdit("changed", "p", text, f"{text} new"),)
    values: dict[str, Any] = {"kinds": ("content", "links"), "edits": edits, **more}
    return Change(Url(f"https://example.org/{n}"), values.pop("at", 1000.0 + n), **values)


def test_atom_has_what_the_standard_asks_for() -> None:
    root = ElementTree.fromstring(render_atom(FEED, [change(1), change(2)]))
    assert root.tag == f"{ATOM}feed"
    for name in ("id", "title", "updated"):
        assert root.findtext(f"{ATOM}{name}")
    assert root.findtext(f"{ATOM}author/{ATOM}name")
    entries = root.findall(f"{ATOM}entry")
    assert len({entry.findtext(f"{ATOM}id") for entry in entries}) == 2
    first = entries[0]
    assert first.findtext(f"{ATOM}title") == "https://example.org/2: changed, links changed"
    assert first.findtext(f"{ATOM}updated") == "1970-01-01T00:16:42+00:00"
    link = first.find(f"{ATOM}link")
    assert link is not None
    assert link.attrib == {"rel": "alternate", "href": "https://example.org/2"}
    content = first.find(f"{ATOM}content")
    assert content is not None
    assert content.attrib == {"type": "html"}
    assert "<ins" in (content.text or "")


def test_rss_has_what_it_asks_for() -> None:
    root = ElementTree.fromstring(render_rss(FeedHeader("Bees", "k"), [change(1), change(2)]))
    assert (root.tag, root.attrib) == ("rss", {"version": "2.0"})
    channel = root[0]
    for name in ("title", "link", "description"):
        assert channel.findtext(name)
    item = channel.findall("item")[0]
    assert item.findtext("pubDate") == "Thu, 01 Jan 1970 00:16:42 +0000"
    guid = item.find("guid")
    assert guid is not None
    assert guid.attrib == {"isPermaLink": "false"}
    assert guid.text == change_id(change(2))


def test_ids_are_for_ever() -> None:
    # Written down: another id would show every change once more to every reader.
    assert change_id(change(1)) == "urn:uuid:613a24b7-13af-5f45-af42-9dd896350c07"
    assert change_id(change(1)) == change_id(change(1, "other words"))
    assert change_id(change(1)) != change_id(change(1, at=1001.5))


def test_the_newest_are_kept() -> None:
    many = [change(n) for n in range(FEED_ITEMS + 50)]
    titles = re.findall(rb"<title>(https://example.org/\d+)", render_atom(FEED, many))
    assert len(titles) == FEED_ITEMS
    assert titles[0] == b"https://example.org/149"
    ties = [change(n, at=1000.0) for n in range(5)]
    assert render_atom(FEED, ties) == render_atom(FEED, ties[::-1])
    ElementTree.fromstring(render_atom(FEED, []))
    ElementTree.fromstring(render_rss(FEED, []))


@given(
    st.text(
        st.one_of(st.characters(), st.sampled_from("<>&\"']\x00\x0b\x1b\ud800\ufffe\U0001ffff"))
    ),
    st.floats(),
)
def test_any_words_at_any_time_are_well_formed(text: str, at: float) -> None:
    feed = FeedHeader(text, text)
    odd = change(1, text, at=at, detail=text)
    for form in (render_atom, render_rss):
        document = form(feed, [odd, odd])
        root = ElementTree.fromstring(document)
        assert not re.search("[\x00-\x08\x0b-\x1f\u202e]", "".join(root.itertext()))


def test_it_is_put_in_its_place_in_one_step(tmp_path: Path) -> None:
    path = tmp_path / "changes.atom"
    write_feed(path, b"one")
    write_feed(path, b"two")
    assert path.read_bytes() == b"two"
    assert [file.name for file in tmp_path.iterdir()] == ["changes.atom"]
    assert path.stat().st_mode & 0o777 == 0o644


def test_a_link_in_its_place_is_replaced_not_followed(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("mine")
    path = tmp_path / "changes.atom"
    path.symlink_to(precious)
    write_feed(path, b"feed")
    assert precious.read_text() == "mine"
    assert not path.is_symlink()


def test_what_cannot_be_written_is_said(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="cannot be written"):
        write_feed(tmp_path / "no" / "such" / "folder.atom", b"")
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "file").touch()
    with pytest.raises(StoreError, match="cannot be written"):
        write_feed(tmp_path / "taken", b"")
    assert [file.name for file in tmp_path.iterdir()] == ["taken"], "nothing is left over"

"""The Changes screen's routes: the feed, differences, masks, the back-test and the watch list."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from honeyguide.change import Change, ChangeKind, PageEdit
from honeyguide.parse.blocks import read_snapshot
from honeyguide.store.change_feed import ChangeFeed
from honeyguide.store.store import Store
from honeyguide.store.versions import VersionRow
from honeyguide.types import Url
from honeyguide.watch.compare.page_change import compare_snapshots
from honeyguide.watch.notify.delivery import NotifyRule, count_by_significance, is_wanted
from honeyguide.watch.version_diff import VersionDiff, diff_side_by_side
from tests.unit.studio_client import Client

TOPIC = '[topic]\nkeywords = ["honey"]\n[fetch]\ncontact = "a@example.org"\n'
HERE = "/api/c/bees"
URL = Url("https://a.org/page")
OLD = b"<main><p>The hive stands.</p><p>Ten bees live here.</p><p>The end of it.</p></main>"
NEW = b"<main><p>The hive stands.</p><p>Twelve bees live here.</p><p>And a wasp.</p></main>"


def change(at: float, significance: float = 0.5, *kinds: ChangeKind, url: Url = URL) -> Change:
    edits = (PageEdit("changed", "main/p", "Ten <b>bees</b>", "Twelve bees", significance),)
    return Change(url, at, kinds or ("content",), significance, at - 60, edits)


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    folder = tmp_path / "bees"
    folder.mkdir()
    (folder / "topic.toml").write_text(TOPIC)
    now = time.time()
    with Store.open(folder, "crawl") as store:
        store.watched.add_pages([URL, Url("https://b.org/")], "user", now)
        one = store.versions.add_version(URL, OLD, now - 120)
        two = store.versions.add_version(URL, NEW, now - 60)
        store.changes.append(change(now - 60), one, two)
        for n in range(40):
            other = Url(f"https://b.org/{n}")
            store.changes.append(change(now - 30, n / 40, "minor", url=other))
        store.changes.append(change(now - 10, 1.0, "gone", url=Url("https://c.org/")))
        store.changes.append(change(now - 30 * 86_400, 0.9), 7, 8)
    made = Client(tmp_path)
    yield made
    made.close()


def feed(client: Client, **query: object) -> dict[str, Any]:
    words = "&".join(f"{key}={quote(str(value))}" for key, value in query.items())
    answer = client.get(f"{HERE}/changes?{words}")
    assert answer.status == 200, answer.body
    found: dict[str, Any] = answer.json
    return found


def test_the_feed_is_paged_by_the_number_of_a_change(client: Client) -> None:
    seen: list[int] = []
    after: object = ""
    while after is not None:
        page = feed(client, limit=15, **({"after": after} if after else {}))
        seen += [row["id"] for row in page["rows"]]
        after = page["next"]
    assert seen == sorted(seen, reverse=True)
    assert len(seen) == page["total"] == 43
    assert page["watched"] == 2


def test_filters(client: Client) -> None:
    assert {row["host"] for row in feed(client, host="b.org")["rows"]} == {"b.org"}
    assert [row["url"] for row in feed(client, kind="gone")["rows"]] == ["https://c.org/"]
    assert all(row["significance"] >= 0.8 for row in feed(client, least=0.8)["rows"])
    assert len(feed(client, url=URL)["rows"]) == 2
    assert len(feed(client, url=URL, days=7)["rows"]) == 1
    assert client.get(f"{HERE}/changes?kind=nonsense").status == 400
    assert client.get(f"{HERE}/changes?limit=1000").status == 400


def test_words_of_the_web_stay_words(client: Client) -> None:
    row = feed(client, url=URL, limit=1)["rows"][0]
    assert row["told"][0]["pieces"][0] == ["removed", "Ten <b>bees</b>"]


def test_what_was_seen_is_marked_and_unmarked(client: Client) -> None:
    number = feed(client, limit=1)["rows"][0]["id"]
    client.post(f"{HERE}/changes/seen", {"ids": [number]})
    assert number not in [row["id"] for row in feed(client, unseen="true", limit=100)["rows"]]
    client.post(f"{HERE}/changes/seen", {"ids": [number], "seen": False})
    assert number in [row["id"] for row in feed(client, unseen="true", limit=100)["rows"]]
    assert client.post(f"{HERE}/changes/seen", {"ids": [0]}).status == 400


def test_two_versions_side_by_side(client: Client) -> None:
    found = client.get(f"{HERE}/diff?url={quote(URL)}").json
    assert (found["old"]["number"], found["new"]["number"]) == (1, 2)
    blocks = {(block["what"], block["new"]): block for block in found["blocks"]}
    changed = blocks["changed", "Twelve bees live here."]
    assert ["removed", "Ten"] in changed["pieces"]
    assert changed["mask"].startswith("main/p^"), "this line, and not all paragraphs"
    assert found["kinds"]
    assert client.get(f"{HERE}/diff?url={quote(URL)}&old=1&new=9").status == 400
    none = client.get(f"{HERE}/diff?url=https://nowhere.org/")
    assert none.status == 400
    assert "no version" in none.json["error"]


def test_one_change_is_told_whole(client: Client) -> None:
    assert client.get(f"{HERE}/changes/1").json["new"] == 2
    assert client.get(f"{HERE}/changes/4711").status == 404


def test_masks_hide_and_can_be_undone(client: Client) -> None:
    def do(what: str, mask: str = "main/p") -> Any:
        return client.post(f"{HERE}/masks", {"url": URL, "mask": mask, "do": what})

    assert do("unmask").status == 400, "it is not masked"
    masked = do("mask").json
    assert masked["masks"] == [{"mask": "main/p", "where": "main/p", "by": "person"}]
    found = client.get(f"{HERE}/diff?url={quote(URL)}").json
    assert found["kinds"] == []
    assert all(block["masked"] for block in found["blocks"] if block["what"] == "changed")
    assert client.get(f"{HERE}/diff?url={quote(URL)}&all=true").json["kinds"], "nothing is lost"
    assert do("unmask").json["opened"] == ["main/p"]
    assert do("forget").json == {"url": URL, "masks": [], "opened": [], "words": {}}
    assert client.get(f"{HERE}/masks?url=https://nowhere.org/").status == 400


def test_one_line_can_be_masked_alone(client: Client) -> None:
    """Each block is offered by itself; a whole place says what else would go."""
    before = b"<main><p>Honey is sold here.</p><p>Price: 14 EUR</p><p>Ten bees.</p></main>"
    after = b"<main><p>Honey is sold here.</p><p>Price: 15 EUR</p><p>No bee is left.</p></main>"
    shop = Url("https://a.org/shop")
    with Store.open(client.root / "bees", "write") as store:
        store.watched.add_pages([shop], "user", time.time())
        store.versions.add_version(shop, before, time.time() - 9)
        store.versions.add_version(shop, after, time.time())
    found = client.get(f"{HERE}/diff?url={quote(shop)}").json
    masks = {block["new"]: block["mask"] for block in found["blocks"] if block["mask"]}
    assert len(set(masks.values())) == 2, "each has its own"
    (place,) = found["places"]
    assert (place["path"], place["blocks"]) == ("main/p", 3)
    assert place["texts"][0] == "Honey is sold here."
    body = {"url": shop, "mask": masks["Price: 15 EUR"], "do": "mask"}
    said = client.post(f"{HERE}/masks", body).json
    assert said["words"] == {body["mask"]: "the line “Price: 15 EUR”, whatever its numbers"}
    left = client.get(f"{HERE}/diff?url={quote(shop)}").json
    told = {block["new"]: block["masked"] for block in left["blocks"] if block["what"] != "same"}
    assert told == {"Price: 15 EUR": True, "No bee is left.": False}
    assert left["kinds"], "the other line is still told"


def test_the_feed_says_how_many_pass_and_how_many_are_new(client: Client) -> None:
    found = feed(client, least=0.8)
    assert (found["total"], found["passing"], found["newer"]) == (43, 10, 0)
    newest = feed(client, kind="minor", limit=1)["rows"][0]["id"]
    assert feed(client, kind="minor", newest=newest)["newer"] == 0
    with Store.open(client.root / "bees", "write") as store:
        for kind in ("minor", "content", "minor"):
            store.changes.append(change(time.time(), 0.5, kind))
    assert feed(client, kind="minor", newest=newest, limit=1)["newer"] == 2
    assert feed(client, kind="minor")["passing"] == 42
    assert client.get(f"{HERE}/changes?newest=-1").status == 400


def test_the_trial_counts_what_each_threshold_would_have_told(client: Client) -> None:
    (client.root / "bees" / "topic.toml").write_text(
        TOPIC + '[[notify]]\nto = "atom"\nkinds = ["minor", "gone"]\nsignificance = 0.3\n'
    )
    found = client.get(f"{HERE}/changes/trial?days=7").json
    assert found["rules"][0]["significance"] == 0.3
    assert found["changes"] == 42, "the one of last month is too old"
    assert found["told"][0] == 41, "40 minor ones, and a page that is gone"
    assert found["told"][50] == 21
    assert found["told"][100] == 1, "that a page is gone is told in any case"
    assert client.get(f"{HERE}/changes/trial?days=0").status == 400


Kinds = st.lists(
    st.sampled_from(["new", "content", "minor", "data", "links", "gone", "moved"]),
    min_size=1, max_size=3, unique=True,
)  # fmt: skip


@given(
    st.lists(st.tuples(Kinds, st.integers(0, 100)), max_size=20),
    Kinds,
    st.integers(0, 100),
)
def test_the_trial_says_what_the_rule_itself_would_say(
    past: list[tuple[list[ChangeKind], int]], kinds: list[ChangeKind], threshold: int
) -> None:
    changes = [Change(URL, 0.0, tuple(each), part / 100) for each, part in past]
    rule = NotifyRule("x", kinds=tuple(kinds), significance=threshold / 100)
    counted = [(tuple(each), part, 1) for each, part in past]
    assert count_by_significance(rule, counted)[threshold] == sum(
        is_wanted(rule, one) for one in changes
    )


def test_the_watch_list_and_its_next_visits(client: Client) -> None:
    rows = client.get(f"{HERE}/watched?limit=1").json
    assert rows["states"] == {"watched": 2}
    assert rows["next"] is not None
    rest = client.get(f"{HERE}/watched?limit=1&after={rows['next']}").json
    assert {rows["rows"][0]["url"], rest["rows"][0]["url"]} == {URL, "https://b.org/"}
    until = time.monotonic() + 10
    while (found := client.get(f"{HERE}/watched/next").json)["at"] is None:
        assert time.monotonic() < until
    assert {row["url"] for row in found["rows"]} == {URL, "https://b.org/"}
    why = client.get(f"{HERE}/watched/why?url={quote(URL)}").json
    assert "it has not been visited yet" in why["reason"]
    assert client.get(f"{HERE}/watched/why?url=https://nowhere.org/").status == 404


def test_what_people_say_of_the_watch_list(client: Client) -> None:
    def say(**body: object) -> Any:
        return client.post(f"{HERE}/watched", body)

    assert say(action="pause", urls=[URL]).json == {"pages": 1, "watched": 1}
    assert say(action="resume", urls=[URL]).json["watched"] == 2
    assert say(action="weigh", urls=[URL], weight=2).status == 200, "what it was called before"
    assert say(action="weight", urls=[URL], weight=3).status == 200
    assert say(action="weight", urls=[URL]).status == 400
    assert say(action="add", urls=["https://d.org/x"]).json["watched"] == 3
    assert say(action="remove", urls=["https://nowhere.org/"]).status == 400
    assert say(action="add", urls=["file:///etc/passwd"]).status == 400
    weights = {row["url"]: row["weight"] for row in client.get(f"{HERE}/watched").json["rows"]}
    assert weights[URL] == 3.0


Paragraphs = st.lists(
    st.sampled_from(["one hive", "two bees", "three", "four 4", "five"]), max_size=8
)


@given(Paragraphs, Paragraphs)
def test_side_by_side_shows_both_versions_whole(old: list[str], new: list[str]) -> None:
    one, other = (
        read_snapshot(f"<main>{''.join(f'<p>{p}</p>' for p in texts)}</main>".encode(), URL)
        for texts in (old, new)
    )
    row = VersionRow(1, 0.0, 0.0, 200, "text/html", 0, 0, "")
    found = VersionDiff(row, row, compare_snapshots(one, other), one, other, frozenset())
    shown = list(diff_side_by_side(found))
    left = sum(int(block.new) for block in shown if block.what == "left")
    after = [b.new for b in shown if b.what in ("same", "added", "changed", "moved")]
    before = [b.old for b in shown if b.what in ("same", "removed", "changed", "moved")]
    assert len(after) + left == len(other.blocks)
    assert len(before) + left == len(one.blocks)
    if not left:
        assert after == [block.text for block in other.blocks], "in the order of the new one"
        assert sorted(before) == sorted(block.text for block in one.blocks)


def test_changes_are_weighed_by_the_database(tmp_path: Path) -> None:
    with Store.open(tmp_path, "crawl") as store:
        feed: ChangeFeed = store.changes
        for significance in (0.29, 0.29, 0.3, 1.0):
            feed.append(change(5.0, significance, "content", "links"))
        found = {each.hundredths: each.changes for each in feed.count_by_significance(0.0, 10.0)}
        assert found == {29: 2, 30: 1, 100: 1}
        assert feed.count_by_significance(6.0, 10.0) == []

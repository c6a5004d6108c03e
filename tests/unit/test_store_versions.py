"""Any past version of a page can be shown, and versions take little room."""

from __future__ import annotations

import random
from contextlib import suppress
from pathlib import Path

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from honeyguide.errors import CollectionCorrupt, StoreError
from honeyguide.store import Store
from honeyguide.store import versions as bodies
from honeyguide.store.versions import Retention
from honeyguide.types import Url
from tests.unit.store_visits import WORDS, change

URL = Url("https://example.org/a")
OTHER = Url("https://example.org/b")
DAY = 86_400.0
NOW = 1_700_000_000.0


def body(seed: int = 1, words: int = 2600) -> bytes:
    """A page of some 18 kB, with as little in it that repeats as in real ones."""
    chance = random.Random(seed)
    text = " ".join(f"{chance.choice(WORDS)}{chance.randrange(1000)}" for _ in range(words))
    return f"<html><body><p>{text}</p></body></html>".encode()


def edited(page: bytes, n: int) -> bytes:
    place = 1000 + 137 * n % (len(page) - 2000)
    return page[:place] + f" edit {n} ".encode() + page[place + 8 :]


def stored(store: Store) -> list[tuple[int, int | None, int]]:
    """(id, base, depth) of every body."""
    rows = store.database.fetch_all("SELECT id, base, depth FROM bodies ORDER BY id")
    return [(number, base, depth) for number, base, depth in rows]


def chain(store: Store, count: int) -> list[bytes]:
    """A page's versions, each a small edit of the one before, a day apart."""
    pages = [body()]
    for n in range(1, count):
        pages.append(edited(pages[-1], n))
    with store.transaction():
        for n, page in enumerate(pages):
            assert store.versions.add_version(URL, page, NOW + n * DAY) == n + 1
    return pages


def test_every_version_can_be_shown_and_small_edits_are_small(tmp_path: Path) -> None:
    with Store.open(tmp_path, "crawl") as store:
        pages = chain(store, 40)
    with Store.open(tmp_path, "read") as store:
        rows = store.versions.list_versions(URL)
        assert [row.number for row in rows] == list(range(1, 41))
        assert [row.size for row in rows] == [len(page) for page in pages]
        assert len({row.digest for row in rows}) == 40
        assert all(row.at == row.last_seen == NOW + n * DAY for n, row in enumerate(rows))
        assert [depth for _, _, depth in stored(store)] == [n % 16 for n in range(40)]
        assert max(row.stored for n, row in enumerate(rows) if n % 16) <= 100
        assert store.versions.latest_version(URL) == rows[-1]
        for n, page in enumerate(pages):
            assert store.versions.read_body(URL, n + 1) == page
        assert sum(row.stored for row in rows) < sum(map(len, pages))


def test_an_edit_in_a_large_page_is_small_too() -> None:
    page = body(3, 250_000)
    assert len(page) > 1_800_000
    new = edited(page, 5)
    packed = bodies.pack_delta(new, page)
    assert len(packed) < 1_000
    assert bodies.unpack_delta(packed, page, len(new)) == new


def test_what_did_not_change_is_no_new_version(tmp_path: Path) -> None:
    with Store.open(tmp_path, "crawl") as store:
        versions = store.versions
        assert versions.latest_version(URL) is None
        assert versions.list_versions(URL) == []
        assert versions.add_version(URL, b"one", NOW, "text/plain") == 1
        assert versions.add_version(URL, b"one", NOW + 5) == 1
        versions.mark_unchanged(URL, NOW + 9)
        versions.mark_unchanged(URL, NOW + 7)
        versions.mark_unchanged(OTHER, NOW + 9)
        [row] = versions.list_versions(URL)
        assert (row.at, row.last_seen, row.content_type, row.status) == (
            NOW,
            NOW + 9,
            "text/plain",
            200,
        )
        assert versions.add_version(URL, b"one", NOW + 10, status=404) == 2, (
            "the same words mean another"
        )
        assert len(stored(store)) == 1


def test_back_to_an_old_state_is_stored_once(tmp_path: Path) -> None:
    with Store.open(tmp_path, "crawl") as store:
        a, b = body(1), edited(body(1), 3)
        for n, page in enumerate((a, b, a, b, a)):
            assert store.versions.add_version(URL, page, NOW + n) == n + 1
        assert store.versions.add_version(OTHER, b, NOW) == 1
        assert len(stored(store)) == 2
        assert [store.versions.read_body(URL, n) for n in range(1, 6)] == [a, b, a, b, a]
        assert store.versions.read_body(OTHER, 1) == b
        assert store.versions.thin_out(Retention(last=1), NOW) == 4
        assert len(stored(store)) == 2, "the other page still has it"
        assert store.versions.read_body(OTHER, 1) == b
        assert store.versions.add_version(URL, b"new", NOW + 9) == 6, "numbers do not come back"


@pytest.mark.parametrize("page", [b"", b"x", bytes(range(256)) * 300, b"\x37\xa4\x30\xec" * 500])
def test_odd_bodies(tmp_path: Path, page: bytes) -> None:
    with Store.open(tmp_path, "crawl") as store:
        for n, one in enumerate((page, body(), page + b"!", page)):
            assert store.versions.add_version(URL, one, NOW, "text/\ud800" * 200) == n + 1
    with Store.open(tmp_path, "read") as store:
        assert store.versions.read_body(URL, 3) == page + b"!"
        assert store.versions.read_body(URL, 4) == page


def test_a_body_that_is_too_long_is_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("honeyguide.store.versions.MAX_BODY_BYTES", 10)
    with Store.open(tmp_path, "crawl") as store:
        store.versions.add_version(URL, b"0123456789abc", NOW)
        assert store.versions.read_body(URL, 1) == b"0123456789"


def test_a_page_rewritten_stands_alone(tmp_path: Path) -> None:
    with Store.open(tmp_path, "crawl") as store:
        chance = random.Random(1)
        for n in range(3):
            store.versions.add_version(URL, chance.randbytes(5_000), NOW + n)
        assert [depth for _, _, depth in stored(store)] == [0, 0, 0]


def test_there_is_no_such_version(tmp_path: Path) -> None:
    with Store.open(tmp_path, "crawl") as store:
        store.versions.add_version(URL, b"one", NOW)
        for url, number in ((URL, 2), (URL, 0), (OTHER, 1)):
            with pytest.raises(StoreError, match=f"no version {number} of"):
                store.versions.read_body(url, number)


# -- retention ---------------------------------------------------------------------------------


def test_all_versions_stay_unless_told_otherwise(tmp_path: Path) -> None:
    with Store.open(tmp_path, "crawl") as store:
        chain(store, 5)
        assert store.versions.thin_out(Retention(), NOW + 1000 * DAY) == 0
        assert len(store.versions.list_versions(URL)) == 5


def test_the_last_so_many_stay(tmp_path: Path) -> None:
    with Store.open(tmp_path, "crawl") as store:
        pages = chain(store, 40)
        assert store.versions.thin_out(Retention(last=3), NOW) == 37
        assert [row.number for row in store.versions.list_versions(URL)] == [38, 39, 40]
        assert [store.versions.read_body(URL, n) for n in (38, 39, 40)] == pages[-3:]
        assert len(stored(store)) == 3
        assert store.versions.thin_out(Retention(last=3), NOW) == 0
        assert store.versions.add_version(URL, edited(pages[-1], 77), NOW + 50 * DAY) == 41


def test_one_a_week_after_thirty_days(tmp_path: Path) -> None:
    with Store.open(tmp_path, "crawl") as store:
        pages = chain(store, 100)
        now = NOW + 99.5 * DAY
        gone = store.versions.thin_out(Retention(days=30), now)
        rows = store.versions.list_versions(URL)
        assert len(rows) + gone == 100
        old = [row for row in rows if row.at < now - 30 * DAY]
        assert len(rows) - len(old) == 30
        weeks = [row.at // (7 * DAY) for row in old]
        assert len(weeks) == len(set(weeks)) == 10
        assert len(stored(store)) == len(rows)
        for row in rows:
            assert store.versions.read_body(URL, row.number) == pages[row.number - 1]
        # A month later the same weeks are kept: what stays does not depend on when one looks.
        store.versions.thin_out(Retention(days=30), now + 30 * DAY)
        kept = {row.number for row in store.versions.list_versions(URL)}
        assert {row.number for row in old} <= kept


def test_the_newest_always_stays() -> None:
    versions = [(n, NOW + n) for n in range(1, 9)]
    for rule in (Retention(last=1), Retention(days=1), Retention(last=1, days=1)):
        assert rule.versions_to_drop(versions, NOW + 1000 * DAY) == list(range(1, 8))
    assert Retention(last=1).versions_to_drop([], NOW) == []


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_thinned_in_any_way_the_rest_is_whole(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    states = [body()]
    for n in range(9):
        states.append(edited(states[-1], n))
    kept: dict[tuple[Url, int], bytes] = {}
    with Store.open(tmp_path_factory.mktemp("c"), "crawl") as store, store.transaction():
        for step in range(data.draw(st.integers(1, 40))):
            url = data.draw(st.sampled_from((URL, OTHER)))
            if data.draw(st.integers(0, 5)):
                page = data.draw(st.sampled_from(states))
                kept[url, store.versions.add_version(url, page, NOW + step * DAY)] = page
            else:
                rule = Retention(data.draw(st.integers(0, 4)), data.draw(st.sampled_from((0, 3))))
                gone = store.versions.thin_out(rule, NOW + step * DAY)
                left = {
                    (u, r.number) for u in (URL, OTHER) for r in store.versions.list_versions(u)
                }
                assert len(kept) - len(left) == gone
                kept = {key: page for key, page in kept.items() if key in left}
        for (url, number), page in kept.items():
            assert store.versions.read_body(url, number) == page
        assert len(stored(store)) == len(set(kept.values())), "each body once, none without owner"
        assert all(base is None or base < number for number, base, _ in stored(store))


def test_a_reader_beside_it_never_misses_a_base(tmp_path: Path) -> None:
    with Store.open(tmp_path, "crawl") as store, Store.open(tmp_path, "read") as reader:
        pages = chain(store, 12)
        for last in (8, 5, 2):
            store.versions.thin_out(Retention(last=last), NOW)
            for row in reader.versions.list_versions(URL):
                assert reader.versions.read_body(URL, row.number) == pages[row.number - 1]


def test_what_is_rolled_back_is_not_there(tmp_path: Path) -> None:
    with Store.open(tmp_path, "crawl") as store:
        pages = chain(store, 2)
        lost = edited(pages[-1], 50)
        with suppress(KeyboardInterrupt), store.transaction():
            assert store.versions.add_version(URL, lost, NOW) == 3
            raise KeyboardInterrupt
        other = edited(pages[-1], 60)
        assert store.versions.add_version(URL, other, NOW) == 3, "the same number, another body"
        assert store.versions.read_body(URL, 3) == other
        assert len(stored(store)) == 3


# -- strangers ---------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with Store.open(tmp_path, "crawl") as store:
        chain(store, 6)
    return tmp_path


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE bodies SET data = x'00' WHERE id = 3",
        "UPDATE bodies SET data = 'text' WHERE id = 3",
        "UPDATE bodies SET data = zeroblob(100) WHERE id = 3",
        "UPDATE bodies SET digest = zeroblob(16) WHERE id = 5",
        "UPDATE bodies SET digest = 'x' WHERE id = 5",
        "UPDATE bodies SET base = 5 WHERE id = 3",
        "UPDATE bodies SET base = 5 WHERE id = 5",
        "UPDATE bodies SET base = 'x' WHERE id = 3",
        "UPDATE bodies SET base = 99 WHERE id = 3",
        "UPDATE bodies SET base = -1 WHERE id = 3",
        "UPDATE bodies SET base = NULL WHERE id = 3",
        "DELETE FROM bodies WHERE id = 3",
        "UPDATE versions SET body = 99 WHERE number = 5",
        "UPDATE versions SET body = 'x' WHERE number = 5",
    ],
)
def test_damage_is_told_and_the_watch_goes_on(folder: Path, sql: str) -> None:
    change(folder, sql)
    with Store.open(folder, "crawl") as store:
        with pytest.raises(CollectionCorrupt, match="damaged"):
            store.versions.read_body(URL, 5)
        assert store.versions.read_body(URL, 2)
        new = body(9)
        number = store.versions.add_version(URL, new, NOW + 99 * DAY)
        assert store.versions.read_body(URL, number) == new, "what is lost does not cost us the new"
        store.versions.thin_out(Retention(last=2), NOW)
        assert store.versions.read_body(URL, number) == new
        store.versions.list_versions(URL)


@pytest.mark.parametrize("lie", ["x", b"\xff", 1e300, 9e999, 2**62, -7])
def test_rows_are_of_the_kinds_they_claim(folder: Path, lie: object) -> None:
    change(folder, "UPDATE versions SET at = ?1, seen = ?1, status = ?1, content_type = ?1", lie)
    change(folder, "UPDATE bodies SET size = ?1, depth = ?1", lie)
    with Store.open(folder, "crawl") as store:
        for row in store.versions.list_versions(URL):
            assert abs(row.at) <= 1e300
            assert row.status >= 0
            assert row.size >= 0
            assert isinstance(row.content_type, str)
        for n in range(1, 7):
            assert store.versions.read_body(URL, n)
        store.versions.mark_unchanged(URL, NOW)
        store.versions.add_version(URL, b"new", NOW)
        store.versions.thin_out(Retention(days=30), NOW)


def test_a_chain_without_end_is_told(folder: Path) -> None:
    with Store.open(folder, "crawl") as store, store.transaction():
        page = body()
        for n in range(200):
            page = edited(page, 100 + n)
            store.versions.add_version(URL, page, NOW)
            store.database.execute("UPDATE bodies SET depth = 0")
    with Store.open(folder, "read") as store, pytest.raises(CollectionCorrupt, match="based on"):
        store.versions.read_body(URL, 200)


def test_a_bomb_is_not_unpacked(folder: Path) -> None:
    bomb = zstandard.ZstdCompressor().compress(bytes(bodies.MAX_BODY_BYTES + 1))
    change(folder, "UPDATE bodies SET data = ?, base = NULL WHERE id = 4", bomb)
    with Store.open(folder, "read") as store, pytest.raises(CollectionCorrupt, match="claims"):
        store.versions.read_body(URL, 4)

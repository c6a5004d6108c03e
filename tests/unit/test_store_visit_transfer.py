"""Visits of shards in the collection's journal: the same rows, once, however often they come."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest

from honeyguide.store.counters import CollectionCounts
from honeyguide.store.store import Store
from honeyguide.store.warc import WarcFolder
from honeyguide.types import Visit
from tests.unit.store_visits import bad, copy, good, records


def _write(store: Store, visits: list[Visit]) -> None:
    with store.transaction():
        store.append_visits(visits)


@pytest.fixture
def stores(tmp_path: Path) -> list[Store]:
    """A collection, and two shards that write their WARC files into its folder."""
    whole = Store.open(tmp_path / "c", "crawl")
    shards = [
        Store.open(
            tmp_path / "c/shards" / str(n), "crawl", shelf=WarcFolder(tmp_path / "c/warc", n + 1)
        )
        for n in range(2)
    ]
    return [whole, *shards]


def test_rows_texts_and_counts_are_those_of_one_journal(
    stores: list[Store], tmp_path: Path
) -> None:
    whole, one, two = stores
    again = good(1).response
    visits = [
        [good(0), bad(1, "robots"), good(2, 0.1), copy(3, "https://a.org/")],
        [good(4), bad(5), good(6)],
        [good(9, response=again), good(8)],
    ]
    _write(one, [good(1), *visits[0]])
    _write(two, visits[1])
    for shard, store in enumerate((one, two)):
        parcel = store.shard_sync.pack_visits(0, 2)
        assert parcel is not None
        assert (parcel.first, parcel.last) == (1, 2)
        assert whole.shard_sync.import_visits(shard, parcel) is not None
        assert whole.shard_sync.import_visits(shard, parcel) is None, "it came twice"
    _write(one, visits[2])
    for shard, store in enumerate((one, two)):
        while (
            parcel := store.shard_sync.pack_visits(whole.shard_sync.synced_until(shard), 3)
        ) is not None:
            taken = whole.shard_sync.import_visits(shard, parcel)
            assert taken is not None
            assert taken.last - taken.first == parcel.last - parcel.first

    alone = Store.open(tmp_path / "alone", "crawl")
    _write(alone, [good(1), visits[0][0]])
    _write(alone, visits[1][:2])
    _write(alone, [*visits[0][1:], *visits[2]])
    _write(alone, visits[1][2:])
    for field in fields(CollectionCounts):
        assert getattr(whole.counter.read_counts(), field.name) == getattr(
            alone.counter.read_counts(), field.name
        ), field
    assert whole.counter.harvest_curve() == alone.counter.harvest_curve()
    assert sorted(whole.counter.top_hosts()) == sorted(alone.counter.top_hosts())
    ours, theirs = list(whole.visits.iter_visits()), list(alone.visits.iter_visits())
    told = ("id", "warc", "offset", "payload_of", "length", "request_length")
    assert [row._replace(**dict.fromkeys(told)) for row in ours] == [
        row._replace(**dict.fromkeys(told)) for row in theirs
    ]
    for row, same in zip(ours, theirs, strict=True):
        assert whole.visits.page_text(row.id) == alone.visits.page_text(same.id)
        record, other = whole.warc_record(row), alone.warc_record(same)
        assert (record is None) == (other is None)
        if record is not None and other is not None:
            assert record[1] == other[1]
    (refers,) = [row for row in ours if row.payload_of is not None]
    (held,) = [row for row in ours if row.id == refers.payload_of]
    assert held.url.endswith("/1"), "in a parcel that was taken long before"
    for store in (*stores, alone):
        store.close()


def test_of_a_parcel_that_tells_more_than_before_the_rest_is_taken(stores: list[Store]) -> None:
    whole, one, _ = stores
    _write(one, [good(n) for n in range(4)])
    some, more = one.shard_sync.pack_visits(0, 2), one.shard_sync.pack_visits(0, 3)
    assert some is not None
    assert more is not None
    whole.shard_sync.import_visits(0, some)
    whole.shard_sync.import_visits(0, more)
    assert whole.shard_sync.synced_until(0) == 3
    assert [row.url for row in whole.visits.iter_visits()] == [
        row.url for row in one.visits.iter_visits()
    ][:3]
    assert all(whole.visits.page_text(row.id)[1] for row in whole.visits.iter_visits())
    assert one.shard_sync.pack_visits(4, 10) is None
    for store in stores:
        store.close()


def test_nobody_cuts_a_file_that_a_shard_writes(stores: list[Store], tmp_path: Path) -> None:
    whole, one, two = stores
    _write(one, [good(0)])
    parcel = one.shard_sync.pack_visits(0, 10)
    assert parcel is not None
    whole.shard_sync.import_visits(0, parcel)
    _write(one, [good(3)])  # the collection does not know of it yet
    _write(two, [good(1)])
    _write(whole, [good(2)])
    whole.close()
    files = sorted((tmp_path / "c/warc").iterdir())
    sizes = [file.stat().st_size for file in files]
    whole = Store.open(tmp_path / "c", "crawl")
    assert [file.stat().st_size for file in files] == sizes
    assert not whole.warc_archive.warnings
    _write(whole, [good(5)])
    _write(one, [good(6)])
    assert len(list((tmp_path / "c/warc").iterdir())) == 3, "each goes on with its own"
    assert sum(len(list(records(file))) for file in files) >= 6
    for store in (whole, one, two):
        store.close()
    Store.open(tmp_path / "c/shards/0", "crawl", shelf=WarcFolder(tmp_path / "c/warc", 1)).close()


def test_texts_are_forgotten_where_the_collection_has_them(stores: list[Store]) -> None:
    _, one, _ = stores
    _write(one, [good(n) for n in range(3)])
    assert one.visits.page_text(1)[1]
    one.visits.forget_texts(2)
    assert [bool(one.visits.page_text(n)[1]) for n in (1, 2, 3)] == [False, False, True]
    for store in stores:
        store.close()

"""A watch visits, finds and tells what it did when it was recorded, at the same instants.

Is another result wanted? ``python -m tests.golden.record --watch`` writes it down.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.golden.keeping import difference, read, recorded

TABLES = ("watched", "pages", "versions", "changes", "outbox", "watch_facts")


@pytest.fixture(scope="module")
def now(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return recorded("watch", tmp_path_factory.mktemp("watch"))


@pytest.mark.parametrize("part", ["first", "later"])
class TestWatch:
    """A watch of some hours, and one that goes on where it ended."""

    def test_the_same_visits(self, part: str, now: Any) -> None:
        wanted, found = read("watch")[part], now[part]
        told = difference(wanted["visits"], found["visits"], ("at", "url", "status"))
        assert not told, told
        assert found["tally"] == wanted["tally"]

    @pytest.mark.parametrize("table", TABLES)
    def test_the_same_rows(self, part: str, table: str, now: Any) -> None:
        (names, *wanted), (others, *found) = read("watch")[part][table], now[part][table]
        assert others == names
        told = difference(wanted, found, names)
        assert not told, told

    def test_the_same_words(self, part: str, now: Any) -> None:
        wanted, found = read("watch")[part], now[part]
        assert found["said"] == wanted["said"]
        assert found["printed"] == wanted["printed"]

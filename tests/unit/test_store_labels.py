from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from honeyguide.errors import StoreError
from honeyguide.store import Store
from honeyguide.types import Label, Url
from tests.unit.store_visits import good

A, B = Url("https://example.org/a"), Url("https://example.org/b")


def test_a_later_label_replaces_and_keeps_the_earlier(tmp_path: Path) -> None:
    with Store.open(tmp_path, "crawl") as store:
        store.labels.add([Label(A, 1.0, "ada", 1.0), Label(B, 0.0, "ada", 2.0)])
        seen = store.labels.effective_after()
        assert [label.url for _, label in seen] == [A, B]
        store.labels.add([Label(A, 0.0, "ada", 3.0), Label(A, 1.0, "bob", 4.0)])
        news = store.labels.effective_after(seen[-1][0])
        assert [(label.by, label.value) for _, label in news] == [("bob", 1.0)], (
            "of a tie the newest"
        )
        assert [label.value for _, label in store.labels.effective_after()] == [0.0, 1.0]
        every = [label.value for _, label in store.labels.everyone_after()]
        assert every == [0.0, 0.0, 1.0], "each person's word stays"
        assert store.labels.effective_label(A) == Label(A, 1.0, "bob", 4.0)
        assert store.labels.effective_label(Url("https://example.org/c")) is None
        assert [label.value for label in store.labels.label_history(A)] == [1.0, 0.0, 1.0]
        assert store.counter.read_counts().labels == 3


def test_what_counted_when_a_label_was_given(tmp_path: Path) -> None:
    with Store.open(tmp_path, "crawl") as store:
        store.labels.add([Label(A, 1.0, "ada"), Label(B, 0.0, "ada")])
        store.labels.add([Label(A, 0.0, "bob"), Label(A, 0.0, "ada")])
        counted = [
            {label.url: label.value for label in store.labels.effective_until(number)}
            for number in range(5)
        ]
        assert counted == [
            {},
            {A: 1.0},
            {A: 1.0, B: 0.0},
            {A: 0.0, B: 0.0},  # of a tie the newest
            {A: 0.0, B: 0.0},
        ]


@pytest.mark.parametrize("value", [-0.1, 1.1, float("nan")])
def test_a_label_lies_between_0_and_1(tmp_path: Path, value: float) -> None:
    with Store.open(tmp_path, "crawl") as store:
        with pytest.raises(StoreError, match="between 0 and 1"):
            store.labels.add([Label(A, 1.0), Label(B, value)])
        assert store.labels.effective_after() == []


def test_another_process_labels_while_a_crawl_runs(tmp_path: Path) -> None:
    program = """
import sys
from pathlib import Path
from honeyguide.store import Store
from honeyguide.types import Label
with Store.open(Path(sys.argv[1]), "write") as store:
    store.labels.add([Label("https://example.org/a", 1.0, "other", 5.0)])
    assert store.counter.read_counts().visits == 1
"""
    with Store.open(tmp_path, "crawl") as store:
        with store.transaction():
            store.append_visits([good(1)])
        subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=True, timeout=30)
        assert store.labels.effective_label(A) == Label(A, 1.0, "other", 5.0)
        with store.transaction():
            store.append_visits([good(2)])
    with Store.open(tmp_path, "read") as store:
        assert (store.counter.read_counts().visits, store.counter.read_counts().labels) == (2, 1)

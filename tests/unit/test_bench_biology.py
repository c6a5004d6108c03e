"""The tables of bench/biology.py, from outcomes that are easy to count."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

BENCH = Path(__file__).parents[2] / "bench"


@pytest.fixture
def biology(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(BENCH))
    return import_module("biology")


def outcome(biology: ModuleType, topic: str, draw: int, ours: int, others: int) -> dict[str, Any]:
    """``ours`` and ``others`` of every 50 pages are relevant, and half of them were not known."""

    def found(share: int) -> list[list[int]]:
        counts = [share * (n + 1) for n in range(10)]
        return [counts, [count // 2 for count in counts]]

    return {
        "topic": topic,
        "draw": draw,
        "found": {name: found(others) for name in biology.OTHERS}
        | {name: found(ours) for name in biology.OURS},
    }


def test_each_subject_and_all_of_them(biology: ModuleType) -> None:
    outcomes = [
        outcome(biology, topic, draw, ours, 10)
        for topic, ours in (("birds", 20), ("plants", 12))
        for draw in range(2)
    ]
    lines = biology.told(outcomes).splitlines()
    assert "| birds | 0.400 | 0.400 | 0.200 | 0.200 | 0.200 | 0.200 | 0.200 |" in lines
    assert "| plants | 0.240 | 0.240 | 0.200 | 0.200 | 0.200 | 0.200 | 0.200 |" in lines
    for name in biology.OURS:
        (whole, new) = (line for line in lines if line.startswith(f"| {name} is ahead by"))
        assert whole.split(" | ")[3].startswith("0.120 [0.040, 0.200]")
        assert new.split(" | ")[3].startswith("0.060 [0.020, 0.100]")


def test_subjects_are_told_apart(biology: ModuleType) -> None:
    names = [topic.name for topic in biology.TOPICS]
    labels = [label for topic in biology.TOPICS for label in topic.labels]
    assert len(set(names)) == len(names)
    assert len(set(labels)) == len(labels)

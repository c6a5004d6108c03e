"""What a crawl can start from: which strategies a topic has enough for, and which one suits it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from honeyguide import registry
from honeyguide.errors import HoneyguideError
from honeyguide.types import Habits


@dataclass(frozen=True, slots=True)
class Choice:
    """A strategy beside a topic."""

    name: str
    about: str
    """The first line of its description."""
    habits: Habits
    missing: tuple[str, ...]
    """Any one of these would do; empty: it can start."""


def has(topic: Mapping[str, Any], need: str) -> bool:
    """Whether a topic has this: files are examples too, and an ontology needs its concept."""
    if need in ("good", "bad"):
        return bool(topic.get(need) or topic.get(f"{need}_files"))
    if need == "ontology":
        return bool(topic.get("ontology") and topic.get("concept"))
    return bool(topic.get(need))


def choices(topic: Mapping[str, Any]) -> list[Choice]:
    """Every strategy there is, and what this topic lacks for it."""
    found = []
    for name in registry.names():
        try:
            cls = registry.find(name)
        except HoneyguideError:
            continue  # somebody else's, and broken: told when it is chosen
        needs = cls.habits.needs
        missing = () if not needs or any(has(topic, need) for need in needs) else needs
        about = (cls.__doc__ or "").strip().partition("\n")[0]
        found.append(Choice(name, about, cls.habits, missing))
    return found


def suited(topic: Mapping[str, Any]) -> str:
    """The strategy for a topic whose owner did not choose one."""
    if has(topic, "model"):
        return "topic_cnn"
    stated = ("good", "keywords", "description", "ontology")
    return "honeyguide" if any(has(topic, what) for what in stated) else "breadth"

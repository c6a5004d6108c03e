"""A few labelled texts, made up; their categories can be told apart by their words."""

from __future__ import annotations

import random

WORDS = {
    "birds": "plumage feather migration nest wing beak sparrow finch egg song",
    "soup": "boil water salt onion carrot pot spoon broth pepper ladle",
    "trains": "rail engine station wagon ticket track signal driver platform whistle",
}
COMMON = "day long people find make new old good place time great small year world"


def text(category: str, seed: int, words: int = 60, share: float = 0.4) -> str:
    dice = random.Random(f"{category}{seed}")
    own, common = WORDS[category].split(), COMMON.split()
    said = [dice.choice(own if dice.random() < share else common) for _ in range(words)]
    return " ".join(said[: words // 2]) + ". " + " ".join(said[words // 2 :]) + "."


def rows(each: int = 20) -> list[tuple[str, str]]:
    """(text, label)"""
    return [(text(category, n), category) for n in range(each) for category in WORDS]

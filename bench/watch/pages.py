"""The bench's pages: some 18 KB each, the same for everybody, changed where we know it."""

from __future__ import annotations

from functools import lru_cache
from random import Random

SYLLABLES = [first + last for first in "bklmnrst" for last in "aeio"]
PARAGRAPHS = 28
CHANGED = 0.1


def changed(pages: int, seed: int) -> set[int]:
    """A tenth of the pages: the ground truth of one round."""
    return set(Random(seed).sample(range(pages), round(pages * CHANGED)))


@lru_cache(maxsize=1)
def words() -> list[str]:
    dice = Random(7)
    return ["".join(dice.choices(SYLLABLES, k=dice.randint(1, 4))) for _ in range(3000)]


def paragraph(dice: Random) -> str:
    said = " ".join(dice.choices(words(), k=91))
    return f'<p class="text">{said.capitalize()}.</p>'


@lru_cache(maxsize=20_000)
def page(number: int, version: int = 0) -> bytes:
    """A page as it stands after so many edits: each rewrites two paragraphs and adds one."""
    dice = Random(number)
    title = " ".join(dice.choices(words(), k=5)).capitalize()
    body = [paragraph(dice) for _ in range(PARAGRAPHS)]
    rows = "".join(
        f"<tr><td>{dice.choice(words())}</td><td>{dice.randint(1, 9999)}</td></tr>"
        for _ in range(15)
    )
    menu = "".join(f'<li><a href="/page/{n}">{words()[n]}</a></li>' for n in range(20))
    aside = "".join(f"<li>{' '.join(dice.choices(words(), k=6))}</li>" for _ in range(10))
    for edit in range(version):
        pen = Random(f"{number} {edit}")
        for place in pen.sample(range(len(body)), 2):
            body[place] = paragraph(pen)
        body.insert(pen.randrange(len(body)), paragraph(pen))
    text = (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title></head><body>'
        f'<nav><ul class="menu">{menu}</ul></nav><main><article><h1>{title}</h1>{"".join(body)}'
        f'<table class="facts">{rows}</table></article></main><aside><ul>{aside}</ul></aside>'
        f'<footer><p class="foot">Page {number} of the bench.</p></footer></body></html>'
    )
    return text.encode()

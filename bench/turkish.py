"""The Turkish normaliser on a file of Turkish texts: how right, how harmless, how quick.

    python bench/turkish.py TEXTS.jsonl[.gz]

Each line is an object with a ``text``, or with an ``url`` and ``html``; at least some hundred texts, correctly written, that the
normaliser was not made from. Prints

- the share of words that come back right when all marked letters were taken away, whole text by whole
  text and word by word, beside the share that was right without doing anything;
- the share of pieces that the normaliser changes in the texts as they are, other than their case,
  numbers and endings, with examples;
- CPU milliseconds for 5,000 characters: first reading (nothing remembered), texts as they come
  (remembering what came before), the same texts again; for the default steps and for less;
- what a crawl pays: CPU milliseconds a page to read it as it is written and with its words repaired, for
  pages as they are and without marked letters; and the share of words that then count alike.
"""

from __future__ import annotations

import gzip
import json
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from honeyguide.language_codes import RAW_SUFFIX
from honeyguide.parse.read import parse_body
from honeyguide.text import vectors
from honeyguide.text.language import language_of
from honeyguide.text.turkish import Normaliser
from honeyguide.text.turkish.vocabulary import PLAIN_LETTERS
from honeyguide.types import Link, Url

CAPITALS = str.maketrans("ÇĞİÖŞÜÂÎÛ", "CGIOSUAIU")
HATS = str.maketrans("âîû", "aiu")
PAGE = 5_000
SPELL = Normaliser(numbers=False, emo=False, slang=False, repeats=False)
FOLD = Normaliser(numbers=False, emo=False, slang=False, repeats=False, deasciify=False)
LOAD = """
import time
from honeyguide.text.turkish import Normaliser
t, w = time.process_time(), time.perf_counter()
Normaliser().words("hoslanmmadim")
print(f"{time.process_time() - t:.2f} s CPU, {time.perf_counter() - w:.2f} s wall")
"""


def main(path: Path) -> None:
    texts = list(dict.fromkeys(read(path)))
    print(f"{len(texts)} distinct texts, {sum(map(len, texts)):,} characters")
    loading = subprocess.run([sys.executable, "-c", LOAD], capture_output=True, text=True)
    print("first word:", loading.stdout.strip())
    right(texts[::3], SPELL.words, "whole texts")
    right(
        texts[::9], lambda text: [w for p in text.split() for w in SPELL.words(p)], "word by word"
    )
    harm(texts)
    crawl(texts)
    pages = cut(texts)
    for name, how in (
        ("all steps", Normaliser()),
        ("without letters", Normaliser(deasciify=False)),
        ("case, repeats, slang", Normaliser(deasciify=False, numbers=False, emo=False)),
        ("all, stop words, stems", Normaliser(stops=True, stems=True)),
    ):
        speed(pages, name, how)


def read(path: Path) -> Iterator[str]:
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            if "html" in row:  # a recorded web
                page = parse_body(row["html"].encode(), Link(Url(row["url"])))
                row["text"] = f"{page.title}\n{page.text}"
            yield row["text"].replace("\u0307", "")


def right(texts: list[str], restore: Callable[[str], list[str]], name: str) -> None:
    words = good = as_it_was = 0
    for text in texts:
        plain = text.translate(PLAIN_LETTERS).translate(CAPITALS)
        wanted, got, before = FOLD.words(text), restore(plain), FOLD.words(plain)
        if len(wanted) != len(got) or len(wanted) != len(before):
            continue
        for want, have, was in zip(wanted, got, before, strict=True):
            if want.isalpha():
                words += 1
                good += want.translate(HATS) == have.translate(HATS)
                as_it_was += want.translate(HATS) == was
    print(f"{name}: {good / words:.4f} of {words:,} words right; untouched {as_it_was / words:.4f}")


def harm(texts: list[str]) -> None:
    how, changes, pieces = Normaliser(), [], 0
    for text in texts:
        pieces += len(text.split())
        changes += [c for c in how.explain(text) if c[0] not in ("case", "numbers", "endings")]
    print(f"texts as they are: {len(changes)} changes in {pieces:,} pieces")
    for step, before, after in random.Random(1).sample(changes, min(25, len(changes))):
        print(f"    {step}: {before} → {after}")


def cut(texts: list[str]) -> list[str]:
    joined = "\n".join(texts)
    return [joined[at : at + PAGE] for at in range(0, len(joined) - PAGE, PAGE)]


def speed(pages: list[str], name: str, how: Normaliser) -> None:
    how.words("selam")  # what is loaded once is loaded
    figures = []
    for some in (pages[:1], pages[1:], pages[-5:]):
        start = time.process_time()
        for page in some:
            how.words(page)
        figures.append((time.process_time() - start) / len(some) * 1e3)
    first, stream, again = figures
    print(f"{name}: first page {first:.1f} ms, {len(pages)} pages {stream:.2f}, again {again:.2f}")


def plain(text: str) -> str:
    return text.translate(PLAIN_LETTERS).translate(CAPITALS)


def crawl(texts: list[str]) -> None:
    """What a crawl does: stems of pages, as :mod:`honeyguide.text.vectors` counts them."""
    raw, repaired = language_of(f"tr{RAW_SUFFIX}"), language_of("tr")
    alike = words = before = changed = 0
    for text in texts[::3]:
        for good, bad in zip(raw.words(text), raw.words(plain(text)), strict=False):
            words += 1
            alike += repaired.stems[good] == repaired.stems[bad]
            before += raw.stems[good] == raw.stems[bad]
            changed += repaired.stems[good] != raw.stems[good]
    print(
        f"in a crawl: {alike / words:.4f} of {words:,} words count alike without their marks; "
        f"read as written {before / words:.4f}; {changed / words:.4f} changed in texts as they are"
    )
    for name, pages in (("as they are", texts), ("without marks", list(map(plain, texts)))):
        spent = {code: reading(pages, code) for code in (raw.code, "tr")}
        size = sum(map(len, pages)) / len(pages)
        for part, one, other in zip(
            ("first tenth", "others", "again"), *spent.values(), strict=True
        ):
            print(
                f"crawl, pages {name}, {size:,.0f} characters each, {part}: "
                f"{one:.3f} ms a page as written, {other:.3f} repaired, {other - one:+.3f}"
            )


def reading(pages: list[str], code: str) -> list[float]:
    """Milliseconds a page for the first tenth, for the others, and for these again; nothing of this
    is remembered but words."""
    language_of.cache_clear()
    vectors._stem_lookup.cache_clear()
    tenth, figures = len(pages) // 10, []
    vectors.stem_counts.__wrapped__("ilk", code)  # what is loaded once is loaded
    for some in (pages[:tenth], pages[tenth:], pages[tenth:]):
        start = time.process_time()
        for page in some:
            vectors.stem_counts.__wrapped__(page, code)
        figures.append((time.process_time() - start) / len(some) * 1e3)
    return figures


if __name__ == "__main__":
    main(Path(sys.argv[1]))

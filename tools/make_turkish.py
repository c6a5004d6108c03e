"""Make the Turkish normaliser's data from freely licensed lists of words.

    python tools/make_turkish.py WORKDIR

Run by a maintainer on a Debian 12 machine (apt-get, dpkg, pip); users get the packed files. Each
comes from one source and keeps that source's licence, which `LICENSES.md` beside them says:

    common.txt.xz    wordfreq's Turkish list: words by frequency, slips of the keyboard left out
    stems.txt.xz     Snowball stems of the forms of the Turkish spelling dictionary
    weights.txt.xz   six perceptrons trained on those forms, without and with their marks

The same packages give the same files. Prints the share of words restored rightly among forms held
out from training.
"""

from __future__ import annotations

import gzip
import lzma
import random
import re
import subprocess
import sys
import zipfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from honeyguide.text.language import fold_text, stems_of
from honeyguide.text.turkish.vocabulary import (
    CONTEXT_LETTERS,
    MARKED_LETTERS,
    PLAIN_LETTERS,
    LetterRestorer,
    front_vowels,
    is_harmonic,
    letter_features,
)

DATA = Path(__file__).parents[1] / "src/honeyguide/text/turkish/data"
DICTIONARY = "hunspell-tr"
FREQUENCIES = "wordfreq==3.1.1"

HELD_OUT = 5_000
LEARNT = 400_000
"""Forms that are trained on, of 1.3 million: some minutes. 150,000 restore 2 % fewer."""
PASSES = 3
SMALLEST = 1.0
"""Weights below that are left out: four in five, and 0.3 % of the words."""
FORMS_OF_A_STEM = 2
"""Stems with fewer forms are mostly names and slips."""
SLIP = 100
"""Centibels: a plain word that is ten times rarer than a marked one is that one, mistyped."""

_WORD = re.compile("[a-zçğıöşüâîû]+").fullmatch
_DRAWLED = re.compile(r"(.)\1\1").search
# wordfreq folded the foreign names in I as if they were Turkish: ınstagram. These are Turkish.
_DOTLESS = re.compile(
    "ı(?:ğdır|hla|kın|l(?:gaz|gın|ı)|r(?:ak|gat|k|ma|z)|s(?:ı|la[hkn](?!d$)|lı|mar|pa|rar|sı|ka[lr]"
    "|tak|tıra)|ş[ıi]|v[ıe]r|z(?:ba|dı|ga|tıra))"
).match


def main(work: Path) -> None:
    work.mkdir(parents=True, exist_ok=True)
    forms = dictionary(work)
    pack("stems", "\n".join(stems(forms)))
    pack("common", "\n".join(common(frequencies(work))))
    plainly = sorted(form for form in forms if 3 <= len(form) <= 24 and not set(form) & set("âîû"))
    random.Random(1).shuffle(plainly)
    weights = train(plainly[HELD_OUT : HELD_OUT + LEARNT])
    pack("weights", "\n".join(by_weight(weights)))
    right = LetterRestorer(weights)
    good = sum(
        right.restore_marks(w.translate(PLAIN_LETTERS)).word == w for w in plainly[:HELD_OUT]
    )
    print(f"{good / HELD_OUT:.4f} of {HELD_OUT} held-out forms restored")


def dictionary(work: Path) -> set[str]:
    """All forms the spelling dictionary accepts: each entry with each ending it names."""
    subprocess.run(["apt-get", "download", DICTIONARY], cwd=work, check=True)
    (package,) = work.glob(f"{DICTIONARY}_*.deb")
    subprocess.run(["dpkg", "-x", package, work / DICTIONARY], check=True)
    folder = work / DICTIONARY / "usr/share/hunspell"
    endings = {}
    for line in (folder / "tr_TR.aff").read_text("utf-8").splitlines():
        if line.startswith("SFX") and len(parts := line.split()) >= 5:
            endings[parts[1]] = parts[3]
    found = set()
    for line in (folder / "tr_TR.dic").read_text("utf-8").splitlines()[1:]:
        entry, _, flags = line.partition("/")
        word = fold_text(entry, "tr")
        found.add(word)
        found.update(word + endings[flag] for flag in flags.split(",") if flag)
    return {word for word in found if _WORD(word)}


def stems(forms: set[str]) -> Iterator[str]:
    """A line of stems whose endings follow their vowels, and one of those whose do not."""
    stem = stems_of("tr")
    grouped: dict[str, list[str]] = defaultdict(list)
    for form in forms:
        grouped[stem[form]].append(form)
    lines: dict[bool, list[str]] = {False: [], True: []}
    for base, found in grouped.items():
        if len(found) >= FORMS_OF_A_STEM:
            endings = [form[len(base) :] for form in found]
            obey = sum(is_harmonic(base, ending) for ending in endings)
            lines[sum(is_harmonic(front_vowels(base), ending) for ending in endings) > obey].append(
                base
            )
    yield from (" ".join(sorted(lines[soft])) for soft in (False, True))


def frequencies(work: Path) -> dict[str, int]:
    """Word → centibels below 1: 300 is a word in a thousand."""
    pip = [sys.executable, "-m", "pip", "download", "--no-deps", "-d", str(work), FREQUENCIES]
    subprocess.run(pip, check=True)
    (wheel,) = work.glob("wordfreq-*.whl")
    with zipfile.ZipFile(wheel) as opened:
        packed = opened.read("wordfreq/data/small_tr.msgpack.gz")
    _, *levels = msgspec.msgpack.decode(gzip.decompress(packed))
    return {word: rank for rank, words in enumerate(levels, 1) for word in words if _WORD(word)}


def common(ranks: dict[str, int]) -> Iterator[str]:
    """Lines of a frequency and its words."""
    best: dict[str, int] = {}
    for word, rank in ranks.items():
        plain = word.translate(PLAIN_LETTERS)
        best[plain] = min(rank, best.get(plain, rank))
    levels: dict[int, list[str]] = defaultdict(list)
    for word, rank in ranks.items():
        slip = _DRAWLED(word) or (word.isascii() and best[word] <= rank - SLIP)
        if not slip and (word[0] != "ı" or _DOTLESS(word)):
            levels[rank].append(word)
    for rank, words in sorted(levels.items()):
        yield f"{rank} {' '.join(sorted(words))}"


def train(words: Sequence[str]) -> dict[str, float]:
    """Averaged perceptrons (Freund & Schapire 1999), updated also where they were barely right."""
    now: dict[str, int] = defaultdict(int)
    summed: dict[str, int] = defaultdict(int)
    order, step = list(words), 0
    for turn in range(PASSES):
        random.Random(turn).shuffle(order)
        for word in order:
            plain = word.translate(PLAIN_LETTERS)
            for place, letter in enumerate(plain):
                if letter not in MARKED_LETTERS:
                    continue
                step += 1
                found = list(
                    letter_features(
                        word[:place], letter, plain[place + 1 : place + 1 + CONTEXT_LETTERS]
                    )
                )
                truth = 1 if word[place] != letter else -1
                if truth * sum(now.get(feature, 0) for feature in found) <= 1:
                    for feature in found:
                        now[feature] += truth
                        summed[feature] += truth * step
        print(f"pass {turn + 1}: {len(now)} features", flush=True)
    averaged = {feature: now[feature] - summed[feature] / step for feature in now}
    # Halves are exact enough, and there are few of them.
    return {f: round(2 * w) / 2 for f, w in averaged.items() if abs(w) >= SMALLEST}


def by_weight(weights: dict[str, float]) -> Iterator[str]:
    """Lines of a weight and its features."""
    levels: dict[float, list[str]] = defaultdict(list)
    for feature, weight in weights.items():
        levels[weight].append(feature)
    for weight, found in sorted(levels.items()):
        yield f"{weight:g} {' '.join(sorted(found))}"


def pack(name: str, text: str) -> None:
    path = DATA / f"{name}.txt.xz"
    path.write_bytes(lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME))
    print(f"{path.name}: {path.stat().st_size:,} bytes", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))

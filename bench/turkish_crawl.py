"""A Turkish web without its Turkish letters, crawled with words repaired and as they are written.

    python bench/turkish_crawl.py FOLDER

FOLDER holds recorded webs as gzip'd JSON lines (see docs/how-to/compare.md), among them the help of
an office suite in Turkish and English. They are not part of this project. A copy is made on the fly
whose pages have lost their letters (ç ğ ı ö ş ü, also in anchors; not in addresses), and each topic
is crawled from the same seeds on both, with keywords as the pages of the original tell them and as
a foreign keyboard writes them. ``topic.normalise = false`` is how all this was read before. Writes
docs/reference/turkish-crawl.md; interrupted, it goes on where it ended.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import webs

from honeyguide.lab import compare
from honeyguide.lab.metrics import BootstrapEstimate, bootstrap_mean
from honeyguide.lab.trials import CrawlTrial, StartKnowledge, WebSpec, draw_topic, trial_settings
from honeyguide.text.turkish.vocabulary import PLAIN_LETTERS

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "reference" / "turkish-crawl.md"
CAPITALS = str.maketrans("ÇĞİÖŞÜÂÎÛ", "CGIOSUAIU")
TOPICS = tuple(
    f"{module} & language=tr" for module in ("swriter", "scalc", "simpress", "sbasic", "smath")
)
STRATEGIES = ("keyword", "honeyguide, keywords only", "honeyguide")
"""The second is not told the good pages, as most users begin."""
CASES = {
    "as written, keywords as written": (False, False),
    "without letters, keywords as written": (True, False),
    "as written, keywords without letters": (False, True),
}
"""What is without letters: the web, the keywords."""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--results", type=Path, default=ROOT / "bench/results/turkish-crawl.jsonl")
    parser.add_argument("--draws", type=int, default=2)
    parser.add_argument("--budget", type=int, default=200)
    parser.add_argument("--page", type=Path, default=PAGE)
    chosen = parser.parse_args()
    written = webs.help_tr(chosen.folder)
    rows = {}
    chosen.results.parent.mkdir(parents=True, exist_ok=True)
    if chosen.results.exists():
        rows = {row["key"]: row for row in map(json.loads, chosen.results.open())}
    with tempfile.TemporaryDirectory() as folder, chosen.results.open("a") as out:
        webs_by_letters = {False: written, True: without_letters(written, Path(folder))}
        for strategy, trial, case, normalise in trials(written, chosen.draws, chosen.budget):
            key = (
                f"{strategy} | {case} | {normalise} | {trial.topic} | {trial.draw} | {trial.budget}"
            )
            if key not in rows:
                plain_web, plain_words = CASES[case]
                result = crawl(trial, webs_by_letters[plain_web], plain_words, normalise)
                share = result.found[-1] / max(1, min(result.relevant, result.visits))
                rows[key] = {"key": key, "share": share, "relevant": result.relevant,
                             "cpu_ms": result.cpu_ms, "strategy": strategy, "case": case,
                             "normalise": normalise, "topic": trial.topic, "draw": trial.draw}  # fmt: skip
                out.write(json.dumps(rows[key]) + "\n")
                out.flush()
                sys.stderr.write(f"{key}: {share:.3f}, {result.cpu_ms:.1f} ms\n")
        wanted = [r for r in rows.values() if r["draw"] < chosen.draws]
    chosen.page.write_text(page(wanted, chosen.draws, chosen.budget), "utf-8")
    sys.stdout.write(f"{chosen.page}\n")


def trials(web: WebSpec, draws: int, budget: int) -> Iterator[tuple[str, CrawlTrial, str, bool]]:
    for draw in range(draws):
        for topic in TOPICS:
            for strategy in STRATEGIES:
                for case in cases_of(strategy):
                    for normalise in (True, False):
                        yield (
                            strategy,
                            as_trial(web, topic, strategy, draw, budget),
                            case,
                            normalise,
                        )


def cases_of(strategy: str) -> list[str]:
    """What a strategy is tried on; whoever is given pages hardly notices how keywords are typed."""
    return list(CASES) if strategy == "keyword" else list(CASES)[:2]


def as_trial(web: WebSpec, topic: str, strategy: str, draw: int, budget: int) -> CrawlTrial:
    name, _, only = strategy.partition(", ")
    start = StartKnowledge(keywords=8) if only else None
    return CrawlTrial(web, topic, name, draw, budget, start=start)


def without_letters(web: WebSpec, folder: Path) -> WebSpec:
    """The web with all marks taken away; its addresses have none."""
    copy = folder / "without-letters.jsonl.gz"
    with gzip.open(web.files[0], "rt") as lines, gzip.open(copy, "wt", compresslevel=1) as out:
        for line in lines:
            row = json.loads(line)
            row["html"] = row["html"].translate(PLAIN_LETTERS).translate(CAPITALS)
            out.write(json.dumps(row) + "\n")
    return replace(web, files=(str(copy),))


def crawl(
    trial: CrawlTrial, web: WebSpec, plain_words: bool, normalise: bool
) -> compare.TrialResult:
    """One crawl of this web, with seeds, examples and keywords drawn from the original."""
    topic = draw_topic(trial)
    # Not the module's name, by which its folder is called.
    words = [word for word in topic.keywords if word not in trial.topic]
    topic = replace(
        topic,
        keywords=tuple(word.translate(PLAIN_LETTERS) if plain_words else word for word in words),
    )
    settings = trial_settings(trial, topic)
    settings = replace(settings, topic=replace(settings.topic, normalise=normalise))
    with (
        patch.object(compare, "draw_topic", lambda _: topic),
        patch.object(compare, "trial_settings", lambda *_: settings),
    ):
        return compare.run_trial(replace(trial, web=web))


def page(rows: Sequence[dict], draws: int, budget: int) -> str:
    out = [
        "# Turkish pages without their letters",
        "",
        "Made by `python bench/turkish_crawl.py FOLDER` (`make bench-turkish-crawl FOLDER=…`); what is done",
        "to words: [Turkish](../how-to/turkish.md).",
        "",
        "The help of an office suite, 2,561 pages in Turkish and English, and a copy of it whose pages and",
        f"anchors have lost their Turkish letters. {len(TOPICS)} topics (the Turkish pages of a module), {draws} draws of 3",
        f"seeds and 10 good pages each, {budget} visits a crawl. The code was not changed after looking",
        "at these crawls, but the bench was: the name of the module was a keyword first, which hid the effect, and",
        "*keywords only* was added later. Lists of words that are repaired on this web had been looked at before. Keywords are up to seven",
        "words that the good pages tell, and not the name of the module, which is in its addresses. Harvest: relevant",
        "pages found, of as many as could be found in so many visits. A mean over topics with its",
        "95 % interval (bootstrap over topics and draws). The change is the mean difference to the same",
        "crawl of the original with its own keywords, in percent of that mean, on the same topics and seeds.",
        "",
        "The good pages are of the web that is crawled, so on the copy they are without letters as well;",
        "`honeyguide, keywords only` is not told them. Both learn words from pages as they go, and on this web",
        "no loss was measured for them where words are read as they are written; `keyword`, which does not",
        "learn, lost some. Intervals are wide: topics differ more than anything else here.",
    ]
    for strategy in STRATEGIES:
        out += [
            "",
            f"## `{strategy}`",
            "",
            "| pages, keywords | words repaired | change | as they are written | change |",
            "|---|---|---|---|---|",
        ]
        for case in cases_of(strategy):
            cells = [f"| {case}"]
            for normalise in (True, False):
                mine = grouped(rows, strategy, case, normalise)
                first = grouped(rows, strategy, next(iter(CASES)), normalise)
                mean = bootstrap_mean(first).mean
                change = bootstrap_mean(
                    [
                        [(a - b) / mean for a, b in zip(x, y, strict=True)]
                        for x, y in zip(mine, first, strict=True)
                    ]
                )
                cells += [
                    told(bootstrap_mean(mine), ".3f"),
                    "" if mine == first else told(change, "+.1%"),
                ]
            out.append(" | ".join(cells) + " |")
        before, after = (
            grouped(rows, strategy, next(iter(CASES)), normalise) for normalise in (False, True)
        )
        gain = bootstrap_mean(
            [[a - b for a, b in zip(x, y, strict=True)] for x, y in zip(after, before, strict=True)]
        )
        out += [
            "",
            f"On the original, repairing words changes the harvest by {told(gain, '+.3f')}.",
        ]
    return "\n".join([*out, ""])


def grouped(rows: Sequence[dict], strategy: str, case: str, normalise: bool) -> list[list[float]]:
    """Harvest by topic and draw."""
    mine = [
        r for r in rows if (r["strategy"], r["case"], r["normalise"]) == (strategy, case, normalise)
    ]
    mine.sort(key=lambda r: r["draw"])
    return [[r["share"] for r in mine if r["topic"] == topic] for topic in TOPICS]


def told(found: BootstrapEstimate, form: str) -> str:
    return f"{found.mean:{form}} ({found.low:{form}} to {found.high:{form}})"


if __name__ == "__main__":
    main()

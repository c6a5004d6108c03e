"""Do the labels that ``honeyguide ask`` asks for help more than as many others? On real webs:
writes docs/reference/asking.md.

    python bench/asking.py FOLDER [--strategies hybrid_svm honeyguide]

FOLDER holds the recorded webs of bench/webs.py. Interrupted, it goes on where it ended.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import webs

from honeyguide.lab.compare import run_comparison
from honeyguide.lab.metrics import BootstrapEstimate, Harvest, bootstrap_mean, paired_difference
from honeyguide.lab.trials import CrawlTrial, TrialResult

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "reference" / "asking.md"
SCHOOLS = (
    "Science.Biology.Birds",
    "Science.Biology.Health_and_medicine",
    "Science.Physics.Space_Astronomy",
    "Design_and_Technology.Railway_transport",
    "Everyday_life.Food_and_agriculture",
)
DEPARTMENTS = ("course", "student")
TEXT = """\
# Are the right questions asked?

Made by `python bench/asking.py FOLDER` (`make bench-asking FOLDER=…`); the webs are those of
[harvest](harvest.md).

A person who knows the truth is asked about one visited page after every five, 50 times at most:
`chosen` as `honeyguide ask` chooses (`src/honeyguide/learning/active_learning.py`), or at `random` from the
same pages: equally often, so the difference is in which pages the labels are about. `none` gives no
labels at all. Everything else is as in [harvest](harvest.md): 10 good examples and up to 20 bad ones
to begin with, a budget of as many visits as there are relevant pages (webkb: 200).

*Area* is that under the curve of relevant pages found, *precision* the share of the pages called
relevant, at the time of the visit, that truly are. Each figure is the mean over {topics} topics of
the mean over {draws} draws, with its 95 % interval (bootstrap over topics and draws); differences
are of the same topics and seeds, and an interval without 0 is a difference.

The figures of `chosen` are of the rule before the present one, which asks about both sides of the cut. On
visited pages of twelve crawls (six subjects on which nothing was chosen, told by a sentence or by three good
pages, 300 visits) with three rounds of ten questions, F1 of the pages that were not labelled went from .675
to .799, .834 and .871 with the present rule, and to .808, .817 and .847 with the one before; 43 % and 42 %
of the pages asked about were good ones. Whether this holds in crawls that ask as they go is not measured yet.
"""
READING = {
    "hybrid_svm": """\
### How to read it

Five draws. Chosen labels made the verdicts more precise than as many at random on five
of seven topics, +.038 on average, but over seven topics that is not beyond chance. They did not help
the crawl to find more: the area is .010 smaller, within chance, and labels at random did not move it
beyond chance either (+.005). So with this strategy, on these webs, there was little to gain in area by
choosing labels well. Why is not known. One guess is that labels of hard pages push the scores of links
below the strategy's own gate, where all are equal: on webkb *course*, where the area falls most,
`gate=false` brought the difference from -.070 to -.004 (three draws each). That is weak evidence:
without the gate *student* was at -.031, and precision over both (right ÷ called relevant) was .365
with chosen labels, .395 with random ones.

Five rules were tried beforehand on five other subjects of the schools web, three draws each. Four that
ask near the threshold had an area .013 to .019 larger than asking at random (standard errors .014 to
.016), one that asks for the likeliest pages one .021 smaller (.014). That does not tell the four apart;
the one kept is the one that was planned, not the best of them. It was changed a little afterwards
(what counts as sure, and sites), before the figures above were made.
""",
}
"""What we make of the figures, written by hand for those of one measurement."""

VARIANTS = {
    "none": ":teacher=none",
    "random": ":teacher=labels,asks=random",
    "chosen": ":teacher=labels,asks=chosen",
}
Figure = Callable[[TrialResult], float]
Groups = list[list[float]]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--results", type=Path, default=ROOT / "bench" / "results" / "asking")
    parser.add_argument("--strategies", nargs="*", default=["hybrid_svm", "honeyguide"])
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--workers", type=int, default=1)
    chosen = parser.parse_args()
    schools, webkb = webs.schools(chosen.folder), webs.webkb(chosen.folder)
    trials = [
        CrawlTrial(web, topic, name + variant, draw, budget)
        for web, topics, budget in ((schools, SCHOOLS, 0), (webkb, DEPARTMENTS, 200))
        for topic in topics
        for draw in range(chosen.draws)
        for name in chosen.strategies
        for variant in VARIANTS.values()
    ]
    results = run_comparison(trials, chosen.results, workers=chosen.workers, done=_tell)
    out = [TEXT.format(topics=len(SCHOOLS + DEPARTMENTS), draws=chosen.draws)]
    for name in chosen.strategies:
        out += section(name, [r for r in results if r.strategy.startswith(f"{name}:")])
        out += [READING[name]] if name in READING else []
    PAGE.write_text("\n".join(out), "utf-8")
    sys.stdout.write(f"{PAGE}\n")


def section(name: str, results: Sequence[TrialResult]) -> list[str]:
    out = [f"## {name}", "", "| | none | random | chosen | random − none | chosen − random |"]
    out += ["|---|---|---|---|---|---|"]
    for word, figure in FIGURES.items():
        none, random, chosen = (_groups(results, variant, figure) for variant in VARIANTS)
        means = [str(bootstrap_mean(group)) for group in (none, random, chosen)]
        differences = [
            _signed(paired_difference(random, none)),
            _signed(paired_difference(chosen, random)),
        ]
        out.append(f"| {word} | {' | '.join(means + differences)} |")
    for word, figure in FIGURES.items():
        out += ["", f"| {word} of each topic | none | random | chosen |", "|---|---|---|---|"]
        for topic in dict.fromkeys(r.topic for r in results):
            rows = [r for r in results if r.topic == topic]
            cells = [f"{bootstrap_mean(_groups(rows, v, figure)).mean:.3f}" for v in VARIANTS]
            out.append(f"| {topic.rpartition('.')[2]} ({rows[0].web}) | {' | '.join(cells)} |")
    return [*out, ""]


def area(result: TrialResult) -> float:
    return Harvest(result.found, result.relevant).area


def precision(result: TrialResult) -> float:
    return result.right / result.judged if result.judged else 1.0


FIGURES: dict[str, Figure] = {"area": area, "precision": precision}


def _groups(results: Sequence[TrialResult], variant: str, figure: Figure) -> Groups:
    """The figure of every draw, topic by topic."""
    topics: dict[str, list[float]] = {}
    for result in results:
        if result.strategy.endswith(VARIANTS[variant]):
            topics.setdefault(result.topic, []).append(figure(result))
    return list(topics.values())


def _signed(found: BootstrapEstimate) -> str:
    return f"{found.mean:+.3f} [{found.low:+.3f}, {found.high:+.3f}]"


def _tell(done: int, of: int) -> None:
    sys.stderr.write(json.dumps({"crawls": done, "of": of}) + "\n")


if __name__ == "__main__":
    main()

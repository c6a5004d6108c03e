"""The honeyguide strategy beside all others, what its parts bring, and how little it needs.

    python bench/house.py FOLDER [--part all|rivals|meanings|…] [--draws 5] [--only honeyguide …]

FOLDER holds the recorded webs of bench/webs.py. Writes docs/reference/honeyguide.md; a single part
is written beside its results, and so are some strategies only. Interrupted, it goes on where it ended.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import webs

from honeyguide import registry
from honeyguide.lab.compare import run_comparison
from honeyguide.lab.report import (
    ComparisonReport,
    build_report,
    curves_svg,
    markdown_table,
    recall_curves,
    topic_name,
)
from honeyguide.lab.trials import CrawlTrial, StartKnowledge, TrialResult, WebSpec
from honeyguide.lab.variants import REFERENCE_STRATEGIES, parse_variant
from honeyguide.models.link_model import FEATURE_GROUPS

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "reference" / "honeyguide.md"
CHOSEN = (
    "Science.Biology.Birds",
    "Science.Biology.Health_and_medicine",
    "Science.Physics.Space_Astronomy",
    "Everyday_life.Food_and_agriculture",
)
"""Subjects on which settings were chosen."""
OTHERS = (
    "Science.Biology.Plants",
    "Science.Biology.Insects_Reptiles_and_Fish",
    "Geography.Geography_of_Great_Britain",
    "Geography.Geology_and_geophysics",
    "Citizenship.Politics_and_government",
    "History.Ancient_History_Classical_History_and_Mythology",
    "Design_and_Technology.Railway_transport",
    "People.Writers_and_critics",
)
"""Subjects that nobody looked at before the settings were fixed."""
RIVALS = (
    "breadth",
    "backlinks",
    "keyword",
    "hybrid_svm:teacher=none",
    "hybrid_svm:teacher=automatic",
    "adaptive_links:teacher=none",
    "adaptive_links:teacher=automatic",
    "ontology_weights:teacher=automatic",
    "ontology_ann:teacher=none,house=true",
    "user_utility:teacher=automatic,warmup=20",
)
SLOW = "user_utility:teacher=automatic,warmup=20"
"""Ten times as slow as any other: two draws must do."""
FROM_LITTLE = (
    "honeyguide",
    "keyword",
    "hybrid_svm:teacher=automatic",
    "adaptive_links:teacher=automatic",
    "ontology_weights:teacher=automatic",
)
OURS = "honeyguide"
WITHOUT_MEANINGS = "honeyguide:use_meanings=false"
PARTS = (
    OURS,
    "honeyguide:use_words=false",
    "honeyguide:use_prior=false",
    "honeyguide:use_signs=false",
    WITHOUT_MEANINGS,
    *(f"honeyguide:without={part}" for part in FEATURE_GROUPS),
    *(f"honeyguide:explore={much}" for much in (0.02, 0.05, 0.1, 0.3)),
    *(f"honeyguide:few={few}" for few in (3, 30)),
    *(f"honeyguide:teacher={who}" for who in ("none", "labels", "both")),
)
"""Each without one part, or with one dial moved; by itself it is taught automatically."""
STARTS = {
    "all": None,
    "3 keywords": StartKnowledge(keywords=3),
    "5 good pages": StartKnowledge(good=5),
    "50 labels, 10 wrong": StartKnowledge(good=17, bad=33, wrong=0.2),
}
EXAMPLES = 20


class Part(NamedTuple):
    name: str
    title: str
    trials: list[CrawlTrial]
    baseline: str = OURS


Topics = list[tuple[WebSpec, str, int]]
"""Web, topic, budget."""


def topics(folder: Path) -> dict[str, Topics]:
    schools, webkb, help_tr = webs.schools(folder), webs.webkb(folder), webs.help_tr(folder)
    return {
        "others": [(schools, topic, 500) for topic in OTHERS],
        "chosen": [(schools, topic, 500) for topic in CHOSEN],
        "webkb": [(webkb, topic, 200) for topic in ("course", "student", "faculty")],
        "made": [(webs.made_large(), topic, 1000) for topic in ("borg", "whoosh")],
        "help": [(help_tr, "scalc", 500)],
    }


def parts(folder: Path, draws: int) -> Iterator[Part]:
    found = topics(folder)
    everybody = (*RIVALS, OURS, "oracle")
    for name, title in {
        "others": "Subjects that were not looked at before",
        "webkb": "Departments",
        "made": "A synthetic web of 100,000 pages on 200 hosts",
        "help": "A help in Turkish, one module",
    }.items():
        yield Part("rivals", title, trials(found[name], everybody, draws))
    everywhere = [topic for name, some in found.items() if name != "chosen" for topic in some]
    meanings = trials(everywhere, (OURS, WITHOUT_MEANINGS), draws)
    yield Part("meanings", "Without the meaning of anchors", meanings)
    some = [*found["chosen"][:1], *found["webkb"]]
    yield Part("parts", "Without a part, or with a dial moved", trials(some, PARTS, min(draws, 2)))
    student = [topic for topic in found["webkb"] if topic[1] == "student"]
    least = little([*found["others"][::4], *student], min(draws, 2))
    yield Part("little", "How little it needs", least, begun(OURS, "all"))


def trials(some: Topics, strategies: Sequence[str], draws: int) -> list[CrawlTrial]:
    return [
        CrawlTrial(web, topic, strategy, draw, budget, examples=EXAMPLES)
        for web, topic, budget in some
        for draw in range(draws)
        for strategy in strategies
        if strategy != SLOW or draw < 2
    ]


def little(some: Topics, draws: int) -> list[CrawlTrial]:
    """Ours, and the best published strategies that can start so, from each start."""
    return [
        replace(trial, start=start)
        for trial in trials(some, FROM_LITTLE, draws)
        for start in STARTS.values()
        if can_start(trial.strategy, start)
    ]


def can_start(strategy: str, start: StartKnowledge | None) -> bool:
    """Whether what it needs is among what is given."""
    if start is None:
        return True
    traits = registry.find_strategy(parse_variant(strategy).name).traits
    has = {"keywords": start.keywords, "good": start.good, "bad": start.bad}
    return not traits.needs or any(has.get(need) for need in traits.needs)


def begun(strategy: str, start: str) -> str:
    return f"{strategy}, from {start}"


def named(part: Part, rows: Sequence[TrialResult]) -> list[TrialResult]:
    """Results with the start in the strategy's name, where starts are compared."""
    if part.name != "little":
        return list(rows)
    words = {start: word for word, start in STARTS.items()}
    return [
        replace(row, strategy=begun(row.strategy, words[trial.start]))
        for trial, row in zip(part.trials, rows, strict=True)
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument(
        "--part", default="all", choices=("all", "rivals", "meanings", "parts", "little")
    )
    parser.add_argument("--results", type=Path, default=ROOT / "bench" / "results" / "honeyguide")
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--only", nargs="*", default=(), help="strategies; all, if none is named")
    chosen = parser.parse_args()
    asked = [p for p in parts(chosen.folder, chosen.draws) if chosen.part in ("all", p.name)]
    if chosen.only:
        asked = [
            part._replace(trials=[t for t in part.trials if t.strategy in chosen.only])
            for part in asked
        ]
    every = [trial for part in asked for trial in part.trials]
    results = iter(run_comparison(every, chosen.results, workers=chosen.workers, done=_tell))
    whole = chosen.part == "all" and not chosen.only
    page = PAGE if whole else chosen.results / f"{chosen.part}.md"
    pictures = page.with_suffix("")
    shutil.rmtree(pictures, ignore_errors=True)
    pictures.mkdir(parents=True)
    out = [INTRODUCTION.format(draws=chosen.draws)]
    for number, part in enumerate(asked):
        rows = named(part, [next(results) for _ in part.trials])
        found = build_report(rows, tuple(REFERENCE_STRATEGIES), part.baseline)
        (pictures / f"{number}.svg").write_text(picture(part, rows, found), "utf-8")
        out += [f"## {part.title}", "", f"![]({page.stem}/{number}.svg)", ""]
        out += [LITTLE] if part.name == "little" else []
        out += [markdown_table(found.all, found), _by_topic(part, found, rows)]
    page.write_text("\n".join(out), "utf-8")
    sys.stdout.write(f"{page}\n")


def picture(part: Part, rows: Sequence[TrialResult], found: ComparisonReport) -> str:
    """Curves of all; where starts are compared, of ours and of the best other for each start."""
    shown = [line.strategy for line in found.all]  # the best first
    if part.name == "little":
        others = [name for name in shown if not name.startswith(f"{OURS},")]
        best = {name.rpartition(", from ")[2]: name for name in reversed(others)}
        shown = [*(begun(OURS, start) for start in STARTS), *(best[s] for s in STARTS if s in best)]
    x, curves, over = recall_curves([row for row in rows if row.strategy in shown])
    ordered = {name: curves[name] for name in shown if name in curves}
    return curves_svg(part.title, "% of the budget", "recall", (x, ordered, over))


def _by_topic(part: Part, found: ComparisonReport, rows: Sequence[TrialResult]) -> str:
    """Areas by topic: ours, the best of the others, and the oracle."""
    if part.name == "little":
        return _by_start(found, rows)
    names = {topic_name(row): row.topic for row in rows}
    out = ["| topic | honeyguide | best other | oracle |", "|---|---|---|---|"]
    for name, table in found.topics.items():
        areas = {line.strategy: line.area for line in table}
        others = [n for n in areas if n not in (OURS, *REFERENCE_STRATEGIES)]
        best = max(others, key=lambda n: areas[n].mean, default="")
        out.append(
            f"| {names[name]} | {areas[OURS]} | {f'{areas[best]} {best}' if best else '–'} | "
            f"{areas.get('oracle', '–')} |"
        )
    return "\n".join(out) + "\n"


def _by_start(found: ComparisonReport, rows: Sequence[TrialResult]) -> str:
    """Areas by topic and start: ours / the best other."""
    names = {topic_name(row): row.topic for row in rows}
    out = [f"| topic | {' | '.join(STARTS)} |", "|---" * (1 + len(STARTS)) + "|"]
    for name, table in found.topics.items():
        cells = []
        for start in STARTS:
            lines = [line for line in table if line.strategy.endswith(begun("", start))]
            mine = [line.area.mean for line in lines if line.strategy == begun(OURS, start)]
            others = [line.area.mean for line in lines if line.strategy != begun(OURS, start)]
            cells.append(f"{max(mine):.3f} / {max(others):.3f}" if mine and others else "–")
        out.append(f"| {names[name]} | {' | '.join(cells)} |")
    return "\n".join([*out, "", "Area of `honeyguide` / of the best other from that start.", ""])


INTRODUCTION = """# The honeyguide strategy, measured

Made by `python bench/house.py FOLDER` (`make bench-house FOLDER=…`); how it is counted:
[compare](../how-to/compare.md). Up to {draws} draws of seeds and examples, 95 % intervals (bootstrap over
topics and draws). Every strategy that learns is given 20 good pages and up to 40 others; all others get
the keywords that these pages tell. Budget: 500 visits (200 on the departments' pages, 1,000 on the made
web); seeds: 3 relevant pages, or the departments' home pages. The last column is the difference in area
to the baseline on the same topics and seeds; an interval without 0 is a difference. `oracle` knows of
every waiting link whether its page is relevant and takes a relevant one if there is any; it does not know
what lies behind. On recorded webs, links to pages that were not recorded are taken out.

The prior was learned on the embedded web and on synthetic webs of other plans (`bench/prior.py`), not on any
web of this page. Settings were chosen on four school subjects (birds, health, space, food) and on the
departments' pages; the eight subjects, the synthetic web and the Turkish help were not looked at for that.
`user_utility` is ten times as slow as any other and has two draws. What the figures mean:
[the strategy](../strategies/honeyguide.md#what-it-reaches).
"""
LITTLE = """\
*All*: 20 good pages, up to 40 others, and the keywords that they tell. *3 keywords*: the first three of
these, and nothing else. *5 good pages*: no keywords and no bad pages. *50 labels*: 17 good and 33 bad
pages, ten of the fifty called the opposite, no keywords. Seeds and what counts as found are the same for
all starts. Beside ours, the best published strategies, as far as they can start so. The picture shows
ours and the best other from each start.
"""


def _tell(done: int, of: int) -> None:
    sys.stderr.write(json.dumps({"crawls": done, "of": of}) + "\n")


if __name__ == "__main__":
    main()

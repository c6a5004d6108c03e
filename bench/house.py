"""The honeyguide strategy beside all others, what its parts bring, and how little it needs.

    python bench/house.py FOLDER [--part all|rivals|parts|little] [--draws 5]

FOLDER holds recorded webs as gzip'd JSON lines (docs/how-to/compare.md); they are not part of this
project. Writes docs/reference/honeyguide.md. Interrupted, it goes on where it ended.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from honeyguide.lab.compare import Result, Trial, WebSpec, compare
from honeyguide.lab.references import REFERENCES
from honeyguide.lab.report import Report, report, rule, write
from honeyguide.lab.trials import opened

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "reference" / "honeyguide.md"
ROBOTS = "User-agent: *\nDisallow: /wp/index/\n"
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
OURS = "honeyguide"
PARTS = (
    OURS,
    "honeyguide:use_words=false",
    "honeyguide:use_prior=false",
    "honeyguide:use_signs=false",
    "honeyguide:teacher=none",
    "honeyguide:without=parents",
    "honeyguide:without=siblings",
    "honeyguide:without=group",
    "honeyguide:without=host",
    "honeyguide:without=inlinks",
    "honeyguide:explore=0.1",
    "honeyguide:explore=0.3",
)


class Part(NamedTuple):
    name: str
    title: str
    trials: list[Trial]
    baseline: str = OURS


def webs(folder: Path) -> dict[str, WebSpec]:
    schools = WebSpec(
        "schools",
        (str(folder / "wikipedia-schools-2007.jsonl.gz"),),
        robots=ROBOTS,
        strip=("h3#siteSub",),
    )
    files = (str(folder / "webkb-cornell-texas.jsonl.gz"),)
    homes = sorted(opened(WebSpec("webkb", files)).desk.web.labelled("department"))
    return {
        "schools": schools,
        "webkb": WebSpec("webkb", files, seeds=tuple(homes)),
        "made": WebSpec("made", made="seed=7,pages=100000,hosts=200"),
        "help": WebSpec("help-tr", (str(folder / "libreoffice-help-tr.jsonl.gz"),), language="tr"),
    }


def parts(folder: Path, draws: int) -> list[Part]:
    found = webs(folder)
    topics = {
        "schools, chosen on": [(found["schools"], topic, 500) for topic in CHOSEN],
        "schools, others": [(found["schools"], topic, 500) for topic in OTHERS],
        "webkb": [(found["webkb"], topic, 200) for topic in ("course", "student", "faculty")],
        "made": [(found["made"], topic, 1000) for topic in ("borg", "whoosh")],
        "help": [(found["help"], "scalc", 500)],
    }

    def trials(name: str, strategies: Sequence[str], draws: int = draws) -> list[Trial]:
        return [
            Trial(web, topic, strategy, draw, budget, examples=20)
            for web, topic, budget in topics[name]
            for draw in range(draws)
            for strategy in strategies
        ]

    everybody = (*RIVALS, OURS, *REFERENCES)
    some = [*trials("schools, chosen on", PARTS, 3), *trials("webkb", PARTS, 3)]
    return [
        Part(
            "rivals",
            "Subjects that were not looked at before",
            trials("schools, others", everybody),
        ),
        Part(
            "rivals",
            "Subjects on which settings were chosen",
            trials("schools, chosen on", everybody),
        ),
        Part("rivals", "Departments", trials("webkb", everybody)),
        Part("rivals", "A made web of 100,000 pages on 200 hosts", trials("made", everybody)),
        Part("rivals", "A help in Turkish, one module", trials("help", everybody)),
        Part("parts", "Without a part, or with a dial moved", some),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--part", default="all", choices=("all", "rivals", "parts"))
    parser.add_argument("--results", type=Path, default=ROOT / "bench" / "results" / "honeyguide")
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--workers", type=int, default=0)
    chosen = parser.parse_args()
    asked = [
        part for part in parts(chosen.folder, chosen.draws) if chosen.part in ("all", part.name)
    ]
    every = [trial for part in asked for trial in part.trials]
    results = iter(compare(every, chosen.results, workers=chosen.workers, done=_tell))
    pictures = PAGE.with_suffix("")
    shutil.rmtree(pictures, ignore_errors=True)
    pictures.mkdir(parents=True)
    out = [INTRODUCTION.format(draws=chosen.draws)]
    for number, part in enumerate(asked):
        rows = [next(results) for _ in part.trials]
        found = report(rows, tuple(REFERENCES), part.baseline)
        scratch = chosen.results / f"part{number}"
        scratch.mkdir(exist_ok=True)
        write(rows, scratch, found)
        shutil.copy(scratch / f"{found.name}.svg", pictures / f"{number}.svg")
        out += [f"## {part.title}", "", f"![]({PAGE.stem}/{number}.svg)", ""]
        out += [rule(found.all, found), _by_topic(found, rows)]
    PAGE.write_text("\n".join(out), "utf-8")
    sys.stdout.write(f"{PAGE}\n")


def _by_topic(found: Report, rows: Sequence[Result]) -> str:
    """Areas by topic: ours, the best of the others, and the oracle."""
    names = {Report.name_of(row): row.topic for row in rows}
    out = ["| topic | honeyguide | best other | oracle |", "|---|---|---|---|"]
    for name, table in found.topics.items():
        areas = {line.strategy: line.area for line in table}
        others = [n for n in areas if n not in (OURS, *REFERENCES)]
        best = max(others, key=lambda n: areas[n].mean, default="")
        out.append(
            f"| {names[name]} | {areas[OURS]} | {f'{areas[best]} {best}' if best else '–'} | "
            f"{areas.get('oracle', '–')} |"
        )
    return "\n".join(out) + "\n"


INTRODUCTION = """# The honeyguide strategy, measured

Made by `python bench/house.py FOLDER`; how it is counted: [compare](../how-to/compare.md).
{draws} draws of seeds and examples, 95 % intervals (bootstrap over topics and draws). Every strategy
that learns is given 20 good pages and up to 40 others; all others get the keywords that these pages
tell. Budget: 500 visits (200 on the departments' pages, 1,000 on the made web); seeds: 3 relevant pages,
or the departments' home pages. The last column is the difference in area to `honeyguide` on the same
topics and seeds; an interval without 0 is a difference. `oracle` knows of every waiting link whether its
page is relevant and takes a relevant one if there is any; it does not know what lies behind.

The prior was learned on the embedded web and on made webs of other plans (`bench/prior.py`), not on any
web of this page. Settings were chosen on four school subjects; eight others were not looked at before.
"""


def _tell(done: int, of: int) -> None:
    sys.stderr.write(json.dumps({"crawls": done, "of": of}) + "\n")


if __name__ == "__main__":
    main()

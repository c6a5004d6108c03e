"""How well the strategies find what is wanted, on real webs: writes docs/reference/harvest.md.

    python bench/harvest.py FOLDER

FOLDER holds recorded webs as gzip'd JSON lines (see docs/how-to/compare.md): an encyclopedia for
schools, sorted by subject, and the pages of computer science departments. They are not part of
this project. Interrupted, it goes on where it ended; with more strategies it adds what is missing.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import webs

from honeyguide.lab.compare import run_comparison
from honeyguide.lab.report import (
    ComparisonReport,
    build_report,
    markdown_table,
    score_strategies,
    topic_name,
    write_report,
)
from honeyguide.lab.trials import CrawlTrial, TrialResult
from honeyguide.lab.variants import REFERENCE_STRATEGIES

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "reference" / "harvest.md"
SCHOOLS = (
    "Science.Biology.Birds",
    "Science.Biology.Health_and_medicine",
    "Science.Physics.Space_Astronomy",
    "Design_and_Technology.Railway_transport",
    "Everyday_life.Food_and_agriculture",
    "History.Ancient_History_Classical_History_and_Mythology",
    "People.Writers_and_critics",
    "Design_and_Technology.Architecture",
    "Mathematics",
    "Geography.Storms",
)
"""Sizes from 161 pages to 33, eight branches of the tree; chosen before anything was measured."""
DEPARTMENTS = ("course", "student")
STRATEGIES = (
    "breadth",
    "backlinks",
    "keyword",
    *(f"hybrid_svm:teacher={who}" for who in ("none", "automatic", "labels", "both")),
    "hybrid_svm:teacher=both,neighbours=false",
    *(f"adaptive_links:teacher={who}" for who in ("none", "automatic", "both")),
    "adaptive_links:teacher=automatic,once=true",
    "adaptive_links:teacher=both,neighbours=false",
    *(f"user_utility:teacher={who}" for who in ("none", "both")),
    *(f"user_utility:teacher={who},house=true" for who in ("none", "automatic", "both")),
    "user_utility:teacher=both,house=true,neighbours=false",
    "link_sorter",
    *(f"topic_cnn:teacher={who}" for who in ("none", "both")),
    "ontology_weights:teacher=both",
    *(f"ontology_ann:teacher={who},house=true" for who in ("none", "automatic", "both")),
    "ontology_ann:teacher=both,house=true,neighbours=false",
    *(f"honeyguide:teacher={who}" for who in ("none", "both")),
    *REFERENCE_STRATEGIES,
)
"""Strategies that learn, each static (``none``) and adaptive; see lab/variants.py."""
_STATIC = ":teacher=none"
NOTED = {
    SCHOOLS[0]: (0.23, 0.41, 0.66),
    SCHOOLS[1]: (0.13, 0.24, 0.66),
    SCHOOLS[2]: (0.24, 0.27, 0.85),
    SCHOOLS[3]: (0.10, 0.25, 0.46),
}
"""Subject → breadth-first, true parent, oracle: graph only, as the corpus's makers noted them."""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--results", type=Path, default=ROOT / "bench" / "results" / "harvest")
    parser.add_argument("--strategies", nargs="*", default=STRATEGIES)
    parser.add_argument("--baseline", default="breadth")
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--workers", type=int, default=0)
    chosen = parser.parse_args()
    schools, webkb = webs.schools(chosen.folder), webs.webkb(chosen.folder)
    draws = range(chosen.draws)
    trials = [
        CrawlTrial(web, topic, name, draw, budget)
        for web, topics, budget in ((schools, SCHOOLS, 0), (webkb, DEPARTMENTS, 200))
        for topic in topics
        for draw in draws
        for name in chosen.strategies
    ]
    # As the noted figures were made: every link counts, seeds count, and nothing is given away.
    bare = replace(schools, strip=(*schools.strip, "meta[name=robots]"))
    checks = [
        CrawlTrial(bare, topic, name, draw, 0, examples=0)
        for topic in NOTED
        for draw in draws
        for name in ("breadth", "true-parent", "oracle")
    ]
    results = run_comparison([*trials, *checks], chosen.results, workers=chosen.workers, done=_tell)
    measured, checked = results[: len(trials)], results[len(trials) :]
    found = build_report(measured, tuple(REFERENCE_STRATEGIES), chosen.baseline)
    write_report(measured, chosen.results, found)
    pictures = PAGE.with_suffix("")
    shutil.rmtree(pictures, ignore_errors=True)
    pictures.mkdir(parents=True)
    for picture in [found.name, *found.topics]:
        shutil.copy(chosen.results / f"{picture}.svg", pictures)
    PAGE.write_text(page(found, measured, checked, chosen.draws, len(webkb.seeds)), "utf-8")
    sys.stdout.write(f"{PAGE}\n")


def page(
    found: ComparisonReport,
    measured: Sequence[TrialResult],
    checked: Sequence[TrialResult],
    draws: int,
    homes: int,
) -> str:
    out = [
        "# Harvest on real webs",
        "",
        "Made by `python bench/harvest.py FOLDER` (`make bench-harvest FOLDER=…`); how it is",
        "counted and how to do the same: [compare](../how-to/compare.md).",
        "",
        f"Every figure is a mean over topics of the mean over {draws} draws, with its 95 % interval",
        "(bootstrap over topics and draws). The last column is the difference in area to",
        f"`{found.baseline}` on the same topics and seeds; an interval without 0 is a difference.",
        "`random`, `true-parent` and `oracle` are references: they know nothing, or the truth.",
        "Strategies that learn are given 10 good pages and up to 20 bad ones (any pages of the web that",
        "are not relevant) to begin with; all others get the keywords that these pages tell. After the",
        "colon: `teacher=none` never learns again, `automatic` learns from its own clear verdicts,",
        "`labels` from a person who answers truthfully for one visited page in five, 50 times at most,",
        "`both` from both; `once=true` learns from links once; `neighbours=false` does not heed what came",
        "of the links beside a link. Ontology strategies have no ontology here: their concepts are the",
        "keywords.",
        "",
        "- **schools**: an encyclopedia of 2007 for schools, 4,654 articles on one host; a topic is a",
        "  subject. The index pages are closed by robots.txt and the line that prints an article's",
        "  subject is left out. Seeds: 3 articles of the subject; budget: as many visits as the",
        "  subject has articles.",
        f"- **webkb**: pages of computer science departments in 1997. Seeds: {homes} home pages;",
        "  budget: 200 visits. Relevant pages hardly ever link to relevant pages.",
        "- On both, links to pages that were not recorded are taken out; [dead links](dead-links.md) has them.",
        "",
        "## All topics",
        "",
        f"![]({PAGE.stem}/{found.name}.svg)",
        "",
        markdown_table(found.all, found),
        *_adapting(measured),
    ]
    for name, table in found.topics.items():
        some = next(row for row in measured if topic_name(row) == name)
        out += [f"## {some.topic} ({some.web})", ""]
        out += [f"{found.reach[name]} relevant pages in reach.", ""]
        out += [f"![]({PAGE.stem}/{name}.svg)", "", markdown_table(table, found)]
    return "\n".join([*out, *_check(checked, draws)])


def _adapting(measured: Sequence[TrialResult]) -> list[str]:
    """Every strategy that learns beside itself that does not."""
    out = [
        "## Adapting beside never learning",
        "",
        "Difference to the same strategy with `teacher=none`, on the same topics and seeds; without 0 in",
        "its interval it is beyond chance. A static crawler learns nothing on the way, nor heeds what came of",
        "the links beside a link ([why that counts](../decisions/0021-links-beside-a-link.md)); `honeyguide`'s",
        "does. Without `house=true`, `user_utility` draws links blindly for its first 1,000 visits, as its",
        "paper does: crawls this short never come to what it learns ([longer ones](adaptation.md)).",
        "",
        "| strategy | area | area of the static one | difference |",
        "|---|---|---|---|",
    ]
    names = list(dict.fromkeys(row.strategy for row in measured))
    statics = [name for name in names if _STATIC in name]
    for static in statics:
        rivals = [n for n in names if n not in statics and _static(n, statics) == static]
        some = [row for row in measured if row.strategy in (static, *rivals)]
        table = {line.strategy: line for line in score_strategies(some, static)}
        out += [
            f"| {name} | {table[name].area.mean:.3f} | {table[static].area.mean:.3f} "
            f"| {table[name].difference} |"
            for name in rivals
        ]
    return [*out, ""]


def _static(name: str, statics: Sequence[str]) -> str:
    """The static one that has most in common with it, or none: its other options are its own."""
    family, _, rest = name.partition(":")
    options = set(rest.split(","))
    found = ""
    for one in statics:
        same, _, needed = one.partition(_STATIC)
        if same == family and set(filter(None, needed.split(","))) <= options:
            found = max(found, one, key=len)
    return found


def _check(rows: Sequence[TrialResult], draws: int) -> list[str]:
    """Our references beside the figures that came with the corpus."""
    out = [
        "## Are the references right?",
        "",
        "Relevant visits ÷ visits, seeds counted and no examples given away, as in the figures that",
        f"came with the corpus (graph only, ±.05); ours are crawls, {draws} draws, with pages that",
        "ask not to be followed served without that wish.",
        "",
        "| subject | breadth-first: noted, ours | true parent: noted, ours | oracle: noted, ours |",
        "|---|---|---|---|",
    ]
    for topic, noted in NOTED.items():
        cells = []
        names = ("breadth", "true-parent", "oracle")
        for name, figure in zip(names, noted, strict=True):
            some = [r for r in rows if (r.topic, r.strategy) == (topic, name)]
            rates = [(r.found[-1] + 3) / (len(r.found) + 3) for r in some if r.found]
            cells.append(f"{figure:.2f}, {sum(rates) / max(1, len(rates)):.2f}")
        out.append(f"| {topic.rpartition('.')[2]} | {' | '.join(cells)} |")
    out += [
        "",
        "Figures noted for webkb are of four departments; the recording holds fewer, so they cannot",
        "be checked.",
    ]
    return [*out, ""]


def _tell(done: int, of: int) -> None:
    sys.stderr.write(json.dumps({"crawls": done, "of": of}) + "\n")


if __name__ == "__main__":
    main()

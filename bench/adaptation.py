"""Whether crawlers that teach themselves find more than static ones: docs/reference/adaptation.md.

    python bench/adaptation.py FOLDER
    python bench/adaptation.py FOLDER --strategies hybrid_svm:teacher=none hybrid_svm:teacher=automatic
    python bench/adaptation.py --seeds 301 302
    python bench/adaptation.py FOLDER --others 30 --draws 1 --strategies …

FOLDER holds recorded webs (docs/how-to/compare.md); they are not part of this project. Without it,
only the synthetic webs are crawled. Interrupted, it goes on where it ended. With some strategies or
some webs only, their tables are printed and no page is written. ``--others``: on the most frequent
subjects that are in no table, with as many visits as each has pages; what is tried is tried there.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import webs
from harvest import SCHOOLS

from honeyguide.lab.compare import run_comparison
from honeyguide.lab.metrics import bootstrap_mean, paired_difference
from honeyguide.lab.report import build_report, markdown_table
from honeyguide.lab.trials import CrawlTrial, TrialResult, WebSpec, open_web
from honeyguide.lab.variants import REFERENCE_STRATEGIES

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "reference" / "adaptation.md"
SUBJECTS = (
    "Science.Biology.Birds",
    "Science.Biology.Health_and_medicine",
    "Science.Physics.Space_Astronomy",
    "Design_and_Technology.Railway_transport",
    "Everyday_life.Food_and_agriculture",
    "History.Ancient_History_Classical_History_and_Mythology",
    "People.Writers_and_critics",
    "Design_and_Technology.Architecture",
)
"""The first eight of bench/harvest.py, chosen before anything was measured."""
EXAMPLES = (3, 10)
CRAWLERS: dict[str, tuple[str, ...]] = {
    "hybrid_svm": (
        "hybrid_svm:teacher=none",
        "hybrid_svm:teacher=automatic",
        "hybrid_svm:teacher=automatic,believes=0",
        "hybrid_svm:teacher=labels",
        "hybrid_svm:teacher=both",
        "hybrid_svm:teacher=labels,one_in=1",
        "hybrid_svm:teacher=both,one_in=1",
        "hybrid_svm:teacher=labels,gate=true",
        "hybrid_svm:teacher=none,gate=true",
    ),
    "adaptive_links": (
        "adaptive_links:teacher=automatic,once=true",
        "adaptive_links:teacher=automatic",
        "adaptive_links:teacher=both",
        "adaptive_links:teacher=none",
    ),
    "user_utility": (
        "user_utility:teacher=none,house=true",
        "user_utility:teacher=automatic,house=true",
        "user_utility:teacher=labels,house=true",
        "user_utility:teacher=both,house=true",
        "user_utility:teacher=both,house=true,neighbours=false",
    ),
}
"""The static one first, as its paper has it."""
LONG: dict[str, tuple[str, ...]] = {
    "user_utility": ("user_utility:teacher=none", "user_utility:teacher=both")
}
"""As its paper has it, it draws links blindly for its first 1,000 visits: these need crawls of
twice that."""
BLIND, LONG_VISITS = 1_000, 2_000
KNOWN = ("Countries", "Geography.Countries")
FEWEST = 30
"""Subjects with fewer pages are not tried on; nor is one that was looked at otherwise."""
WEBS = ("schools", "webkb")
SEEDS = (301, 302)
"""Of the synthetic webs; nothing was chosen or tuned on them."""
MADE = {
    "hybrid_svm": ("hybrid_svm:teacher=none", "hybrid_svm:teacher=automatic"),
    "adaptive_links": (
        "adaptive_links:teacher=automatic,once=true",
        "adaptive_links:teacher=automatic",
        "adaptive_links:teacher=none",
    ),
}
Topics = Sequence[tuple[WebSpec, str, int]]
"""Web, topic and visits."""
HEAD = """\
# What adaptation brings

Made by `python bench/adaptation.py FOLDER` (`make bench-adaptation FOLDER=…`): eight subjects of the
encyclopedia for schools (300 visits) and the departments' course and student pages (200 visits),
from 3 and from 10 good pages with twice as many others; and the three most frequent topics of synthetic webs
of 100 hosts (500 visits), from 10 good pages; {draws} draws each. How it is counted:
[compare](../how-to/compare.md). An interval without 0 is a difference.

- `hybrid_svm` (Iliou et al.): `none` learns from the topic's examples only, `automatic` adds the surest of
  its own clear verdicts (≥ .8, ≤ .2) every 14 pages, with `believes=0` any of them within the caps, `labels` what a person says, truthfully, of one visited page in
  five, 50 times at most; with `one_in=1` of each page, as in the paper, and again 50 times, which is the first 50 pages. `gate=true` drops the order of links at or below the threshold, as the paper
  drops the links themselves.
- `adaptive_links` (Barbosa & Freire): `once=true` learns from links once, as the static crawler that
  the paper compares itself with; `automatic` learns anew as it goes on, `both` from labels too; `none` never
  learns from links and follows the page's classifier alone.

"""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--results", type=Path, default=ROOT / "bench" / "results" / "adaptation")
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--seeds", type=int, nargs="*", default=SEEDS, help="of the synthetic webs")
    parser.add_argument("--strategies", nargs="*", default=[])
    parser.add_argument(
        "--others", type=int, default=0, help="so many subjects that are in no table"
    )
    parser.add_argument("--webs", nargs="*", default=WEBS, help="of the recorded ones")
    parser.add_argument(
        "--baseline", default="", help="a strategy; else the static one of the paper"
    )
    parser.add_argument("--workers", type=int, default=0)
    chosen = parser.parse_args()
    out = [HEAD.format(draws=chosen.draws)]
    if chosen.folder:
        topics: Topics = [one for one in recorded(chosen.folder) if one[0].name in chosen.webs]
        if chosen.others:
            topics = others(chosen.folder, chosen.others)
        named = dict.fromkeys(one.partition(":")[0] for one in chosen.strategies)
        crawlers = CRAWLERS | {name: () for name in named if name not in CRAWLERS}
        for examples in EXAMPLES:
            out += _tables(topics, crawlers, examples, chosen, f"{examples} examples")
        far = (
            []
            if chosen.others
            else [(web, topic, LONG_VISITS) for web, topic, _ in topics if web.name == "schools"]
        )
        out += _tables(far, LONG, 10, chosen, f"{LONG_VISITS:,} visits", BLIND)
    if chosen.seeds:
        out += _tables(made(chosen.seeds), MADE, 10, chosen, "synthetic webs of many hosts")
    some = chosen.strategies or chosen.baseline or chosen.others or set(chosen.webs) != set(WEBS)
    if some or not chosen.folder or not chosen.seeds:
        sys.stdout.write("\n".join(out[1:]))
        return
    PAGE.write_text("\n".join(out).rstrip() + "\n", "utf-8")
    sys.stdout.write(f"{PAGE}\n")


def recorded(folder: Path) -> Topics:
    """One site each, or the sites of a few departments."""
    schools, webkb = webs.schools(folder), webs.webkb(folder)
    return [
        *((schools, topic, 300) for topic in SUBJECTS),
        *((webkb, topic, 200) for topic in ("course", "student")),
    ]


def others(folder: Path, count: int) -> Topics:
    """The most frequent subjects but those of the tables, here and in bench/harvest.py."""
    web = webs.schools(folder)
    pages = open_web(web).responder.web
    sizes = Counter(label for url in pages.page_urls() for label in pages.labels_of(url))
    names = [label for label, size in sizes.most_common() if size >= FEWEST]
    return [(web, label, 0) for label in names if label not in (*SCHOOLS, *KNOWN)][:count]


def made(seeds: Sequence[int]) -> Topics:
    """Many sites, as `adaptive_links` was made for; their three most frequent topics each."""
    return [
        (web, topic, 500) for web in map(webs.made_hosts, seeds) for topic in webs.frequent(web, 3)
    ]


def _tables(
    topics: Topics,
    crawlers: dict[str, tuple[str, ...]],
    examples: int,
    chosen: argparse.Namespace,
    title: str,
    blind: int = 0,
) -> list[str]:
    """A table for each crawler of which two variants at least are asked for. ``blind``: visits in
    which none of them chooses."""
    out = []
    for name, known in crawlers.items():
        asked = [one for one in chosen.strategies if one.startswith(f"{name}:")]
        variants = [one for one in known if one in asked or not chosen.strategies]
        if not blind:
            variants += [one for one in asked if one not in (*known, *LONG.get(name, ()))]
        if len(variants) < 2 or not topics:
            continue
        trials = [
            CrawlTrial(web, topic, variant, draw, budget, examples=examples)
            for draw in range(chosen.draws)
            for web, topic, budget in topics
            for variant in variants
        ]
        rows = run_comparison(trials, chosen.results, workers=chosen.workers, done=_tell)
        base = chosen.baseline if chosen.baseline in variants else variants[0]
        found = build_report(rows, tuple(REFERENCE_STRATEGIES), base)
        out.append(f"## `{name}`, {title}\n\n{markdown_table(found.all, found)}\n")
        out += _sighted(rows, variants, base, blind) if blind else []
    return out


def _sighted(
    rows: Sequence[TrialResult], variants: Sequence[str], base: str, blind: int
) -> Iterator[str]:
    """Of the relevant pages that were left after so many visits, the share that was found then."""
    shares: dict[str, dict[str, list[float]]] = {}
    for row in rows:
        before = row.found[min(blind, len(row.found)) - 1]
        share = (row.found[-1] - before) / max(1, row.relevant - before)
        shares.setdefault(row.strategy, {}).setdefault(row.topic, []).append(share)
    yield f"Of what the first {blind:,} visits had left, found in the others:\n\n"
    for one in variants:
        values, others = list(shares[one].values()), list(shares[base].values())
        yield f"- `{one}`: {bootstrap_mean(values)}; less `{base}`: {paired_difference(values, others)}\n"


def _tell(done: int, of: int) -> None:
    sys.stderr.write(f"\r{done} of {of} crawls   ")


if __name__ == "__main__":
    main()

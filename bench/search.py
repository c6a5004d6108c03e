"""What asking a search engine is worth, beside following links: writes docs/reference/search.md.

    python bench/search.py FOLDER

FOLDER holds recorded webs as gzip'd JSON lines (see docs/how-to/compare.md); they are not part of
this project. The engine is the lab's own, over the same web; the client that asks it is the one
that asks real engines. Interrupted, it goes on where it ended.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Sequence
from itertools import chain
from pathlib import Path
from statistics import fmean, median

import webs

from honeyguide.api.search import QueryReport, search_overview
from honeyguide.lab.compare import run_comparison
from honeyguide.lab.metrics import BootstrapEstimate, bootstrap_mean
from honeyguide.lab.search_engine import LabSearchEngine
from honeyguide.lab.simulate import simulate_crawl
from honeyguide.lab.synthetic.topology import parse_plan
from honeyguide.lab.synthetic.web import SyntheticWeb
from honeyguide.lab.trials import (
    CrawlTrial,
    StartKnowledge,
    TrialResult,
    draw_topic,
    index_web,
    open_web,
    trial_examples,
    trial_settings,
)

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "reference" / "search.md"
BIG = 4
"""Topics of a synthetic web that are looked at: the most frequent ones, which links alone miss most of."""
ALONE, JOINT, ONLY = "links alone", "both (C2)", "search only"
SCATTERED = {
    ALONE: "honeyguide",
    JOINT: "honeyguide:engine=lab,queries=2",
    ONLY: "honeyguide:engine=lab,queries=2,mode=search_only",
    "both, the engine knows half": "honeyguide:engine=lab,queries=2,reach=0.5",
}
"""What it is called → as a comparison names it."""
ASKED = ":engine=lab,queries=3"
NAIVE = f"{ASKED},mode=search_only,compose=false"
METHODS = {
    "user_utility, links alone": "user_utility:warmup=15",
    "user_utility, C1": f"user_utility{NAIVE},warmup=15",
    "user_utility, C2": f"user_utility{ASKED},warmup=15",
    "honeyguide, links alone": "honeyguide",
    "honeyguide, C1": f"honeyguide{NAIVE}",
    "honeyguide, C2": f"honeyguide{ASKED}",
}
EXAMPLES = {
    "full": StartKnowledge(keywords=8, good=20, bad=40),
    "halved": StartKnowledge(keywords=8, good=10, bad=20),
}
RECORDED = {
    "schools": (
        "Design_and_Technology.Railway_transport",
        "People.Writers_and_critics",
        "Design_and_Technology.Architecture",
    ),
    "webkb": ("course", "student", "faculty"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--results", type=Path, default=ROOT / "bench" / "results" / "search")
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--budget", type=int, default=600, help="visits on the scattered webs")
    parser.add_argument("--short", type=int, default=300, help="visits on the recorded ones")
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--page", type=Path, default=PAGE)
    chosen = parser.parse_args()
    made = [
        CrawlTrial(web, topic, name, draw, chosen.budget)
        for web in webs.scattered()
        for topic in SyntheticWeb(parse_plan(web.made)).topics[:BIG]
        for draw in range(chosen.draws)
        for name in SCATTERED.values()
    ]
    recorded = [
        CrawlTrial(web, topic, name, draw, chosen.short, examples=20, start=start)
        for web in (webs.known(webs.schools(chosen.folder)), webs.known(webs.webkb(chosen.folder)))
        for topic in RECORDED[web.name]
        for start in EXAMPLES.values()
        for draw in range(chosen.draws)
        for name in METHODS.values()
    ]
    results = run_comparison([*made, *recorded], chosen.results, workers=chosen.workers, done=_tell)
    by_key = {result.key: result for result in results}
    out = [*_head(chosen.draws)]
    out += _scattered([(trial, by_key[trial.key]) for trial in made], chosen.budget)
    out += _queries(next(trial for trial in made if trial.strategy == SCATTERED[JOINT]))
    out += _recorded([(trial, by_key[trial.key]) for trial in recorded], chosen.short)
    chosen.page.write_text("\n".join([*out, ""]), "utf-8")
    sys.stdout.write(f"{chosen.page}\n")


def _head(draws: int) -> list[str]:
    return [
        "# What a search engine is worth",
        "",
        "Made by `python bench/search.py FOLDER` (`make bench-search FOLDER=…`). The engine is the",
        "lab's ([synthetic webs](../how-to/made-web.md#a-search-engine-over-any-web)): it knows the whole web",
        "unless said otherwise, answers ten results a page, and is asked ten times a minute at most, at",
        "one visit a second. Requests to it are no visits. A person's own queries are made of the",
        "topic's keywords. Every figure is a mean over topics and",
        f"{draws} draws of seeds, with its 95 % interval (bootstrap over topics and draws).",
    ]


def _scattered(pairs: Sequence[tuple[CrawlTrial, TrialResult]], budget: int) -> list[str]:
    webs_named = dict.fromkeys(trial.web.made for trial, _ in pairs)
    out = [
        "",
        "## Forums and blogs that do not link to each other",
        "",
        f"Two synthetic webs of 300 hosts, the {BIG} most frequent topics of each, 3 seeds, {budget} visits:",
        *(f"`{plan}`" + (" and" if n == 0 else ".") for n, plan in enumerate(webs_named)),
        "A crawl of links alone sees the forums of its seeds and no other.",
        "",
        "| | relevant pages found | times links alone: mean, median, of the sums | of all in reach |",
        "|---|---|---|---|",
    ]
    base = _groups(pairs, SCATTERED[ALONE], lambda result: result.found[-1])
    for name, strategy in SCATTERED.items():
        found = _groups(pairs, strategy, lambda result: result.found[-1])
        share = _groups(pairs, strategy, lambda result: result.found[-1] / result.relevant)
        each = [
            [a / max(1, b) for a, b in zip(x, y, strict=True)]
            for x, y in zip(found, base, strict=True)
        ]
        whole = sum(map(sum, found)) / max(1, sum(map(sum, base)))
        said = f"{_told(bootstrap_mean(each), 1)}, {median(chain(*each)):.1f}, {whole:.1f}"
        said = "" if strategy == SCATTERED[ALONE] else said
        if strategy == SCATTERED[JOINT]:
            few = [
                b
                for x, y in zip(each, base, strict=True)
                for a, b in zip(x, y, strict=True)
                if a < 5
            ]
            told = len(few), len(list(chain(*each))), fmean(few) if few else 0.0
        cells = (_told(bootstrap_mean(found), 0), said, _told(bootstrap_mean(share), 2))
        out.append(f"| {name} | {' | '.join(cells)} |")
    return [
        *out,
        "",
        f"In {told[0]} of {told[1]} crawls both together found less than five times as much: where a seed",
        f"stands on a large board, links alone have much to find there ({told[2]:.0f} pages on average).",
        "Searching alone finds more than both: a fifth of all links on these small boards are old addresses",
        "that redirect, which nothing gives away before they are asked, and each costs a visit; a search",
        "engine knows no such addresses. What was tried against it and made no difference, or a worse one:",
        "redirects counted as visits that brought nothing (for the bandit over sources; for hosts and places),",
        "and a share of the visits steered to what the bandit draws (eight crawls each, on other webs).",
    ]


def _queries(trial: CrawlTrial) -> list[str]:
    """One crawl, and what it asked."""
    topic = draw_topic(trial)
    with tempfile.TemporaryDirectory(prefix="honeyguide-bench-") as folder:
        settings = trial_settings(trial, topic)
        engine = LabSearchEngine(index_web(trial.web, 1.0))
        simulate_crawl(
            Path(folder),
            settings,
            open_web(trial.web).responder.with_engine(engine),
            latency=lambda _: 1.0,
            examples=trial_examples(trial, topic),
        )
        rows = search_overview(Path(folder), settings).rows
    asked = sorted(rows, key=lambda row: (-row.pages, -row.fetched, row.query))
    dropped = [row for row in rows if row.stopped]
    return [
        "",
        "### What it asked",
        "",
        f"One of these crawls (`{trial.web.made}`, {trial.topic}, draw {trial.draw}):",
        f"{len(rows)} queries, {sum(row.pages for row in rows)} pages of results. The 25 it asked for",
        "most, as `honeyguide queries list` tells them:",
        "",
        "| query | by | pages | results | new | fetched | relevant | mean verdict | given up because |",
        "|---|---|---|---|---|---|---|---|---|",
        *map(_line, asked[:25]),
        "",
        f"{len(dropped)} of {len(rows)} were given up before the crawl ended"
        + (", among them:" if len(dropped) > 1 else "."),
        "",
        *(f"- `{row.query}`: {row.stopped}" for row in dropped[:10]),
    ]


def _line(row: QueryReport) -> str:
    mean = "" if row.mean is None else f"{row.mean:.2f}"
    fresh = "" if row.fresh is None else row.fresh
    cells = (f"`{row.query}`", row.by, row.pages, row.results, fresh, row.fetched, row.relevant)
    return f"| {' | '.join(map(str, cells))} | {mean} | {row.stopped} |"


def _recorded(pairs: Sequence[tuple[CrawlTrial, TrialResult]], budget: int) -> list[str]:
    out = [
        "",
        "## Recorded webs",
        "",
        "`schools`: an encyclopedia for schools, three subjects. `webkb`: pages of two computer science",
        "departments, three kinds, from their home pages; here relevant pages hardly link to each other.",
        f"Budget {budget} visits. C1 is the naive crawler of Xu, Yoon and Tourassi: three queries of a",
        "person's, all results fetched, no link followed, nothing composed. C2 follows links and asks",
        "the same three queries and those that it composes. `user_utility` is their learner, with a",
        f"warm-up of 15 visits, a twentieth of the budget, instead of 1,000. Full examples: {_start('full')};",
        f"halved: {_start('halved')}. Precision is that of the output: of the pages that a crawl calls",
        "relevant itself, the share that truly is (the papers judge one result in fifty by hand; here",
        "the labels judge all). A crawl with C1 ends when its queries bring nothing new, also before",
        "the budget is used up.",
    ]
    for web in RECORDED:
        out += ["", f"### {web}", "", "| | examples | relevant found | visits | precision |"]
        out += ["|---|---|---|---|---|"]
        for name, strategy in METHODS.items():
            for told, start in EXAMPLES.items():
                some = [(t, r) for t, r in pairs if t.web.name == web and t.start == start]
                found = bootstrap_mean(
                    _groups(some, strategy, lambda r: r.found[-1] if r.found else 0)
                )
                visits = bootstrap_mean(_groups(some, strategy, lambda r: r.visits))
                right = bootstrap_mean(
                    _groups(some, strategy, lambda r: r.right / max(1, r.judged))
                )
                out.append(
                    f"| {name} | {told} | {_told(found, 0)} | {visits.mean:.0f} | {_told(right, 2)} |"
                )
    return out


def _start(name: str) -> str:
    start = EXAMPLES[name]
    return f"{start.good} good and {start.bad} bad pages"


def _groups(
    pairs: Sequence[tuple[CrawlTrial, TrialResult]],
    strategy: str,
    value: Callable[[TrialResult], float],
) -> list[list[float]]:
    """Topic by topic, its draws."""
    groups: dict[tuple[str, str], list[float]] = {}
    for trial, result in pairs:
        if trial.strategy == strategy:
            groups.setdefault((trial.web.name, trial.topic), []).append(float(value(result)))
    return list(groups.values())


def _told(estimate: BootstrapEstimate, digits: int) -> str:
    return f"{estimate.mean:.{digits}f} [{estimate.low:.{digits}f}, {estimate.high:.{digits}f}]"


def _tell(done: int, of: int) -> None:
    sys.stderr.write(json.dumps({"crawls": done, "of": of}) + "\n")


if __name__ == "__main__":
    main()

"""What the language gate is worth on a web in two languages: writes docs/reference/language-gate.md.

    python bench/language_gate.py FOLDER

FOLDER holds recorded webs as gzip'd JSON lines (see docs/how-to/compare.md), among them the help of
an office suite, of which somewhat less than half is translated into Turkish. They are not part of
this project. Interrupted, it goes on where it ended.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

import webs

from honeyguide.lab.compare import run_comparison
from honeyguide.lab.report import build_report, markdown_table
from honeyguide.lab.trials import CrawlTrial, TrialResult
from honeyguide.lab.variants import REFERENCE_STRATEGIES

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "reference" / "language-gate.md"
TOPICS = {
    "language=tr": "Help: every page in Turkish is wanted.",
    "swriter & language=tr": "Help: pages in Turkish about the word processor are wanted.",
    "scalc & language=tr": "Help: pages in Turkish about the spreadsheet are wanted.",
    "tr": "Synthetic web: every page in Turkish is wanted.",
}
"""Label → what it says; the last is one of the synthetic web."""
STRATEGIES = ("breadth", "keyword", "honeyguide:teacher=automatic")
GATES = ("", "language=tr,predict=false", "language=tr")
"""None; heard after the download; foretold."""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument(
        "--results", type=Path, default=ROOT / "bench" / "results" / "language-gate"
    )
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--budget", type=int, default=300)
    parser.add_argument("--topics", nargs="*", default=list(TOPICS))
    parser.add_argument("--strategies", nargs="*", default=STRATEGIES)
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--page", type=Path, default=PAGE)
    chosen = parser.parse_args()
    helps, made = webs.help_tr(chosen.folder), webs.made_tongues()
    names = [*(gated(s, g) for s in chosen.strategies for g in GATES), *REFERENCE_STRATEGIES]
    trials = [
        CrawlTrial(made if topic == "tr" else helps, topic, name, draw, chosen.budget)
        for topic in chosen.topics
        for draw in range(chosen.draws)
        for name in names
    ]
    results = run_comparison(trials, chosen.results, workers=chosen.workers, done=_tell)
    chosen.page.write_text(page(results, chosen.topics, chosen.draws, chosen.budget), "utf-8")
    sys.stdout.write(f"{chosen.page}\n")


def gated(strategy: str, gate: str) -> str:
    """The strategy behind that gate, as a comparison names it."""
    return f"{strategy}{',' if ':' in strategy else ':'}{gate}" if gate else strategy


def page(results: Sequence[TrialResult], topics: Sequence[str], draws: int, budget: int) -> str:
    out = [
        "# The language gate",
        "",
        "Made by `python bench/language_gate.py FOLDER` (`make bench-language FOLDER=…`); how it is",
        "counted and how to do the same: [compare](../how-to/compare.md).",
        "",
        "- **Help**: that of an office suite as it stands on one host, 2,561 pages under one path",
        "  (`/7.4/tr/`), all but one with `lang=tr`. 1,153 are labelled Turkish by whoever recorded",
        "  them, 1,310 English, 98 neither. Of every third page, 57 % of the English ones were detected as",
        "  Turkish; those that we read mix both languages. Neither address nor declaration tells a",
        "  page's language here: what is left is where a link stands, what its anchor says, and what",
        "  came of links like it.",
        "- **Made**: 4,008 pages on 40 hosts, 964 in Turkish, the others in English, Azerbaijani and",
        "  Russian. Half of the hosts have the language in addresses and hreflang, three in ten declare one",
        "  and the same language on all pages.",
        "",
        f"Seeds: 3 wanted pages; budget: {budget or 'as many visits as there are wanted pages'}"
        f"{' visits' if budget else ''}. Every figure is a mean over {draws} draws with its 95 %",
        "interval (bootstrap); the last column is the difference in area to `breadth` on the same",
        "draws. After the colon: `language=tr` foretells where links lead, `language=tr,predict=false` hears",
        "languages only after the download, and without it nobody asks for a language. Strategies get",
        "the keywords that ten wanted pages tell; these are Turkish words, so that keywords alone",
        "know much of the language. `random`, `true-parent` and `oracle` are references.",
        "",
        "What it said when it was last looked at: foretelling is worth most to whoever knows nothing of",
        "the language (`breadth`, on three of four topics beyond the interval). Where every page in the language is wanted, it helps",
        "the others on the help and not on the synthetic web, where their Turkish keywords have told them as",
        "much. For a narrow topic with Turkish keywords, nothing is gained, and on one of two something",
        "is lost: links to the language draw the crawl away from links to the topic. These intervals are",
        "wide, since some draws of seeds reach few wanted pages.",
    ]
    for topic in topics:
        some = [result for result in results if result.topic == topic]
        found = build_report(some, tuple(REFERENCE_STRATEGIES), "breadth")
        out += [
            "",
            f"## {topic}",
            "",
            TOPICS.get(topic, ""),
            "",
            markdown_table(found.all, found).rstrip(),
        ]
        out += ["", *_judged(some)]
    return "\n".join([*out, ""])


def _judged(results: Sequence[TrialResult]) -> list[str]:
    """What the crawls themselves called relevant, and how much of it truly is."""
    out = ["| strategy | called relevant | of these truly | CPU a visit |", "|---|---|---|---|"]
    for name in dict.fromkeys(result.strategy for result in results):
        some = [result for result in results if result.strategy == name]
        if name in REFERENCE_STRATEGIES:
            continue
        judged, right = sum(r.judged for r in some), sum(r.right for r in some)
        share = f"{right / judged:.3f}" if judged else "–"
        cpu = sum(r.cpu_ms for r in some) / len(some)
        out.append(f"| `{name}` | {judged / len(some):.0f} | {share} | {cpu:.1f} ms |")
    return out


def _tell(done: int, of: int) -> None:
    sys.stderr.write(json.dumps({"crawls": done, "of": of}) + "\n")


if __name__ == "__main__":
    main()

"""The prior of the honeyguide strategy, learned on webs that come with this project.

    python bench/prior.py [--rounds 2] [--draws 3]

Crawls the embedded web and some made ones with the strategy as it is, choosing links in proportion
to their scores so that poor ones are tried as well, and fits a logistic regression of the truth
about each followed link on what was known of it before. The next round crawls with the outcome.
Prints the coefficients for strategies/honeyguide.py, and how well each web's links are told apart
by a prior that was learned on the others.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from honeyguide.config import Settings, parse
from honeyguide.lab.demo_web import demo_files
from honeyguide.lab.perform import _drawn as drawn
from honeyguide.lab.perform import _examples as examples_of
from honeyguide.lab.simulate import crawl
from honeyguide.lab.trials import Trial, WebSpec, opened
from honeyguide.lab.web import without_scheme
from honeyguide.models import logistic
from honeyguide.store.store import Store
from honeyguide.strategies import honeyguide
from honeyguide.strategies.honeyguide import Evidence, Honeyguide

DEMO = ("backup-and-replication", "full-text-search", "authentication")
MADE = {
    "seed=101,pages=20000,hosts=60": ("sqlite", "borg"),
    "seed=102,pages=30000,hosts=200,locality=0.3,telling_urls=0.6": ("django", "restic"),
    "seed=103,pages=20000,hosts=100,hubs_only=true,hubs=0.05": ("apache", "whoosh"),
}
BUDGET = 400
_PENALTY = 2.0


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--draws", type=int, default=3)
    chosen = parser.parse_args()
    webs = [(WebSpec("demo", demo_files()), DEMO)]
    webs += [(WebSpec(f"made {plan}", made=plan), topics) for plan, topics in MADE.items()]
    for round_ in range(chosen.rounds):
        seen = {spec.name: gathered(spec, topics, chosen.draws) for spec, topics in webs}
        prior = fitted(list(seen.values()))
        sys.stdout.write(f"round {round_ + 1}\n")
        for name, (rows, truth) in seen.items():
            others = fitted([two for other, two in seen.items() if other != name])
            sys.stdout.write(
                f"  {name}: {len(truth)} links, {truth.mean():.2f} good; chance that a good one "
                f"ranks before a bad one: {told_apart(rows @ others, truth):.3f} "
                f"(before: {told_apart(rows @ np.array(honeyguide.PRIOR), truth):.3f})\n"
            )
        honeyguide.PRIOR = Evidence(*prior.tolist())  # the next round crawls with it
        for field, value in zip(Evidence._fields, prior, strict=True):
            sys.stdout.write(f"    {field}={value:.2f},\n")
        sys.stdout.flush()


def gathered(spec: WebSpec, topics: tuple[str, ...], draws: int) -> tuple[Any, Any]:
    """What was known of every link that was followed, and whether it led to something."""
    rows, truth = [], []
    for topic in topics:
        for draw in range(draws):
            # Half of the crawls know only a few keywords.
            trial = Trial(spec, topic, "honeyguide", draw, BUDGET, examples=10)
            found, good = followed(trial, bare=draw % 2 == 1)
            rows.append(found)
            truth.append(good)
    return np.concatenate(rows), np.concatenate(truth)


def followed(trial: Trial, bare: bool) -> tuple[Any, Any]:
    topic = drawn(trial)
    relevant = set(topic.relevant)
    with tempfile.TemporaryDirectory(prefix="honeyguide-prior-") as folder:
        examples = [] if bare else examples_of(trial.web, topic)
        crawl(Path(folder), settings(trial, topic, bare), opened(trial.web).desk.anew(),
              examples=examples)  # fmt: skip
        with Store.open(Path(folder), "read") as store:
            live = store.live()
            strategy = store.load_generation(live, lambda _: Honeyguide)
            links = [row.link for row in store.visits() if row.link.yields and row.link.source]
    plain = replace(strategy, moved=(), sign_names="", sign_weights=None)
    rows = plain.evidence(links)
    return rows, np.array([float(without_scheme(link.url) in relevant) for link in links])


def settings(trial: Trial, topic: Any, bare: bool) -> Settings:
    words = list(topic.keywords)
    random.Random(trial.draw).shuffle(words)
    return parse(
        {
            "topic": {
                "name": trial.topic,
                "keywords": words[:4] if bare else words,
                "seeds": list(topic.seeds),
            },
            "crawl": {
                "strategy": "honeyguide", "order": "proportional", "pages": topic.budget,
                "concurrency": 1, "seed": trial.draw + 1,
            },
            "scope": {"sitemaps": "never"},
            "fetch": {"contact": "https://example.org/lab", "lab": "http://127.0.0.1:1"},
            "politeness": {"loopback_delay_s": 0.0, "response_factor": 0.0},
            "store": {"warc": False, "min_free_mb": 0},
            "learn": {"teacher": "automatic"},
        },
        "the lab",
    )  # fmt: skip


def fitted(webs: list[tuple[Any, Any]]) -> Any:
    """Every web counts the same, and so do good and bad links."""
    rows = np.concatenate([rows for rows, _ in webs])
    truth = np.concatenate([good for _, good in webs])
    weights = np.concatenate([_evened(good) for _, good in webs])
    penalties = np.full(rows.shape[1], _PENALTY)
    penalties[-1] = 1e-3
    return logistic.fit(
        rows, truth, weights=weights, offsets=np.zeros(len(truth)), penalties=penalties
    )


def _evened(good: Any) -> Any:
    weights = np.where(good > 0, 1 / max(good.sum(), 1), 1 / max((1 - good).sum(), 1))
    return 500 * weights / weights.sum()


def told_apart(scores: Any, good: Any) -> float:
    order = np.argsort(np.argsort(scores)) + 1.0
    many, few = good.sum(), (1 - good).sum()
    return float((order[good > 0].sum() - many * (many + 1) / 2) / max(many * few, 1))


if __name__ == "__main__":
    main()

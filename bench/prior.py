"""The prior of the honeyguide strategy, learned on the web that comes with this project.

    python bench/prior.py [--draws 6] [--made]

Crawls the embedded web with the strategy as it is, choosing links in proportion to their scores so
that poor ones are tried as well, and fits a logistic regression of the truth about each followed link
on what was known of it before. Prints the coefficients. ``--made`` does the same for some synthetic webs,
says how well each web's links are told apart by the others' priors, and how each coefficient differs from
topic to topic: the inverse of its variance is how hard it is to move (models/link_model.py).
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
import webs

from honeyguide.config.settings import Settings
from honeyguide.lab.simulate import simulate_crawl
from honeyguide.lab.trials import (
    CrawlTrial,
    DrawnTopic,
    WebSpec,
    draw_topic,
    open_web,
    trial_examples,
    trial_settings,
)
from honeyguide.lab.web import without_scheme
from honeyguide.models import logistic
from honeyguide.models.link_model import LinkFeatures
from honeyguide.store.store import Store
from honeyguide.strategies.honeyguide import Honeyguide

DEMO = ("backup-and-replication", "full-text-search", "authentication")
BUDGET = 400
_PENALTY = 4.0
_NEVER_POSITIVE = ("inlinks", "barren")
_EITHER = ("inside", "bias")
"""All other evidence speaks for a link, if it says anything."""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--draws", type=int, default=6)
    parser.add_argument("--made", action="store_true")
    chosen = parser.parse_args()
    some = {webs.demo(): DEMO} | (webs.made_for_prior() if chosen.made else {})
    seen = {spec.name: gathered(spec, topics, chosen.draws) for spec, topics in some.items()}
    priors = {name: fitted(parts) for name, parts in seen.items()}
    for name, parts in seen.items():
        sys.stdout.write(f"{name}: {sum(len(truth) for _, truth in parts)} links\n")
        for field, value in zip(LinkFeatures._fields, priors[name], strict=True):
            sys.stdout.write(f"    {field}={value:.2f},\n")
        for other, prior in priors.items():
            apart = np.mean([told_apart(rows @ prior, truth) for rows, truth in parts])
            sys.stdout.write(f"  a good link goes before a bad one by {other}: {apart:.3f}\n")
    single = np.array([fitted([part], bounded=False) for parts in seen.values() for part in parts])
    sys.stdout.write("over all topics, each by itself: mean, and 1 over the variance\n")
    for field, values in zip(LinkFeatures._fields, single.T, strict=True):
        sys.stdout.write(f"    {field}: {values.mean():.2f}, {1 / max(values.var(), 0.01):.1f}\n")


def gathered(spec: WebSpec, topics: tuple[str, ...], draws: int) -> list[tuple[Any, Any]]:
    """By topic, what was known of every link that was followed, and whether it led somewhere."""
    found = []
    for topic in topics:
        trials = [
            CrawlTrial(spec, topic, "honeyguide", n, BUDGET, examples=10) for n in range(draws)
        ]
        # A third of the crawls know only a few keywords.
        parts = [followed(trial, bare=trial.draw % 3 == 2) for trial in trials]
        found.append((np.concatenate([r for r, _ in parts]), np.concatenate([t for _, t in parts])))
    return found


def followed(trial: CrawlTrial, bare: bool) -> tuple[Any, Any]:
    topic = draw_topic(trial)
    relevant = set(topic.relevant)
    with tempfile.TemporaryDirectory(prefix="honeyguide-prior-") as folder:
        examples = [] if bare else trial_examples(trial, topic)
        simulate_crawl(Path(folder), settings(trial, topic, bare), open_web(trial.web).responder.fresh_copy(),
              examples=examples)  # fmt: skip
        with Store.open(Path(folder), "read") as store:
            strategy = store.generations.load(
                store.generations.live_number() or 0, lambda _: Honeyguide
            )
            links = [
                row.link
                for row in store.visits.iter_visits()
                if row.link.yields and row.link.source
            ]
    plain = replace(strategy, moved=(), sign_names="", sign_weights=None)
    rows = plain.evidence(links)
    return rows, np.array([float(without_scheme(link.url) in relevant) for link in links])


def settings(trial: CrawlTrial, topic: DrawnTopic, bare: bool) -> Settings:
    words = list(topic.keywords)
    random.Random(trial.draw).shuffle(words)
    plain = trial_settings(trial, topic)
    return replace(
        plain,
        topic=replace(plain.topic, keywords=tuple(words[:4] if bare else words)),
        crawl=replace(plain.crawl, order="proportional"),
    )


def fitted(parts: list[tuple[Any, Any]], bounded: bool = True) -> Any:
    """Every topic counts the same, and so do its good and bad links."""
    from scipy.optimize import minimize

    rows = np.concatenate([rows for rows, _ in parts])
    truth = np.concatenate([good for _, good in parts])
    weights = np.concatenate([_evened(good) * 900 / len(parts) for _, good in parts])
    penalties = np.full(rows.shape[1], _PENALTY)
    penalties[-1] = 1e-3

    def loss(w: Any) -> tuple[float, Any]:
        z = rows @ w
        misses = weights * (np.logaddexp(0, z) - truth * z)
        slopes = rows.T @ (weights * (logistic.sigmoid(z) - truth)) + penalties * w
        return float(misses.sum() + penalties @ (w * w) / 2), slopes

    bounds = [
        (None, None)
        if name in _EITHER or not bounded
        else (None, 0)
        if name in _NEVER_POSITIVE
        else (0, None)
        for name in LinkFeatures._fields
    ]
    return minimize(loss, np.zeros(rows.shape[1]), jac=True, method="L-BFGS-B", bounds=bounds).x


def _evened(good: Any) -> Any:
    weights = np.where(good > 0, 1 / max(good.sum(), 1), 1 / max((1 - good).sum(), 1))
    return weights / weights.sum()


def told_apart(scores: Any, good: Any) -> float:
    order = np.argsort(np.argsort(scores)) + 1.0
    many, few = good.sum(), (1 - good).sum()
    return float((order[good > 0].sum() - many * (many + 1) / 2) / max(many * few, 1))


if __name__ == "__main__":
    main()

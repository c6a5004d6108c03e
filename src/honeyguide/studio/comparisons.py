"""Comparisons of the lab in the studio's folder: figures with intervals, and curves."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated, NamedTuple

import msgspec
import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from honeyguide.studio.lab_results import SUMMARY, Crawl, Line, crawls_of, folders, summary_of
from honeyguide.studio.routes import Here, Missing, Route

_POINTS = 100
_DRAWS = 1_000

_ODD = re.compile(r"[^\w.=-]+")

Floats = NDArray[np.float64]


class Found(msgspec.Struct, frozen=True):
    folder: str
    at: float
    baseline: str
    strategies: list[str]
    topics: int


class Which(msgspec.Struct, frozen=True):
    folder: Annotated[str, Meta(min_length=1, max_length=500)]
    topic: Annotated[str, Meta(max_length=500)] = ""
    """One of the comparison's; '': all of them."""


class Curve(msgspec.Struct, frozen=True):
    strategy: str
    values: list[float | None]
    low: list[float | None]
    high: list[float | None]


class Row(msgspec.Struct, frozen=True):
    strategy: str
    line: Line


class Comparison(msgspec.Struct, frozen=True):
    folder: str
    baseline: str
    k: int
    topics: list[str]
    topic: str
    rows: list[Row]
    """Best area first."""
    x: list[float]
    """Percent of the budget; visits where one topic is shown."""
    curves: list[Curve]
    """Recall over all topics; relevant pages found where one topic is shown."""
    over: str
    """What the intervals speak of: ``topics`` or ``draws``."""
    crawls: int


def listing(here: Here) -> list[Found]:
    found = []
    for folder in folders(here.root):
        summary = summary_of(folder)
        if summary is not None:
            name = folder.relative_to(here.root).as_posix()
            at = (folder / SUMMARY).stat().st_mtime
            found.append(Found(name, at, summary.baseline, list(summary.all), len(summary.topics)))
    return sorted(found, key=lambda one: -one.at)


def comparison(here: Here, query: Which) -> Comparison:
    folder = next(
        (f for f in folders(here.root) if f.relative_to(here.root).as_posix() == query.folder),
        None,
    )
    summary = None if folder is None else summary_of(folder)
    if folder is None or summary is None:
        raise Missing(f"there is no comparison {query.folder!r} in this studio's folder")
    if query.topic and query.topic not in summary.topics:
        raise Missing(f"the comparison has no topic {query.topic!r}")
    lines = summary.topics[query.topic] if query.topic else summary.all
    crawls = crawls_of(folder)
    if query.topic:
        crawls = [one for one in crawls if _name_of(one) == query.topic]
    drawn = _one_topic(crawls) if query.topic else _all_topics(crawls)
    order = sorted(lines, key=lambda name: -(lines[name].area.mean or 0.0))
    places = {name: place for place, name in enumerate(order)}
    curves = sorted(drawn.curves, key=lambda curve: places.get(curve.strategy, len(places)))
    return Comparison(
        query.folder,
        summary.baseline,
        summary.k,
        list(summary.topics),
        query.topic,
        [Row(name, lines[name]) for name in order],
        drawn.x,
        curves,
        drawn.over,
        len(crawls),
    )


class _Drawn(NamedTuple):
    x: list[float]
    curves: list[Curve]
    over: str


def _all_topics(crawls: Sequence[Crawl]) -> _Drawn:
    """Recall by the share of the budget spent: the mean over topics of the mean over draws."""
    longest: dict[tuple[str, str], int] = {}
    for one in crawls:
        key = one.web, one.topic
        longest[key] = max(longest.get(key, 1), len(one.found))
    groups: dict[str, dict[tuple[str, str], list[Floats]]] = {}
    for one in crawls:
        key = one.web, one.topic
        at = [longest[key] * step // _POINTS for step in range(_POINTS + 1)]
        curve = _after(one, at) / max(1, one.relevant)
        groups.setdefault(one.strategy, {}).setdefault(key, []).append(curve)
    curves, over = [], ""
    for name, topics in groups.items():
        rows = np.array([np.mean(draws, axis=0) for draws in topics.values()])
        over = "topics"
        if len(topics) == 1:
            rows, over = np.array(next(iter(topics.values()))), "draws"
        curves.append(_curve(name, rows))
    return _Drawn([100.0 * step / _POINTS for step in range(_POINTS + 1)], curves, over)


def _one_topic(crawls: Sequence[Crawl]) -> _Drawn:
    """Relevant pages found by visits, over the draws."""
    length = max((len(one.found) for one in crawls), default=0)
    at = sorted({length * step // _POINTS for step in range(_POINTS + 1)})
    groups: dict[str, list[Floats]] = {}
    for one in crawls:
        groups.setdefault(one.strategy, []).append(_after(one, at))
    curves = [_curve(name, np.array(rows)) for name, rows in groups.items()]
    return _Drawn([float(n) for n in at], curves, "draws")


def _after(one: Crawl, visits: Sequence[int]) -> Floats:
    """Relevant pages after so many visits; a crawl that ended early finds no more."""
    found = np.array([0, *one.found], np.float64)
    return np.asarray(found[np.minimum(visits, len(found) - 1)])


def _curve(name: str, rows: Floats) -> Curve:
    """The mean of the rows, and the interval that drawing them again gives (bootstrap)."""
    mean = rows.mean(axis=0)
    low = high = mean
    if len(rows) > 1:
        dice = np.random.default_rng(1)
        chosen = dice.integers(0, len(rows), (_DRAWS, len(rows)))
        weights = np.array([np.bincount(row, minlength=len(rows)) for row in chosen]) / len(rows)
        low, high = np.quantile(weights @ rows, (0.025, 0.975), axis=0)
    return Curve(name, _plain(mean), _plain(low), _plain(high))


def _plain(values: Floats) -> list[float | None]:
    return [round(float(value), 4) for value in values]


def _name_of(one: Crawl) -> str:
    """As the lab names a topic of a web in its summary."""
    return _ODD.sub("-", f"{one.web}-{one.topic}")


ROUTES: tuple[Route, ...] = (
    Route(
        "GET", "/api/lab", listing, returns=list[Found],
        summary="The lab's comparisons in this folder",
    ),
    Route(
        "GET", "/api/lab/comparison", comparison, query=Which, returns=Comparison,
        summary="One comparison: figures with intervals, and curves",
    ),
)  # fmt: skip

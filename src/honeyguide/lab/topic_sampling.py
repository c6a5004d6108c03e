"""A topic as a trial states it: what is relevant, where it starts, and what a strategy is told."""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import lru_cache

from honeyguide.config import Settings, parse
from honeyguide.errors import ConfigError, ParseError
from honeyguide.lab.keywords import telling_words
from honeyguide.lab.oracles import REFERENCES
from honeyguide.lab.trials import Trial, WebSpec, opened
from honeyguide.lab.variants import variant
from honeyguide.lab.web import without_scheme
from honeyguide.parse.read import read
from honeyguide.types import Example, Link, Response, Url

_BACKGROUND = 40
"""Pages that an example's words are told from."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """A topic as one draw states it."""

    relevant: tuple[str, ...]
    """All relevant addresses, without scheme."""
    seeds: tuple[str, ...]
    examples: tuple[str, ...]
    bad: tuple[str, ...]
    """Pages that are not relevant, for strategies that learn."""
    keywords: tuple[str, ...]
    budget: int


@lru_cache(maxsize=64)
def _stated(spec: WebSpec, label: str, draw: int, seeds: int, examples: int, budget: int) -> Drawn:
    desk = opened(spec).graph.desk  # the judge's: errors are for crawlers
    web = desk.web
    relevant = sorted(without_scheme(url) for url in web.labelled(label))
    if len(relevant) <= seeds + examples:
        raise ConfigError(f"the topic {label!r} has only {len(relevant)} pages in {spec.name}")
    dice = random.Random(f"{spec.name} {label} {draw}")
    chosen = dice.sample(relevant, seeds + examples)
    # Nobody tells a user which pages are off topic: the background is any pages of the web.
    others = [key for key in _addresses(spec) if key not in chosen]
    bodies = [desk.answer(key).body for key in chosen[seeds:]]
    some = dice.sample(others, min(_BACKGROUND, len(others)))
    background = [desk.answer(key).body for key in some]
    truth = set(relevant)
    bad = [key for key in some if key not in truth][: 2 * examples]
    starts = spec.seeds or tuple(f"http://{key}" for key in chosen[:seeds])
    return Drawn(
        tuple(relevant),
        starts,
        tuple(f"http://{key}" for key in chosen[seeds:]),
        tuple(f"http://{key}" for key in bad),
        telling_words(label, bodies, background),
        budget or len(relevant),
    )


@lru_cache(maxsize=4)
def _addresses(spec: WebSpec) -> tuple[str, ...]:
    return tuple(sorted(map(without_scheme, opened(spec).graph.desk.web.urls())))


def drawn(trial: Trial) -> Drawn:
    """The topic, the same for all strategies, and for whatever they are told of it."""
    return _stated(trial.web, trial.topic, trial.draw, trial.seeds, trial.examples, trial.budget)


def settings_of(trial: Trial, topic: Drawn) -> Settings:
    """What a user would have in topic.toml."""
    keywords = topic.keywords if trial.start is None else topic.keywords[: trial.start.keywords]
    chosen = variant(trial.strategy if trial.strategy not in REFERENCES else "breadth")
    return parse(
        {
            "topic": {
                "name": trial.topic,
                "language": list(chosen.gate),
                "words": trial.web.language,
                "keywords": list(keywords),
                "seeds": list(topic.seeds),
            },
            "crawl": {
                "strategy": chosen.name,
                "order": "best" if trial.strategy in REFERENCES else "strategy",
                "pages": topic.budget,
                "concurrency": trial.concurrency,
                "seed": trial.draw + 1,
            },
            "scope": {"sitemaps": "never"},
            "fetch": {"contact": "https://example.org/lab", "lab": "http://127.0.0.1:1"},
            # A rest would send the crawl to whatever host is free: on a web of many hosts, a good
            # part of the budget would go where the strategy did not want to.
            "politeness": {"loopback_delay_s": trial.web.delay_s, "response_factor": 0.0},
            "store": {"warc": False, "min_free_mb": 0},
            "learn": chosen.learn(),
            "language": {"predict": chosen.predict},
            "search": chosen.enquiry.search(keywords) if chosen.enquiry else {},
            "strategy": dict(chosen.parameters),
        },
        "the lab",
    )


def examples_of(trial: Trial, topic: Drawn) -> list[Example]:
    """The topic's good and bad pages, as a user would have them in files."""
    desk = opened(trial.web).graph.desk
    found = []
    for url, target in _told(trial, topic).items():
        body = desk.answer(without_scheme(url)).body
        headers = (("Content-Type", "text/html"),)
        answer = Response(Url(url), 200, headers, body, body, b"", b"", "", 0.0, 0.0)
        link = Link(Url(url), channel="example")
        try:
            found.append(Example(link, read(answer, link), target, "seed"))
        except ParseError:
            continue
    return found


def _told(trial: Trial, topic: Drawn) -> dict[str, float]:
    """Which pages are called good and bad, rightly or not."""
    start = trial.start
    good = topic.examples if start is None else topic.examples[: start.good]
    bad = topic.bad if start is None else topic.bad[: start.bad]
    told = dict.fromkeys(good, 1.0) | dict.fromkeys(bad, 0.0)
    if start is not None and start.wrong:
        dice = random.Random(f"{trial.web.name} {trial.topic} {trial.draw} wrong")
        for url in dice.sample(list(told), round(start.wrong * len(told))):
            told[url] = 1 - told[url]
    return told

"""What a user would type for a topic: its name, and words that tell its examples from others."""

from __future__ import annotations

import math
import random
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from honeyguide.config.settings import Settings, parse_settings
from honeyguide.errors import ConfigError, ParseError
from honeyguide.lab.oracles import REFERENCE_STRATEGIES
from honeyguide.lab.trials import CrawlTrial, WebSpec, open_web
from honeyguide.lab.variants import parse_variant
from honeyguide.lab.web import without_scheme
from honeyguide.parse.read import parse_body
from honeyguide.text.language import split_words, stems_of, stop_words
from honeyguide.types import Example, Link, Url

_MAX_KEYWORDS = 8


def distinctive_words(
    label: str, good: Sequence[bytes], others: Sequence[bytes], most: int = _MAX_KEYWORDS
) -> tuple[str, ...]:
    """Words of the label's last part, then those with the best odds between two sets of pages."""
    # ``language=tr`` is a fact about pages, and no name of a topic.
    labels = [one for one in label.split(" & ") if "=" not in one]
    name = labels[0].rpartition(".")[2].lower() if labels else ""
    named = [w for w in re.split(r"[^\w]+|_", name) if len(w) > 2]
    inside, outside = _page_counts(good), _page_counts(others)
    odds = {
        word: math.log((n + 0.5) / (len(good) - n + 0.5))
        - math.log((outside[word] + 0.5) / (len(others) - outside[word] + 0.5))
        for word, n in inside.items()
        if n >= max(2, len(good) // 3)
    }
    best = sorted(odds, key=lambda word: (-odds[word] * inside[word] ** 0.5, word))
    chosen: dict[str, str] = {}
    stems = stems_of("en")
    for word in (*named, *best):
        if len(chosen) < most and word not in stop_words("en"):
            chosen.setdefault(stems[word], word)
    return tuple(chosen.values())


def _page_counts(bodies: Sequence[bytes]) -> Counter[str]:
    """In how many pages each word stands."""
    counts: Counter[str] = Counter()
    for body in bodies:
        try:
            page = parse_body(body, Link(Url("http://lab.invalid/")))
        except ParseError:
            continue
        text = f"{page.title} {' '.join(page.headings)} {page.text[:20_000]}"
        counts.update({word for word in split_words(text) if len(word) > 2 and word.isalpha()})
    return counts


# --------------------------------------------------------------------------------------------------
# A topic as a trial states it: what is relevant, where it starts, and what a strategy is told.
# --------------------------------------------------------------------------------------------------


_BACKGROUND_PAGES = 40
"""Pages that an example's words are told from."""


@dataclass(frozen=True, slots=True)
class DrawnTopic:
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
def _draw_topic(
    spec: WebSpec, label: str, draw: int, seeds: int, examples: int, budget: int
) -> DrawnTopic:
    desk = open_web(spec).graph.desk  # the judge's: errors are for crawlers
    web = desk.web
    relevant = sorted(without_scheme(url) for url in web.urls_labelled(label))
    if len(relevant) <= seeds + examples:
        raise ConfigError(f"the topic {label!r} has only {len(relevant)} pages in {spec.name}")
    dice = random.Random(f"{spec.name} {label} {draw}")
    chosen = dice.sample(relevant, seeds + examples)
    # Nobody tells a user which pages are off topic: the background is any pages of the web.
    others = [key for key in _sorted_addresses(spec) if key not in chosen]
    bodies = [desk.respond(key).body for key in chosen[seeds:]]
    some = dice.sample(others, min(_BACKGROUND_PAGES, len(others)))
    background = [desk.respond(key).body for key in some]
    truth = set(relevant)
    bad = [key for key in some if key not in truth][: 2 * examples]
    starts = spec.seeds or tuple(f"http://{key}" for key in chosen[:seeds])
    return DrawnTopic(
        tuple(relevant),
        starts,
        tuple(f"http://{key}" for key in chosen[seeds:]),
        tuple(f"http://{key}" for key in bad),
        distinctive_words(label, bodies, background),
        budget or len(relevant),
    )


@lru_cache(maxsize=4)
def _sorted_addresses(spec: WebSpec) -> tuple[str, ...]:
    return tuple(sorted(map(without_scheme, open_web(spec).graph.desk.web.page_urls())))


def draw_topic(trial: CrawlTrial) -> DrawnTopic:
    """The topic, the same for all strategies, and for whatever they are told of it."""
    return _draw_topic(
        trial.web, trial.topic, trial.draw, trial.seeds, trial.examples, trial.budget
    )


def trial_settings(trial: CrawlTrial, topic: DrawnTopic) -> Settings:
    """What a user would have in topic.toml."""
    keywords = topic.keywords if trial.start is None else topic.keywords[: trial.start.keywords]
    chosen = parse_variant(
        trial.strategy if trial.strategy not in REFERENCE_STRATEGIES else "breadth"
    )
    return parse_settings(
        {
            "topic": {
                "name": trial.topic,
                "language": list(chosen.gate),
                "keyword_language": trial.web.language,
                "keywords": list(keywords),
                "seeds": list(topic.seeds),
            },
            "crawl": {
                "strategy": chosen.name,
                "order": "best" if trial.strategy in REFERENCE_STRATEGIES else "strategy",
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
            "learn": chosen.learn_settings(),
            "language": {"predict": chosen.predict},
            "search": chosen.engine.search_settings(keywords) if chosen.engine else {},
            "strategy": dict(chosen.parameters),
        },
        "the lab",
    )


def trial_examples(trial: CrawlTrial, topic: DrawnTopic) -> list[Example]:
    """The topic's good and bad pages, as a user would have them in files."""
    desk = open_web(trial.web).graph.desk
    found = []
    for url, target in _example_targets(trial, topic).items():
        body = desk.respond(without_scheme(url)).body
        link = Link(Url(url), channel="example")
        try:
            found.append(Example(link, parse_body(body, link), target, "seed"))
        except ParseError:
            continue
    return found


def _example_targets(trial: CrawlTrial, topic: DrawnTopic) -> dict[str, float]:
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

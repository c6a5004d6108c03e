"""What the settings have chosen: where to start, what lies inside, and who decides."""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import Any, cast

from honeyguide import registry
from honeyguide.config import Settings, build
from honeyguide.crawl import parameters, topics
from honeyguide.crawl.strategy_choice import has
from honeyguide.errors import ConfigError
from honeyguide.multi_topic import Several
from honeyguide.protocols import Strategy
from honeyguide.scope import Fence, Traps, make_scope
from honeyguide.text.tokens import check_language
from honeyguide.types import Url
from honeyguide.url import canonical


def seeds_of(settings: Settings) -> tuple[Url, ...]:
    """The topic's seeds and good examples, in canonical form; a ConfigError names bad ones."""
    found: list[Url] = []
    stated = [("topic.seeds", settings.topic.seeds), ("topic.good", settings.topic.good)]
    stated += [(f"good of {topic.name!r}", topic.good) for topic in settings.topics]
    for key, texts in stated:
        for text in texts:
            url = canonical(text.strip())
            if url is None:
                hint = f"; did you mean https://{text.strip()}?" if "://" not in text else ""
                raise ConfigError(f"{key}: {text!r} is no http or https address{hint}")
            found.append(url)
    if not found and not settings.search.engine:
        raise ConfigError(
            "the topic has no seeds: add addresses to start from under topic.seeds in topic.toml, "
            "or use: honeyguide new NAME --seed https://…; or ask a search engine, under [search]"
        )
    return tuple(dict.fromkeys(found))


def fence_of(settings: Settings) -> Fence:
    rules, seeds = settings.scope, seeds_of(settings)
    if not seeds and rules.rule != "everything":
        raise ConfigError(
            f"scope.rule = {rules.rule!r} keeps to where the seeds are, and there are none: add "
            "addresses under topic.seeds, or set it to 'everything'"
        )
    return Fence(make_scope(rules.rule, seeds, rules.include, rules.exclude), Traps())


def strategy_of(settings: Settings) -> Strategy:
    """The chosen strategy, with what it needs of the topic and its own parameters; for several
    topics, one for each."""
    if not settings.topics:
        return _strategy_of(settings)
    parts = []
    for one in topics.each(settings):
        with topics.naming(one, several=True):
            parts.append(_strategy_of(one))
            words = one.topic.keywords or one.topic.description
            if parts[-1].habits.reads == "links" and not words:
                raise ConfigError("this strategy judges by keywords or a description only")
    made = Several(settings.crawl.strategy, topics.names(settings), tuple(parts))
    return cast("Strategy", made)


def _strategy_of(settings: Settings) -> Strategy:
    cls = registry.find(settings.crawl.strategy)
    check_language(settings.topic.spoken)
    topic = asdict(settings.topic)
    names = {f.name for f in fields(cls)}
    given: dict[str, Any] = {key: topic[key] for key in parameters.SHARED if key in names}
    if settings.topic.model and "model" not in names:
        raise ConfigError(
            f"topic.model: the strategy {settings.crawl.strategy!r} cannot use one; "
            'write strategy = "topic_cnn" under [crawl]'
        )
    if settings.topic.categories and not settings.topic.model:
        raise ConfigError("topic.categories are those of a model: add topic.model, or --model")
    if "language" in names:
        given["language"] = settings.topic.spoken
    if "concepts" in names:
        from honeyguide.text.ontology.load import concepts_of

        given["concepts"] = concepts_of(settings.topic)
    parameters.check_names(cls, settings.strategy)
    made = build(cls, {**given, **settings.strategy}, "topic.toml", "strategy.")
    parameters.check_numbers(made, settings.strategy)
    needs = made.habits.needs
    if needs and not any(has(topic, need) for need in needs):
        raise ConfigError(
            f"the strategy {settings.crawl.strategy!r} needs {' or '.join(needs)}: "
            f"add topic.{needs[0]} to topic.toml"
        )
    return cast("Strategy", made)

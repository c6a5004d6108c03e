"""What the settings choose: the strategies a topic can use, their parameters, the scope filter.

A parameter of a strategy is a field that its owner may set under ``[strategy]``. Fields that the
topic fills are set under ``[topic]``. Fields that learning fills (lexicons, classifiers, networks,
and a few plain values that the strategy names in its traits) are not set at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Literal, cast, get_args, get_origin, get_type_hints

from honeyguide import registry
from honeyguide.config import validation
from honeyguide.config.settings import Settings
from honeyguide.config.validation import build_dataclass, unknown_key_error
from honeyguide.errors import ConfigError, HoneyguideError
from honeyguide.learning import topics
from honeyguide.learning.topics import seed_urls
from honeyguide.multi_topic import MultiTopicStrategy
from honeyguide.protocols import Strategy
from honeyguide.scope import ScopeFilter, UrlTraps, make_scope
from honeyguide.text.language import check_language, language_of
from honeyguide.types import StrategyTraits

TOPIC_FIELDS = ("keywords", "description", "model", "categories", "seeds_are_doors")
"""What a strategy takes from the topic by naming a field so."""
TOPIC_KEYS = {name: name for name in TOPIC_FIELDS} | {"language": "words", "concepts": "ontology"}
"""Fields that the topic fills, and the key under ``[topic]``."""
_HALVES = ("critic", "links")
"""Tables under ``[strategy]`` where two strategies are one."""
_PLAIN_TYPES = (bool, int, float, str, dict, tuple)


def settable_parameters(cls: Any) -> list[str]:
    """The parameters of a strategy."""
    hints, closed = get_type_hints(cls), {*TOPIC_KEYS, *cls.traits.learned_fields}
    return [f.name for f in fields(cls) if f.name not in closed and _is_plain_type(hints[f.name])]


def check_parameter_names(cls: Any, given: Iterable[str]) -> None:
    known = settable_parameters(cls)
    for key in given:
        if key in TOPIC_KEYS and key in {f.name for f in fields(cls)}:
            raise ConfigError(
                f"topic.toml: {key} belongs to the topic: set topic.{TOPIC_KEYS[key]}, not "
                f"strategy.{key}"
            )
        if key not in known:
            raise unknown_key_error(key, known, "topic.toml", "strategy.")


def check_parameter_numbers(made: Any, given: Iterable[str]) -> None:
    """What holds for every number; narrower ranges are the strategy's own affair."""
    for key in given:
        if type(value := getattr(made, key)) in (int, float):
            validation.check_number(f"topic.toml: strategy.{key}", value)


def _is_plain_type(hint: Any) -> bool:
    """Whether a settings file can hold such a value."""
    if hint in _PLAIN_TYPES or get_origin(hint) is Literal:
        return True
    inside = [one for one in get_args(hint) if one not in (Ellipsis, type(None))]
    return bool(inside) and all(map(_is_plain_type, inside))


@dataclass(frozen=True, slots=True)
class StrategyChoice:
    """A strategy, and what a topic lacks for it."""

    name: str
    about: str
    """The first line of its description."""
    traits: StrategyTraits
    missing: tuple[str, ...]
    """Any one of these would do; empty: it can start."""


def topic_has(topic: Mapping[str, Any], need: str) -> bool:
    """Whether a topic has this: files are examples too, and an ontology needs its concept."""
    if need in ("good", "bad"):
        return bool(topic.get(need) or topic.get(f"{need}_files"))
    if need == "ontology":
        return bool(topic.get("ontology") and topic.get("concept"))
    return bool(topic.get(need))


def strategy_choices(topic: Mapping[str, Any]) -> list[StrategyChoice]:
    """Every strategy there is, and what this topic lacks for it."""
    found = []
    for name in registry.strategy_names():
        try:
            cls = registry.find_strategy(name)
        except HoneyguideError:
            continue  # a broken plug-in: reported when it is chosen
        needs = cls.traits.needs
        missing = () if not needs or any(topic_has(topic, need) for need in needs) else needs
        about = (cls.__doc__ or "").strip().partition("\n")[0]
        found.append(StrategyChoice(name, about, cls.traits, missing))
    return found


def suited_strategy(topic: Mapping[str, Any]) -> str:
    """The strategy for a topic whose owner did not choose one."""
    if topic_has(topic, "model"):
        return "topic_cnn"
    stated = ("good", "keywords", "description", "ontology")
    return "honeyguide" if any(topic_has(topic, what) for what in stated) else "breadth"


def build_scope_filter(settings: Settings) -> ScopeFilter:
    rules, seeds = settings.scope, seed_urls(settings)
    if not seeds and rules.rule != "everything":
        raise ConfigError(
            f"scope.rule = {rules.rule!r} keeps to where the seeds are, and there are none: add "
            "addresses under topic.seeds, or set it to 'everything'"
        )
    return ScopeFilter(make_scope(rules.rule, seeds, rules.include, rules.exclude), UrlTraps())


def build_strategy(settings: Settings) -> Strategy:
    """The chosen strategy, with what it needs of the topic and its own parameters; for several
    topics, one for each."""
    if not settings.topics:
        return _build_topic_strategy(settings)
    parts = []
    for one in topics.settings_per_topic(settings):
        with topics.errors_name_topic(one, several=True):
            parts.append(_build_topic_strategy(one))
            words = one.topic.keywords or one.topic.description
            if parts[-1].traits.reads == "links" and not words:
                raise ConfigError("this strategy judges by keywords or a description only")
    made = MultiTopicStrategy(settings.crawl.strategy, topics.topic_names(settings), tuple(parts))
    return cast("Strategy", made)


def _build_pair(settings: Settings) -> Strategy:
    """A strategy that judges pages and one that ranks links, each with its own parameters and with
    what it can use of the topic."""
    name, given = settings.crawl.strategy, settings.strategy
    cls, halves = registry.find_strategy(name), {}
    for key in given:
        if key not in _HALVES:
            raise unknown_key_error(key, _HALVES, "topic.toml", "strategy.")
    names = registry.halves_of(name)
    uses_model = ["model" in {f.name for f in fields(registry.find_strategy(n))} for n in names]
    for key, half, has_model in zip(_HALVES, names, uses_model, strict=True):
        topic, parameters = settings.topic, given.get(key, {})
        if not isinstance(parameters, dict):
            raise ConfigError(
                f"topic.toml: strategy.{key} holds parameters; write [strategy.{key}]"
            )
        if not has_model and any(uses_model):
            topic = replace(topic, model="", categories=())
        crawl = replace(settings.crawl, strategy=half)
        try:
            halves[key] = _build_topic_strategy(
                replace(settings, topic=topic, crawl=crawl, strategy=parameters)
            )
        except ConfigError as error:
            raise ConfigError(f"{key} of {name}: {error}") from error
    return cast("Strategy", cls(**halves))


def _build_topic_strategy(settings: Settings) -> Strategy:
    if registry.PAIR_MARK in settings.crawl.strategy:
        return _build_pair(settings)
    cls = registry.find_strategy(settings.crawl.strategy)
    check_language(settings.topic.keyword_language)
    topic = asdict(settings.topic)
    names = {f.name for f in fields(cls)}
    given: dict[str, Any] = {key: topic[key] for key in TOPIC_FIELDS if key in names}
    if settings.topic.model and "model" not in names:
        raise ConfigError(
            f"topic.model: the strategy {settings.crawl.strategy!r} cannot use one; "
            'write strategy = "topic_cnn" under [crawl]'
        )
    if settings.topic.categories and not settings.topic.model:
        raise ConfigError("topic.categories are those of a model: add topic.model, or --model")
    if "language" in names:
        given["language"] = language_of(settings.topic.word_language).code
    if "concepts" in names:
        from honeyguide.text.ontology.load import topic_concepts

        given["concepts"] = topic_concepts(settings.topic)
    check_parameter_names(cls, settings.strategy)
    made = build_dataclass(cls, {**given, **settings.strategy}, "topic.toml", "strategy.")
    check_parameter_numbers(made, settings.strategy)
    needs = made.traits.needs
    if needs and not any(topic_has(topic, need) for need in needs):
        raise ConfigError(
            f"the strategy {settings.crawl.strategy!r} needs {' or '.join(needs)}: "
            f"add topic.{needs[0]} to topic.toml"
        )
    return cast("Strategy", made)

"""Settings that could not work: values out of range, and combinations that exclude each other."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING

from honeyguide import language_codes as tongues
from honeyguide import parameter_checks as ranges
from honeyguide.errors import ConfigError
from honeyguide.multi_topic import MOST
from honeyguide.search_settings import leads_away

if TYPE_CHECKING:
    from honeyguide.config import FurtherTopic, Settings, TopicSettings

_NAME = 60
"""Characters of a topic's name."""
_LANGUAGES = 20
"""Languages that may be wanted at once."""
_QUERY = 400
"""Characters of a query."""


def check(settings: Settings, where: str) -> None:
    """Ranges, and combinations that could not work."""
    for table in fields(settings):
        group = getattr(settings, table.name)
        if not is_dataclass(group):
            continue
        for item in fields(group):
            value = getattr(group, item.name)
            if type(value) in (int, float):
                ranges.check(f"{where}: {table.name}.{item.name}", value)
    _check_languages(settings, where)
    _check_topics(settings, where)
    _check_search(settings, where)
    if settings.politeness.delay_s < 1.0:
        raise ConfigError(
            f"{where}: politeness.delay_s must be at least 1 second; for this machine itself "
            "and for the lab, set politeness.loopback_delay_s"
        )
    if settings.politeness.max_delay_s < settings.politeness.delay_s:
        raise ConfigError(f"{where}: politeness.max_delay_s is less than politeness.delay_s")
    if settings.crawl.concurrency < 1:
        raise ConfigError(f"{where}: crawl.concurrency must be at least 1")
    ranges.check(f"{where}: topic.threshold", settings.topic.threshold, 0, 1, above=True)
    for key in ("precision", "coverage"):
        if getattr(settings.stop, key) > 1:
            raise ConfigError(f"{where}: stop.{key} is a share and must not be more than 1")
    if settings.fetch.lab and settings.fetch.proxy:
        raise ConfigError(f"{where}: fetch.lab and fetch.proxy exclude each other")
    for key in ("connect_s", "read_s", "total_s", "html_mb", "document_mb", "inflate_ratio"):
        if getattr(settings.fetch, key) <= 0:
            raise ConfigError(f"{where}: fetch.{key} must be more than 0")
    cluster = settings.cluster
    if not 0 < cluster.save_s <= cluster.lease_s / 2:
        raise ConfigError(
            f"{where}: cluster.save_s must be more than 0 and at most half of cluster.lease_s"
        )


def _check_languages(settings: Settings, where: str) -> None:
    topic = settings.topic
    for place, code in enumerate(topic.language):
        tongues.check(code, f"{where}: topic.language[{place}]")
    if len(set(topic.language)) < len(topic.language) or len(topic.language) > _LANGUAGES:
        raise ConfigError(
            f"{where}: topic.language names a language twice, or more than {_LANGUAGES}"
        )
    if topic.words:
        tongues.check(topic.words, f"{where}: topic.words")
    if settings.language.threshold > 1:
        raise ConfigError(f"{where}: language.threshold is a share and must not be more than 1")


def _check_search(settings: Settings, where: str) -> None:
    search = settings.search
    if search.mode == "search_only" and not search.engine:
        raise ConfigError(
            f'{where}: search.mode = "search_only" visits what an engine finds: set search.engine'
        )
    for place, query in enumerate(search.queries):
        if not query.strip() or len(query) > _QUERY:
            raise ConfigError(
                f"{where}: search.queries[{place}] must be a query of at most {_QUERY} characters"
            )
        if leads_away(query):
            raise ConfigError(
                f"{where}: search.queries[{place}] has a word that begins with !!, which sends the "
                "question to another engine; leave the !! out"
            )


def _check_topics(settings: Settings, where: str) -> None:
    """Several topics need names, and something to know them by from the start: what nobody knows
    anything of would be worth 0.49, which is more than a bad page for all the others."""
    if not settings.topics:
        return
    if len(settings.topics) >= MOST:
        raise ConfigError(f"{where}: more than {MOST} topics are too many for one crawl")
    topics: tuple[TopicSettings | FurtherTopic, ...] = (settings.topic, *settings.topics)
    seen: set[str] = set()
    for place, topic in enumerate(topics):
        key, name = f"topics[{place - 1}]" if place else "topic", topic.name
        if not name or name != name.strip() or len(name) > _NAME or not name.isprintable():
            raise ConfigError(
                f"{where}: {key}.name must be a name of at most {_NAME} characters, because there "
                f"are several topics, not {name!r}"
            )
        if name.casefold() in seen:
            raise ConfigError(f"{where}: two topics have the name {name!r}")
        seen.add(name.casefold())
        ranges.check(f"{where}: {key}.distance", topic.distance)
        stated = (topic.keywords, topic.description, topic.good, topic.good_files, topic.ontology)
        if not any((*stated, topic.model)):
            raise ConfigError(
                f"{where}: nothing says what the topic {name!r} is: add {key}.keywords, "
                "description, good, ontology or model"
            )

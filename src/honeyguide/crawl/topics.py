"""Several topics in one crawl: which there are, and what was said of a page for each of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from honeyguide.config import FurtherTopic, Settings
from honeyguide.crawl import examples
from honeyguide.crawl.topic_file import toml
from honeyguide.errors import ConfigError
from honeyguide.store.effective_labels import Said, Topics
from honeyguide.store.store import Store
from honeyguide.types import Example, Label, Url

SHOWN = """
# Further topics of the same crawl have a table each, with a name and the keys of [topic], but for
# seeds, language, words and threshold:
#     [[topics]]
#     name="bats"
#     keywords=["bat", "echolocation"]
"""
"""For a new topic.toml."""


def names(settings: Settings) -> tuple[str, ...]:
    """Of all topics in their order; none where there is but one."""
    if not settings.topics:
        return ()
    return (settings.topic.name, *(topic.name for topic in settings.topics))


def each(settings: Settings) -> Iterator[Settings]:
    """The settings as if each topic were the only one; seeds stay with the first."""
    yield replace(settings, topics=()) if settings.topics else settings
    for further in settings.topics:
        said = {item.name: getattr(further, item.name) for item in fields(FurtherTopic)}
        yield replace(settings, topic=replace(settings.topic, seeds=(), **said), topics=())


def chosen(settings: Settings, topic: str) -> str:
    """That topic as labels know it, '' being the first; a ConfigError names those there are."""
    known = names(settings)
    if not topic or (known and topic == known[0]) or (not known and topic == settings.topic.name):
        return ""
    if topic in known:
        return topic
    if not known:
        raise ConfigError(
            f"there is no topic {topic!r}: this collection has one only. Others are [[topics]] "
            "tables in topic.toml"
        )
    near = get_close_matches(topic, known, 1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    raise ConfigError(f"there is no topic {topic!r}; {hint}known: {', '.join(known)}")


@contextmanager
def naming(settings: Settings, several: bool) -> Iterator[None]:
    """Say which topic a mistake is in, where there are several."""
    try:
        yield
    except ConfigError as error:
        if not several:
            raise
        raise ConfigError(f"the topic {settings.topic.name!r}: {error}") from error


def judged(settings: Settings) -> dict[Url, dict[str, float]]:
    """What topic.toml says of pages: address → topic → good (1) or bad (0)."""
    found: dict[Url, dict[str, float]] = {}
    for one in each(settings):
        with naming(one, bool(settings.topics)):
            for url, value in examples.judged(one).items():
                found.setdefault(url, {})[one.topic.name] = value
    return found


def best(settings: Settings) -> dict[Url, float]:
    """The same for whoever does not tell topics apart."""
    return {url: max(said.values()) for url, said in judged(settings).items()}


def said(store: Store, settings: Settings) -> Said:
    """What people say of pages: their labels, and before these what topic.toml says."""
    known, first = names(settings), settings.topic.name
    given = [
        (0, Label(url, value, topic="" if name == first else name))
        for url, values in judged(settings).items()
        for name, value in values.items()
    ]
    several = Topics(known, settings.topic.threshold) if known else None
    return Said((*given, *store.labels()), several)


def counted(store: Store, settings: Settings) -> dict[str, int]:
    """Relevant pages of each topic; a person's word goes first."""
    known = names(settings)
    found = store.by_topic(settings.topic.threshold, known[0])
    people = said(store, settings)
    for url in people.urls():
        for row in store.visit(url):
            for name, more in people.corrections(row).items():
                found[name] = found.get(name, 0) + more
    return {name: max(0, found.get(name, 0)) for name in known}


def likeliest(settings: Settings, store: Store, url: Url) -> str:
    """The topic that a page was judged best for, as labels know it."""
    scores = next((row.scores for row in reversed(store.visit(url)) if row.scores), {})
    known = [name for name in names(settings) if name in scores]
    return chosen(settings, max(known, key=scores.__getitem__)) if known else ""


def opposed(settings: Settings, labels: Iterable[Label]) -> Iterator[bool]:
    """Which of the labels say the opposite of topic.toml."""
    given = judged(settings)
    for label in labels:
        said = given.get(label.url, {}).get(label.topic or settings.topic.name, 0.5)
        yield abs(label.value - said) > 0.5


def compose(further: Sequence[dict[str, Any]], notify: Sequence[dict[str, Any]] = ()) -> str:
    """The end of a new topic.toml: further topics, without any how they would look; and who is told
    of changes."""
    text, told = (
        "".join(
            f"\n[[{name}]]\n" + "".join(f"{key} = {toml(value)}\n" for key, value in table.items())
            for table in tables
        )
        for name, tables in (("topics", further), ("notify", notify))
    )
    try:
        (text + told).encode()
    except UnicodeEncodeError as error:
        raise ConfigError(f"these tables are no valid text: {error}") from error
    return (text or SHOWN) + told


def add(folder: Path, text: str) -> None:
    """Put it at the end of a topic.toml."""
    try:
        with (folder / "topic.toml").open("a", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise ConfigError(f"{folder}/topic.toml cannot be written: {error}") from error


def files(folder: Path, settings: Settings) -> list[Example]:
    """The files that topic.toml gives as examples of any topic."""
    found: list[Example] = []
    for one in each(settings):
        with naming(one, bool(settings.topics)):
            topic = one.topic.name if settings.topics else ""
            found += [replace(e, topic=topic) for e in examples.examples_of(folder, one)]
    return found

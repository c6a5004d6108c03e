"""A new collection: a folder with its topic.toml, checked before anything is written."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from dataclasses import fields
from difflib import get_close_matches
from inspect import signature
from pathlib import Path
from typing import Any

from honeyguide.config import Settings, parse
from honeyguide.crawl import examples, topic_file
from honeyguide.crawl import topics as several
from honeyguide.crawl.collection import Collection
from honeyguide.crawl.from_settings import fence_of, strategy_of
from honeyguide.crawl.strategy_choice import suited
from honeyguide.errors import ConfigError
from honeyguide.fetch.http import user_agent


def create(
    folder: str | Path,
    *,
    seeds: str | Iterable[str] = (),
    contact: str = "",
    keywords: str | Iterable[str] = (),
    description: str = "",
    good: str | Iterable[str] = (),
    bad: str | Iterable[str] = (),
    good_files: str | Iterable[str] = (),
    bad_files: str | Iterable[str] = (),
    ontology: str = "",
    concept: str = "",
    model: str = "",
    categories: str | Iterable[str] = (),
    language: str | Iterable[str] = (),
    words: str = "",
    strategy: str = "",
    pages: int = 1000,
    topics: Iterable[dict[str, Any]] = (),
    notify: Iterable[dict[str, Any]] = (),
    **tables: dict[str, Any],
) -> Collection:
    """A new collection with its topic.toml; further tables (``scope={…}``) as in the file, and
    further topics (``topics=[{"name": …, "keywords": […]}]``) and who is told of changes
    (``notify=[{"to": …}]``).

    ``language``: what pages must be written in, such as "tr"; ``words``: the language of the
    keywords, where it is another. Files given as examples are copied into it.
    """
    folder = Path(folder)
    vacant(folder)
    brought = {
        "good": examples.checked(_several(good_files), "good_files"),
        "bad": examples.checked(_several(bad_files), "bad_files"),
    }
    topic: dict[str, Any] = {
        "name": folder.resolve().name,
        "description": description.strip(),
        "keywords": _several(keywords),
        "seeds": _several(seeds),
        "good": _several(good),
        "bad": _several(bad),
        "good_files": [examples.pattern("good")] if brought["good"] else [],
        "bad_files": [examples.pattern("bad")] if brought["bad"] else [],
        "ontology": ontology.strip(),
        "concept": concept.strip(),
        "model": model.strip(),
        "categories": _several(categories),
        "language": _several(language),
        "words": words.strip(),
    }
    _check_ontology(topic["ontology"], topic["concept"])
    strategy = strategy or suited(topic)
    chosen: dict[str, dict[str, Any]] = {
        "topic": {key: value for key, value in topic.items() if value},
        "crawl": {"strategy": strategy, "pages": pages},
        "fetch": {"contact": contact.strip()},
    }
    for name, table in tables.items():
        _check_table(name, table)
        chosen.setdefault(name, {}).update(table)
    further, channels = list(topics), list(notify)
    lists = {"topics": further, "notify": channels}
    settings = parse(chosen | {name: found for name, found in lists.items() if found})
    user_agent(settings.fetch.contact, "0")
    fence_of(settings)
    strategy_of(settings)
    several.judged(settings)
    end = several.compose(further, channels)
    topic_file.write(folder, chosen)
    several.add(folder, end)
    for kind, files in brought.items():
        examples.bring(folder, files, kind)
    return Collection(folder)


def vacant(folder: Path) -> None:
    """A ConfigError if a collection is there already."""
    if (folder / "topic.toml").exists():
        raise ConfigError(
            f'{folder} is a collection already: open it with honeyguide.Collection("{folder}"), '
            f"or crawl it with: honeyguide crawl {shlex.quote(str(folder))}"
        )


def _check_ontology(ontology: str, concept: str) -> None:
    """An ontology says nothing of a topic that is nowhere in it, nor does a concept of none."""
    if ontology and not concept:
        raise ConfigError(
            f"which concept of the ontology {ontology} is the topic? Add --concept NAME "
            "(topic.concept), such as --ontology cell --concept tissue"
        )
    if concept and not ontology:
        raise ConfigError(
            f"in which ontology is the concept {concept!r}? Add --ontology FILE "
            "(topic.ontology), or cell or mammal, which are ours: --ontology cell --concept tissue"
        )


def _check_table(name: str, table: object) -> None:
    """What is no argument of :func:`create` must be a table of the settings file."""
    known_tables = [item.name for item in fields(Settings)]
    if name not in known_tables:
        arguments = [a for a in signature(create).parameters if a not in ("folder", "tables")]
        near = get_close_matches(name, [*arguments, *known_tables], 1)
        hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(arguments)}"
        raise ConfigError(f"create() takes no {name!r}; {hint}")
    if not isinstance(table, dict):
        raise ConfigError(f"{name} must be a table of settings, such as {name}={{…}}: {table!r}")


def _several(texts: Any) -> Any:
    """One text or many as a list without blank ones; anything else is told later, by its key."""
    if not isinstance(texts, Iterable):
        return texts
    many = [texts] if isinstance(texts, str) else texts
    stripped = [text.strip() if isinstance(text, str) else text for text in many]
    return [text for text in stripped if text != ""]

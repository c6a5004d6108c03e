"""Creating a collection: topic.toml from keywords, seeds and options."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from heapq import nsmallest
from inspect import signature
from pathlib import Path
from typing import Any

from honeyguide.api.collection import Collection
from honeyguide.config import topic_file
from honeyguide.config.loading import parse_settings, with_current_keys
from honeyguide.config.settings import Settings, TopicSettings
from honeyguide.crawl.from_settings import build_scope_filter, build_strategy, suited_strategy
from honeyguide.errors import ConfigError, suggest_name
from honeyguide.fetch.http import make_user_agent
from honeyguide.fetch.ip_policy import is_loopback_host
from honeyguide.languages.gate import undetectable_note
from honeyguide.learning import topics as examples
from honeyguide.text.language import fold_text, stop_words
from honeyguide.text.ontology.load import OWN_ONTOLOGIES, load_ontology
from honeyguide.text.ontology.ontology import Ontology
from honeyguide.url import authority_of, canonical_url, host_of

__all__ = ["OWN_ONTOLOGIES", "ConceptMatch", "Ontology", "load_ontology", "matching_concepts"]


@dataclass(frozen=True, slots=True)
class ConceptMatch:
    """A concept whose name, or another name, is like what was typed."""

    name: str
    id: str
    synonyms: tuple[str, ...]


def matching_concepts(ontology: Ontology, text: str, most: int = 20) -> list[ConceptMatch]:
    """Concepts to choose from: what begins with the text first, then what has it in the middle,
    then those with such a synonym; the shorter first."""
    wanted = fold_text(" ".join(text.split()))
    ranked: list[tuple[int, int, str, int]] = []
    for number, name in enumerate(ontology.names):
        if not name:
            continue
        folded = fold_text(name)
        if wanted in folded:
            # 0: it is the name; 1: the name begins with it; 2: one of its words does; 3: else.
            place = 0 if folded == wanted else 1 if folded.startswith(wanted) else 3
            place = 2 if place == 3 and f" {wanted}" in folded else place
        elif any(wanted in fold_text(other) for other in ontology.synonyms.get(number, ())):
            place = 4
        else:
            continue
        ranked.append((place, len(name), name, number))
    return [
        ConceptMatch(name, ontology.ids[number], ontology.synonyms.get(number, ())[:5])
        for _, _, name, number in nsmallest(most, ranked)
    ]


# --------------------------------------------------------------------------------------------------
# What is worth saying about settings that are in order, and where a lab may be.
# --------------------------------------------------------------------------------------------------


def language_hints(topic: TopicSettings) -> Iterator[str]:
    """What holds where we know little of a language."""
    code = topic.keyword_language
    if not stop_words(code):
        yield (
            f"Honeyguide has no list of stop words for the language {code!r}, and perhaps "
            "no stemmer; words count as they are written. Codes are such as en, de, tr."
        )
    for wanted in topic.language:
        if note := undetectable_note(wanted):
            yield note


def lab_address(lab: str) -> str:
    """A lab's address, made whole."""
    url = canonical_url(lab.strip() if "://" in lab else f"http://{lab.strip()}")
    if url is None or not is_loopback_host(host_of(url)) or authority_of(url) == host_of(url):
        raise ConfigError(
            f"fetch.lab: {lab!r} is not the address of a lab on this machine, such as "
            "http://127.0.0.1:8787; start one with: honeyguide lab serve"
        )
    return f"http://{authority_of(url)}"


# --------------------------------------------------------------------------------------------------
# A new collection: a folder with its topic.toml, checked before anything is written.
# --------------------------------------------------------------------------------------------------


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
    keyword_language: str = "",
    strategy: str = "",
    pages: int = 1000,
    topics: Iterable[dict[str, Any]] = (),
    notify: Iterable[dict[str, Any]] = (),
    **tables: dict[str, Any],
) -> Collection:
    """A new collection with its topic.toml; further tables (``scope={…}``) as in the file, and
    further topics (``topics=[{"name": …, "keywords": […]}]``) and who is told of changes
    (``notify=[{"to": …}]``).

    ``language``: what pages must be written in, such as "tr"; ``keyword_language``: the
    language of the keywords, where it is another. Files given as examples are copied into it.
    """
    folder = Path(folder)
    ensure_vacant(folder)
    brought = {
        "good": examples.check_example_files(_as_list(good_files), "good_files"),
        "bad": examples.check_example_files(_as_list(bad_files), "bad_files"),
    }
    topic: dict[str, Any] = {
        "name": folder.resolve().name,
        "description": description.strip(),
        "keywords": _as_list(keywords),
        "seeds": _as_list(seeds),
        "good": _as_list(good),
        "bad": _as_list(bad),
        "good_files": [examples.example_pattern("good")] if brought["good"] else [],
        "bad_files": [examples.example_pattern("bad")] if brought["bad"] else [],
        "ontology": ontology.strip(),
        "concept": concept.strip(),
        "model": model.strip(),
        "categories": _as_list(categories),
        "language": _as_list(language),
        "keyword_language": keyword_language.strip() or str(tables.pop("words", "")),
    }
    _check_ontology(topic["ontology"], topic["concept"])
    strategy = strategy or suited_strategy(topic)
    chosen: dict[str, dict[str, Any]] = {
        "topic": {key: value for key, value in topic.items() if value},
        "crawl": {"strategy": strategy, "pages": pages},
        "fetch": {"contact": contact.strip()},
    }
    for name, table in tables.items():
        _check_table(name, table)
        chosen.setdefault(name, {}).update(table)
    chosen = with_current_keys(chosen, "settings")
    further, channels = list(topics), list(notify)
    lists = {"topics": further, "notify": channels}
    settings = parse_settings(chosen | {name: found for name, found in lists.items() if found})
    make_user_agent(settings.fetch.contact, "0")
    build_scope_filter(settings)
    build_strategy(settings)
    examples.example_labels_by_topic(settings)
    topic_file.write_topic_file(folder, chosen, further, channels)
    for kind, files in brought.items():
        examples.copy_example_files(folder, files, kind)
    return Collection(folder)


def ensure_vacant(folder: Path) -> None:
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
            f"in which ontology is the concept {concept!r}? Add --ontology FILE (topic.ontology), "
            "or a built-in one, cell or mammal: --ontology cell --concept tissue"
        )


def _check_table(name: str, table: object) -> None:
    """What is no argument of :func:`create` must be a table of the settings file."""
    known_tables = [item.name for item in fields(Settings)]
    if name not in known_tables:
        arguments = [a for a in signature(create).parameters if a not in ("folder", "tables")]
        hint = suggest_name(name, [*arguments, *known_tables], "{}")
        raise ConfigError(f"create() takes no {name!r}; {hint}")
    if not isinstance(table, dict):
        raise ConfigError(f"{name} must be a table of settings, such as {name}={{…}}: {table!r}")


def _as_list(texts: Any) -> Any:
    """One text or many as a list without blank ones; anything else is told later, by its key."""
    if not isinstance(texts, Iterable):
        return texts
    many = [texts] if isinstance(texts, str) else texts
    stripped = [text.strip() if isinstance(text, str) else text for text in many]
    return [text for text in stripped if text != ""]

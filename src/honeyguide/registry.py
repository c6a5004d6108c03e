"""Names of strategies: built-in ones, and those of other packages.

Other packages add strategies with the entry-point group ``honeyguide.strategies``.
"""

from __future__ import annotations

from dataclasses import is_dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from honeyguide.errors import ConfigError, ModelError, suggest_name

if TYPE_CHECKING:
    from importlib.metadata import EntryPoints

BUILTIN_STRATEGIES = {
    "breadth": "honeyguide.strategies.breadth:Breadth",
    "backlinks": "honeyguide.strategies.backlinks:Backlinks",
    "keyword": "honeyguide.strategies.keyword:Keyword",
    "link_sorter": "honeyguide.strategies.link_sorter:LinkSorter",
    "ontology_ann": "honeyguide.strategies.ontology_ann:OntologyAnn",
    "ontology_weights": "honeyguide.strategies.ontology_weights:OntologyWeights",
    "hybrid_svm": "honeyguide.strategies.hybrid_svm:HybridSvm",
    "adaptive_links": "honeyguide.strategies.adaptive_links:AdaptiveLinks",
    "user_utility": "honeyguide.strategies.user_utility:UserUtility",
    "honeyguide": "honeyguide.strategies.honeyguide:Honeyguide",
    "topic_cnn": "honeyguide.strategies.topic_cnn:TopicCnn",
}


PAIR_MARK = "+"
"""Joins the names of two strategies: one judges pages, one ranks links."""


def strategy_names() -> list[str]:
    return sorted({*BUILTIN_STRATEGIES, *(entry.name for entry in _entry_points())})


def find_strategy(name: str) -> type[Any]:
    """The class of that strategy, imported now."""
    target = BUILTIN_STRATEGIES.get(name)
    if PAIR_MARK in name:
        for half in halves_of(name):
            find_strategy(half)  # says which of them there is not
        target = f"honeyguide.strategies.combined:{name}"
    if target is None:
        for entry in _entry_points():
            if entry.name == name:
                target = entry.value
                break
        else:
            hint = suggest_name(name, strategy_names())
            raise ConfigError(f"crawl.strategy: there is no strategy {name!r}; {hint}")
    module, _, attribute = target.partition(":")
    try:
        found = getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise ModelError(f"the strategy {name!r} cannot be loaded: {error}") from error
    if not (isinstance(found, type) and is_dataclass(found)):
        raise ModelError(f"the strategy {name!r} is not a dataclass: {target}")
    return found


def halves_of(name: str) -> tuple[str, str]:
    """The two names in ``CRITIC+LINKS``."""
    match name.split(PAIR_MARK):
        case [str(critic), str(links)] if critic and links:
            return critic, links
    raise ConfigError(
        f"crawl.strategy: {name!r} should be CRITIC+LINKS, the strategy that judges pages and the "
        "one that ranks links, such as hybrid_svm+honeyguide"
    )


def parts_of(name: str) -> tuple[str, ...]:
    """The names of both halves of a pair, or the one name."""
    return halves_of(name) if PAIR_MARK in name else (name,)


def _entry_points() -> EntryPoints:
    from importlib.metadata import entry_points  # takes as long to load as a dozen pages

    return entry_points(group="honeyguide.strategies")

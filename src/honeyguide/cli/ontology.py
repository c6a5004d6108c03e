"""``honeyguide ontology``"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from honeyguide.cli.formatting import print_json
from honeyguide.cli.options import CliCommand, CliGroup, JsonOption, argument, option
from honeyguide.errors import ConfigError

if TYPE_CHECKING:
    from honeyguide.config.settings import TopicSettings
    from honeyguide.text.ontology.ontology import ReachedConcept

app = typer.Typer(
    cls=CliGroup,
    no_args_is_help=True,
    help="Look at a topic's ontology.\n\nExample: `honeyguide ontology show mammal`",
)


@app.callback()
def ontology_group() -> None:
    """Look at a topic's ontology."""


@app.command("show", cls=CliCommand)
def show_ontology(
    topic: str = argument("TOPIC", "A collection's folder; with --ontology, a concept's name."),
    source: str = option("--ontology -o FILE", "File or folder, or cell, mammal.", ""),
    distance: int | None = option("--distance -d N", "Edges away from the topic.", None, min=0),
    relation: list[str] | None = option("--relation -r KIND", "Only is-a, inst or prop.", None),
    language: str = option("--language CODE", "Language of the names, such as tr.", ""),
    as_json: JsonOption = False,
) -> None:
    """Draw the concepts near a topic as a tree, each below the one that leads to it.

    Examples:

    `honeyguide ontology show mycells`

    `honeyguide ontology show cell --ontology cell --distance 2`

    `honeyguide ontology show "stem cell" --ontology cl.obo --relation is-a`
    """
    from honeyguide.text.ontology.load import concepts_near_topic

    asked = _topic_settings(topic, source, distance, relation, language)
    found = concepts_near_topic(asked)
    if as_json:
        print_json(_concept_facts(found, asked))
    else:
        _draw_tree(found, asked)


def _topic_settings(
    topic: str, source: str, distance: int | None, relation: list[str] | None, language: str
) -> TopicSettings:
    """What the collection says, or the options alone; options go before."""
    from dataclasses import replace

    from honeyguide.config.loading import load_settings
    from honeyguide.config.settings import TopicSettings
    from honeyguide.text.ontology.load import OWN_ONTOLOGIES

    file = Path(topic) / "topic.toml"
    if source:
        known = TopicSettings(ontology=source, concept=topic)
    elif file.exists():
        known = load_settings(file).topic
        if not known.ontology:
            raise ConfigError(f"{file} names no ontology: set topic.ontology and topic.concept")
    elif topic in OWN_ONTOLOGIES:
        known = TopicSettings(ontology=topic, concept=topic)
    else:
        raise ConfigError(
            f"{topic} is not a collection; name an ontology with --ontology FILE to look for the "
            f"concept {topic!r} in it"
        )
    return replace(
        known,
        distance=known.distance if distance is None else distance,
        relations=tuple(relation or known.relations),
        keyword_language=language or known.keyword_language,
    )


def _concept_facts(found: tuple[ReachedConcept, ...], topic: TopicSettings) -> dict[str, object]:
    from honeyguide.text.ontology.lexicon import concept_lexicon

    names = {f.number: f.concept.name for f in found}
    words = concept_lexicon(tuple(f.concept for f in found), topic.word_language)
    return {
        "concepts": [
            {
                "name": f.concept.name,
                "distance": f.distance,
                "via": names.get(f.via),
                "synonyms": list(f.concept.synonyms),
            }
            for f in found
        ],
        "stems": dict(zip(words.names, words.distances, strict=True)),
    }


def _draw_tree(found: tuple[ReachedConcept, ...], topic: TopicSettings) -> None:
    from rich.text import Text
    from rich.tree import Tree

    from honeyguide.cli.formatting import count_noun, make_console, safe_text, say
    from honeyguide.text.ontology.lexicon import concept_lexicon
    from honeyguide.text.ontology.ontology import MAX_CONCEPTS

    trees: dict[int, Tree] = {}
    roots: list[Tree] = []
    for f in found:
        label = Text(safe_text(f.concept.name))
        if f.concept.synonyms:
            label.append(f"  {safe_text(', '.join(f.concept.synonyms[:3]))}", style="dim")
        above = trees.get(f.via)
        if above is None:
            # The topic itself, or a concept that only one without a name leads to.
            trees[f.number] = Tree(label)
            roots.append(trees[f.number])
        else:
            trees[f.number] = above.add(label)
    out = make_console()
    for tree in roots:
        out.print(tree)
    words = concept_lexicon(tuple(f.concept for f in found), topic.word_language)
    more = f"; {MAX_CONCEPTS} is the most that is taken" if len(found) == MAX_CONCEPTS else ""
    say(
        f"{count_noun(len(found), 'concept')} within {count_noun(topic.distance, 'edge')}, "
        f"{count_noun(len(words), 'word')} to look for{more}"
    )

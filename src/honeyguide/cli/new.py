"""``honeyguide new``"""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from honeyguide.cli.formatting import count_noun, print_json, safe_text, say, shell_quote
from honeyguide.cli.options import (
    CollectionName,
    JsonOption,
    keep_option,
    option,
    strategy_choices,
)
from honeyguide.errors import ConfigError

if TYPE_CHECKING:
    from honeyguide.api.advice import Advice
    from honeyguide.api.collection import Collection

NO_WORDS = (
    "No keywords: every page will count as relevant and links are followed in order. "
    "Add --keyword, --description, or examples with --good and --bad."
)
ONLY_BAD = (
    "Bad examples alone do not say what you want: every page will count as relevant and links are "
    "followed in order. Add good ones with --good, or --keyword, or --description."
)


def new(
    name: CollectionName,
    seed: list[str] | None = option("--seed -s URL", "Where to start; repeat it.", None),
    seeds: Path | None = option("--seeds FILE", "A file with one address per line.", None),
    keyword: list[str] | None = option(
        "--keyword -k WORDS", "A word or phrase of the topic; repeat it.", None
    ),
    description: str = option("--description -d TEXT", "The topic in a sentence.", ""),
    good: list[str] | None = option("--good -g URL", "A page that is what you want.", None),
    bad: list[str] | None = option("--bad -b URL", "A page that is not.", None),
    good_file: list[str] | None = option(
        "--good-file FILE", "The same as a file, HTML or text.", None
    ),
    bad_file: list[str] | None = option("--bad-file FILE", "A file that is not.", None),
    ontology: str = option("--ontology FILE", "An ontology; or cell, mammal.", ""),
    concept: str = option("--concept NAME", "The topic's concept in it.", ""),
    model: str = option("--model FOLDER", "A model from `honeyguide train`.", ""),
    category: list[str] | None = option(
        "--category NAME", "The topic's category in it; repeat it.", None
    ),
    contact: str = option("--contact -c WHO", "Your e-mail or web page; sites see it.", ""),
    language: list[str] | None = option(
        "--language CODE", "Only pages in this language, such as tr; repeat it.", None
    ),
    keyword_language: str = option(
        "--keyword-language CODE",
        "Language of the keywords; otherwise the first --language, or en.",
        "",
    ),
    words_: str = option("--words", "", "", hidden=True),
    strategy: str = option(
        "--strategy NAME", "How to decide: {strategies}.", "", autocompletion=strategy_choices
    ),
    pages: int = option("--pages -n N", "Stop after so many visits.", 1000),
    keep: str = keep_option("balanced if not given"),
    search_engine: str = option(
        "--search-engine NAME", "Also query searxng, brave or json; see the docs.", ""
    ),
    search_url: str = option("--search-url URL", "The address of its API.", ""),
    query: list[str] | None = option("--query -q WORDS", "A first query for it; repeat it.", None),
    lab: str = option("--lab URL", "Crawl a running `honeyguide lab serve`.", ""),
    check: bool = option("--check", "Fetch up to three seeds: do your words stand there?", False),
    as_json: JsonOption = False,
) -> None:
    """Make a collection. Asks for what is missing.

    Examples:

    `honeyguide new birds`

    `honeyguide new birds -s https://en.wikipedia.org/wiki/Bird -k "bird migration" -k plumage
    -c you@example.org`

    `honeyguide new birds -s https://en.wikipedia.org/wiki/Bird -k plumage -c you@example.org
    --check`

    `honeyguide new lupus -k lupus -k "patient story" --search-engine searxng
    --search-url http://localhost:8080/search -q "living with lupus" -c you@example.org`
    """
    from honeyguide.api.create import create, ensure_vacant, lab_address, language_hints
    from honeyguide.api.user_urls import parse_seed_url

    folder = name.parent if name.name == "topic.toml" else name
    ensure_vacant(folder)
    texts = [*(seed or []), *(_read_seed_file(seeds) if seeds else [])]
    starts = [str(parse_seed_url(text, lab=bool(lab))) for text in texts]
    words = [word.strip() for word in keyword or [] if word.strip()]
    examples = [str(parse_seed_url(text, lab=bool(lab))) for text in good or []]
    search = _search_table(search_engine, search_url, query or [])
    asking = sys.stdin.isatty() and not as_json
    if asking:
        from honeyguide.cli.terminal import ask_contact, ask_keywords, ask_seeds

        stated = (words, description.strip(), strategy, examples, good_file, ontology, model)
        if not any(stated):
            words = ask_keywords()
        if not starts and not examples and not search:
            starts = ask_seeds(lab=bool(lab))
        contact = contact or ask_contact()
    if not contact:
        raise ConfigError(
            "a contact is missing: sites must be able to reach whoever crawls them. "
            "Add --contact you@example.org"
        )
    tables: dict[str, Any] = {}
    if lab:
        tables = {"fetch": {"lab": lab_address(lab)}, "politeness": {"loopback_delay_s": 0.0}}
    if keep:
        tables["topic"] = {"keep": keep}
    if search:
        # The lab's engine is nobody's who would be troubled by haste.
        tables["search"] = search | ({"per_minute": 0.0} if lab else {})
    collection = create(
        folder,
        seeds=starts,
        contact=contact,
        keywords=words,
        description=description,
        good=examples,
        bad=[str(parse_seed_url(text, lab=bool(lab))) for text in bad or []],
        good_files=good_file or [],
        bad_files=bad_file or [],
        ontology=_absolute_path(ontology),
        concept=concept,
        model=_absolute_path(model),
        categories=category or [],
        language=language or [],
        keyword_language=keyword_language or words_,
        strategy=strategy,
        pages=pages,
        **tables,
    )
    if collection.settings.crawl.strategy == "breadth" and not strategy:
        say(ONLY_BAD if bad or bad_file else NO_WORDS)
    for remark in (*language_hints(collection.settings.topic), *_engine_consent(collection)):
        say(f"Note: {remark}")
    if asking and not check and (words or description):
        from honeyguide.cli.terminal import prompt_line

        asked = "Fetch the seeds, to see whether your words stand there? Enter: yes, n: no"
        check = not prompt_line(asked).lower().startswith("n")
    advice = _check_seeds(collection, asking=asking) if check else []
    if as_json:
        print_json(
            {"collection": str(collection.folder)}
            | ({"advice": [asdict(one) for one in advice]} if check else {})
        )
        return
    if asking:
        _show_collection(collection)
    typer.echo(f"Made {collection.folder}/topic.toml.")
    if search:
        say(f"Check that the engine answers: honeyguide queries test {shell_quote(folder)}")
    say(f"Next: honeyguide crawl {shell_quote(folder)}")


def _check_seeds(collection: Collection, *, asking: bool) -> list[Advice]:
    """Say what the seeds say of the topic's words; on a terminal, write what is accepted."""
    from honeyguide.api.seed_advice import advise_on_seeds, fetch_seeds
    from honeyguide.api.topic_edit import change_topic_file

    topic = collection.settings.topic
    pages = fetch_seeds(collection.settings, lambda text: say(f"Note: {text}"))
    found = advise_on_seeds(collection.settings, pages)
    if not pages:
        say("Checked: no seed returned a page; name others before you crawl (topic.seeds).")
    elif not found:
        worded = topic.keywords or topic.description
        said = "words of yours stand there" if worded else "fetched, as a crawl would"
        say(f"Checked {count_noun(len(pages), 'seed')}: {said}.")
    for one in found:
        say(f"Advice: {safe_text(str(one))}")
        if asking and one.changes:
            from honeyguide.cli.terminal import prompt_line

            if prompt_line("y: yes, Enter: no").lower().startswith("y"):
                collection.settings = change_topic_file(collection.folder, one.changes)
    return found


def _search_table(engine: str, url: str, queries: list[str]) -> dict[str, Any]:
    """The table for the engine; an address without a name is that of a SearXNG."""
    asked = [text.strip() for text in queries if text.strip()]
    if not engine and asked and not url:
        raise ConfigError(
            "--query needs a search engine: add --search-engine searxng --search-url URL"
        )
    chosen = {"engine": engine or ("searxng" if url else ""), "url": url, "queries": asked}
    if chosen["engine"]:
        from honeyguide.search.engines import check_engine

        check_engine(str(chosen["engine"]), url)
    return {key: value for key, value in chosen.items() if value}


def _engine_consent(collection: Collection) -> list[str]:
    """Who types an engine's address here wants it asked; what hinders that."""
    from honeyguide.api.search import allow_engine

    try:
        allow_engine(collection.settings, collection.folder)
    except ConfigError as error:
        return [str(error)]
    return []


def _absolute_path(named: str) -> str:
    """A file is meant from where we are, not from where the collection will be."""
    path = Path(named)
    return str(path.resolve()) if named and path.exists() else named


def _show_collection(collection: Collection) -> None:
    """What was made, in a few lines."""
    from honeyguide.language_codes import language_names

    topic, limits = collection.settings.topic, collection.settings.crawl
    say("")
    if topic.keywords:
        say(f"  keywords  {', '.join(topic.keywords)}")
    if topic.description:
        say(f"  topic     {topic.description}")
    if topic.language:
        say(f"  written   in {language_names(topic.language)}")
    for place, text in enumerate((*topic.seeds, *topic.good)):
        say(f"  {'start at' if not place else '':8}  {text}")
    say(f"  contact   {collection.settings.fetch.contact}")
    budget = count_noun(limits.pages, "visit") if limits.pages else "no limit"
    say(f"  strategy  {limits.strategy}, {budget}")


def _read_seed_file(path: Path) -> list[str]:
    try:
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"the list of seeds cannot be read: {error}") from error
    lines = (line.strip() for line in text.splitlines())
    return [line for line in lines if line and not line.startswith("#")]

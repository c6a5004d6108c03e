"""``honeyguide teach``: a language model judges pages."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import typer

from honeyguide.cli.formatting import (
    count_noun,
    print_json,
    progress_bar,
    safe_text,
    say,
    say_safely,
    shell_quote,
)
from honeyguide.cli.options import CollectionName, JsonOption, open_collection, option
from honeyguide.errors import ConfigError

if TYPE_CHECKING:
    from honeyguide.api.collection import Collection

_PROPOSAL_TITLES = ("Keywords", "Queries", "Look alike and do not belong")


def teach(
    name: CollectionName,
    number: int = option("--count -n N", "How many pages to judge.", 20, min=1, max=1000),
    propose: bool = option("--propose", "Propose keywords and queries instead.", False),
    accept: bool = option("--accept", "Write what it proposes into topic.toml.", False),
    take_back: bool = option("--take-back", "Take back every label that a model gave.", False),
    allow: bool = option("--allow", "Agree to ask the model in topic.toml, and end.", False),
    as_json: JsonOption = False,
) -> None:
    """Have a language model judge the pages whose labels would help most; also while crawling.

    Any server that speaks OpenAI's protocol will do: Ollama, llama.cpp, vLLM, or a service. Set
    `url` and `model` under `[teacher]` in topic.toml; prices and limits stand there, too. Its
    labels weigh less than yours, and yours overrule them. A crawl asks by itself, every 25 pages.

    Examples:

    `honeyguide teach birds --allow`

    `honeyguide teach birds --count 50`

    `honeyguide teach birds --propose --accept`

    `honeyguide teach birds --take-back`
    """
    from honeyguide.api import teach as teaching

    collection = open_collection(name)
    folder, settings = collection.folder, collection.settings
    if allow:
        wanted = teaching.allow_teacher(folder, settings)
        if as_json:
            print_json({"allowed": True, **wanted._asdict()})
        else:
            say(f"{wanted.server_name} may be asked about pages of {safe_text(collection.name)}.")
        return
    if take_back:
        gone = teaching.take_back_model_labels(folder, settings)
        if as_json:
            print_json({"taken_back": gone})
        else:
            typer.echo(f"{count_noun(gone, 'label')} by models taken back.")
            if gone:
                say(f"To learn without them: honeyguide learn {shell_quote(name)}")
        return
    if propose or accept:
        _propose(collection, accept, as_json)
        return
    with progress_bar("asking the model", quiet=as_json or not sys.stderr.isatty()) as show:
        report = teaching.teach_with_model(folder, settings, number, show)
    learned = collection.learn_waiting(say_safely) if report.asked else None
    overview = teaching.teacher_overview(folder, settings)
    if as_json:
        facts = {"learned": learned is not None, "overview": overview and overview.to_dict()}
        print_json(report._asdict() | facts)
    else:
        typer.echo(safe_text(str(report)))
        if overview is not None and overview.compared:
            say(f"It agrees with people on {overview.agreed} of {overview.compared} pages.")
    if report.trouble and not report.asked:
        raise ConfigError(f"no page was judged: {report.trouble}")


def _propose(collection: Collection, accept: bool, as_json: bool) -> None:
    """Print what the model proposes, and write it into topic.toml if it is accepted."""
    from honeyguide.api.teach import accept_proposals, propose_topic

    report, found = propose_topic(collection.folder, collection.settings)
    if accept and len(found) > 1:
        raise ConfigError("of several topics, choose by hand: write the words into topic.toml")
    if accept:
        accept_proposals(collection.folder, collection.settings, found[0][1])
    if as_json:
        topics = {name: proposals._asdict() for name, proposals in found}
        print_json({"topics": topics, "accepted": accept, "cost": report.cost})
        return
    for name, proposals in found:
        if len(found) > 1:
            typer.echo(safe_text(name))
        for title, words in zip(_PROPOSAL_TITLES, proposals, strict=True):
            typer.echo(f"{title}: {safe_text(', '.join(words)) or 'none'}")
    if accept:
        say("topic.toml has the words now; they count from the next crawl on.")
    else:
        say(f"To use them: honeyguide teach {shell_quote(collection.folder)} --propose --accept")

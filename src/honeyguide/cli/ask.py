"""``honeyguide ask``"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from honeyguide.cli.formatting import console, count, plain, quoted, say
from honeyguide.cli.label import contradicted
from honeyguide.cli.options import Json, Name
from honeyguide.errors import ConfigError

if TYPE_CHECKING:
    from honeyguide.crawl.collection import Collection
    from honeyguide.crawl.label_queries import Asking, Question

_KINDS = ("mixed", "uncertainty", "disagreement", "novelty", "agreement")
_REASONS = 4
_TITLE = 200
_ANSWERS = {"y": 1.0, "yes": 1.0, "n": 0.0, "no": 0.0, "s": None, "skip": None, "": None}


def ask(
    name: Name,
    number: Annotated[
        int, typer.Option("--count", "-n", metavar="N", min=1, max=100, help="How many pages.")
    ] = 5,
    by: Annotated[str, typer.Option("--by", metavar="WHO", help="Who answers.")] = "user",
    about: Annotated[
        str,
        typer.Option(
            "--about",
            metavar="KIND",
            help="mixed, uncertainty, disagreement (of page and link), novelty (of the host), or "
            "agreement (pages that others labelled).",
        ),
    ] = "mixed",
    as_json: Json = False,
) -> None:
    """Ask you about the pages whose labels would help most; also while it crawls.

    Each answer is kept at once, as a label; Ctrl-C ends it. What you skip is not asked again. Where
    nobody can answer, the pages are listed. `learn.budget` says how many labels you are willing to
    give.

    Examples:

    `honeyguide ask birds`

    `honeyguide ask birds --count 20 --by ada`
    """
    from honeyguide.crawl.collection import Collection

    collection = Collection(name)
    if about not in _KINDS:
        raise ConfigError(f"--about {about!r} is none of {', '.join(_KINDS)}")
    left, questions = collection.ask(number, by=by, choice=cast("Asking", about))
    if as_json:
        typer.echo(json.dumps({"left": left, "questions": [_facts(q) for q in questions]}))
        return
    if left is not None:
        budget = collection.settings.learn.budget
        if left:
            say(f"{left} of {count(budget, 'label')} left in the budget (learn.budget).")
        else:
            say(f"The budget of {count(budget, 'label')} (learn.budget) is used up.")
    if not questions:
        if left != 0:
            say("There is no page to ask about: all that were fetched are labelled or skipped.")
        return
    if sys.stdin.isatty():
        _interview(collection, questions, by)
        return
    for question in questions:
        _show(question)
    named = f" --topic {quoted(collection.topics[0])}" if collection.topics else ""
    say(f"Answer with: honeyguide label {quoted(name)}{named} --good URL --bad URL")


def _interview(collection: Collection, questions: list[Question], by: str) -> None:
    """Ask about each; whatever ends it, what was answered is kept."""
    from honeyguide.crawl import annotators as people
    from honeyguide.crawl.label_queries import topic_of
    from honeyguide.crawl.labels import label_openly

    kept = 0
    try:
        for place, question in enumerate(questions, 1):
            _show(question)
            topic = topic_of(collection.settings, question.row)
            wanted = f"what you want for {plain(topic)}" if topic else "what you want"
            answer = _answer(f"{place} of {len(questions)}: is it {wanted}? [y/n/skip/quit]")
            if answer == "quit":
                break
            if answer is None:
                people.pass_over(
                    collection.folder, collection.settings, question.row.url, by, "skip", topic
                )
            elif isinstance(answer, float):
                said = [(question.row.url, answer)]
                folder, settings = collection.folder, collection.settings
                _, opposed = label_openly(folder, settings, said, by, topic)
                kept += 1
                contradicted(opposed)
    except (typer.Abort, KeyboardInterrupt):
        say("")  # Ctrl-C, or the terminal is gone: end the line of the question
    typer.echo(f"{count(kept, 'label')} kept.")
    if kept and not collection.learns:
        strategy = collection.settings.crawl.strategy
        say(f"The strategy {strategy!r} does not learn; labels appear in status and exports.")


def _answer(text: str) -> float | str | None:
    while True:
        said = typer.prompt(text, default="", show_default=False, err=True).strip().lower()
        if said in ("q", "quit"):
            return "quit"
        if said in _ANSWERS:
            return _ANSWERS[said]
        say("  y: it is; n: it is not; s or Enter: skip it; q: no more questions.")


def _show(question: Question) -> None:
    out, row = console(), question.row
    out.print()
    out.print(f"“{plain(row.title)[:_TITLE]}”" if row.title else "(no title)", style="bold")
    out.print(plain(row.url))
    word = "relevant" if question.relevant else "not relevant"
    reasons = ", ".join(f"{plain(r.what)} {r.weight:+.2f}" for r in question.reasons[:_REASONS])
    out.print(f"now judged {word}: {question.verdict:.2f}" + (f" ({reasons})" if reasons else ""))
    if question.snippet:
        out.print(f"  {plain(question.snippet)}", style="dim")
    out.print(f"asked because {question.because}", style="cyan")


def _facts(question: Question) -> dict[str, Any]:
    return {
        "url": question.row.url,
        "title": question.row.title,
        "verdict": question.verdict,
        "relevant": question.relevant,
        "reasons": [reason._asdict() for reason in question.reasons],
        "why": question.why,
        "because": question.because,
    }

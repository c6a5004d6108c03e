"""``honeyguide label`` and ``honeyguide ask``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import typer

from honeyguide.cli.formatting import (
    count_noun,
    make_console,
    print_json,
    safe_text,
    say,
    shell_quote,
)
from honeyguide.cli.options import CollectionName, JsonOption, argument, open_collection, option
from honeyguide.errors import ConfigError

if TYPE_CHECKING:
    from honeyguide.api.collection import Collection
    from honeyguide.api.labels import LabelConflict
    from honeyguide.learning.label_queries import LabelQueryKind, LabelQuestion


_MAX_NAMED = 5
"""Contradictions that are told one by one."""


def label(
    name: CollectionName,
    file: Path | None = argument(
        "FILE", "CSV (url,label; also ; or tabs) or JSON lines; - for stdin.", None
    ),
    good: list[str] | None = option("--good -g URL", "A relevant page.", None),
    bad: list[str] | None = option("--bad -b URL", "One that is not.", None),
    by: str = option("--by WHO", "Name of the labeller.", "user"),
    topic: str = option("--topic NAME", "The topic, if there are several.", ""),
    as_json: JsonOption = False,
) -> None:
    """Label pages as relevant or not; also while a crawl is running.

    A label is yes or no (also 1/0, good/bad, relevant/irrelevant) or a number from 0 to 1. Your
    label overrules the verdict in exports; a strategy that learns, learns from it.

    Examples:

    `honeyguide label birds labels.csv`

    `honeyguide label birds --good https://example.org/finches --bad https://example.org/shop`

    `honeyguide label birds --topic bats --good https://example.org/pipistrelle`
    """
    from honeyguide.api.labels import label_with_conflicts
    from honeyguide.cli.label_file import read_labels

    collection = open_collection(name)
    if collection.topics and not topic:
        raise ConfigError(f"for which topic? Say --topic {' or '.join(collection.topics)}")
    pairs = [(url, 1.0) for url in good or []] + [(url, 0.0) for url in bad or []]
    if file is not None:
        pairs += read_labels(file, topic)
    if not pairs:
        where = "name a file" if file is None else f"{file} holds no labels; fill in its column"
        raise ConfigError(f"nothing to label: {where}, or use --good URL and --bad URL")
    done, opposed = label_with_conflicts(collection.folder, collection.settings, pairs, by, topic)
    if as_json:
        facts = {"labels": done.kept, "not_fetched": done.unfetched, "contradicting": len(opposed)}
        print_json(facts)
        return
    typer.echo(f"{count_noun(done.kept, 'label')} saved.")
    _say_if_unlearned(collection)
    if done.overruled:
        verb = "overrules" if done.overruled == 1 else "overrule"
        say(f"{done.overruled} of them {verb} topic.good or topic.bad; the label counts.")
    report_contradictions(opposed)
    if done.unfetched:
        pages = "is for a page that was" if done.unfetched == 1 else "are for pages that were"
        say(f"{done.unfetched} of them {pages} not fetched (yet).")
    if done.unseen_results and collection.learns:
        say(
            f"{count_noun(done.unseen_results, 'bad search result')} will not be fetched: headline "
            "and snippet teach."
        )
    if (unseen := done.unseen_bad - done.unseen_results) and collection.learns:
        one = unseen == 1
        ones, them = ("A bad page has", "it") if one else ("Bad pages have", "them")
        say(
            f"{ones} no effect until the crawl happens to fetch {them}: only good ones are "
            "fetched because of their label. An address under topic.bad in topic.toml is fetched "
            "as a training example."
        )


def _say_if_unlearned(collection: Collection) -> None:
    if not collection.learns:
        strategy = collection.settings.crawl.strategy
        say(f"The strategy {strategy!r} does not learn; labels appear in status and exports.")
    else:
        from honeyguide.store.collection_files import lock_holder

        running = lock_holder(collection.folder / "lock")
        now = f"to learn now: honeyguide learn {shell_quote(collection.folder)}"
        idle = f"The next crawl learns from them before its first page; {now}"
        say("The crawl that runs learns from them." if running else idle)


def report_contradictions(opposed: Sequence[LabelConflict]) -> None:
    """Say whom these labels contradict: what most say counts, and of a tie the newest, and that
    should not go unnoticed."""
    for mine, theirs, counts in opposed[:_MAX_NAMED]:
        word = "relevant" if theirs.value >= 0.5 else "not relevant"
        now = "now your label counts" if counts else "more people say so, and that counts"
        say(f"{safe_text(theirs.by)} called {safe_text(mine.url)} {word}; {now}.")
    if len(opposed) > _MAX_NAMED:
        say(
            f"{len(opposed) - _MAX_NAMED} more contradict other people's labels; the majority "
            "counts."
        )


# --------------------------------------------------------------------------------------------------
# ``honeyguide ask``
# --------------------------------------------------------------------------------------------------


_QUESTION_KINDS = ("mixed", "uncertainty", "disagreement", "novelty", "agreement")
_MAX_REASONS = 4
_TITLE_CHARS = 200
_ANSWERS = {"y": 1.0, "yes": 1.0, "n": 0.0, "no": 0.0, "s": None, "skip": None, "": None}


def ask(
    name: CollectionName,
    number: int = option("--count -n N", "How many pages.", 5, min=1, max=100),
    by: str = option("--by WHO", "Name of the labeller.", "user"),
    about: str = option(
        "--about KIND",
        "mixed, uncertainty, disagreement (of page and link), novelty (of the "
        "host), or agreement (pages that others labelled).",
        "mixed",
    ),
    as_json: JsonOption = False,
) -> None:
    """Ask you about the pages whose labels would help most; also while a crawl is running.

    Each answer is saved at once, as a label; Ctrl-C ends it. What you skip is not asked again.
    Then it learns from them, and says how many pages came in and went out. Without a terminal, the
    pages are listed. `learn.budget` says how many labels you are willing to give.

    Examples:

    `honeyguide ask birds`

    `honeyguide ask birds --count 20 --by ada`
    """

    collection = open_collection(name)
    if about not in _QUESTION_KINDS:
        raise ConfigError(f"--about {about!r} is none of {', '.join(_QUESTION_KINDS)}")
    left, questions = collection.ask(number, by=by, choice=cast("LabelQueryKind", about))
    if as_json:
        gain = collection.answer_gain()
        facts = {"left": left, "gain": gain and gain._asdict()}
        print_json(facts | {"questions": [_question_facts(q) for q in questions]})
        return
    if left is not None:
        budget = collection.settings.learn.budget
        if left:
            say(f"{left} of {count_noun(budget, 'label')} left in the budget (learn.budget).")
        else:
            say(f"The budget of {count_noun(budget, 'label')} (learn.budget) is used up.")
    if not questions:
        if left != 0:
            say("There is no page to ask about: all fetched pages are labelled or skipped.")
        return
    if sys.stdin.isatty():
        _ask_each(collection, questions, by)
        return
    if gain := collection.answer_gain():
        say(str(gain))
    for question in questions:
        _show_question(question)
    named = f" --topic {shell_quote(collection.topics[0])}" if collection.topics else ""
    say(f"Answer with: honeyguide label {shell_quote(name)}{named} --good URL --bad URL")


def _ask_each(collection: Collection, questions: list[LabelQuestion], by: str) -> None:
    """Ask about each; whatever ends it, what was answered is kept."""
    from honeyguide.api import labels
    from honeyguide.api.labels import label_with_conflicts
    from honeyguide.learning.label_queries import best_topic

    saved = 0
    try:
        for place, question in enumerate(questions, 1):
            _show_question(question)
            topic = best_topic(collection.settings, question.row)
            wanted = f"what you want for {safe_text(topic)}" if topic else "what you want"
            answer = _prompt_answer(f"{place} of {len(questions)}: is it {wanted}? [y/n/skip/quit]")
            if answer == "quit":
                break
            if answer is None:
                labels.record_skip(
                    collection.folder, collection.settings, question.row.url, by, "skip", topic
                )
            elif isinstance(answer, float):
                answers = [(question.row.url, answer)]
                folder, settings = collection.folder, collection.settings
                _, opposed = label_with_conflicts(folder, settings, answers, by, topic)
                saved += 1
                report_contradictions(opposed)
    except (typer.Abort, KeyboardInterrupt):
        say("")  # Ctrl-C, or the terminal is gone: end the line of the question
    typer.echo(f"{count_noun(saved, 'label')} saved.")
    if saved:
        _say_what_came_of(collection)


def _say_what_came_of(collection: Collection) -> None:
    """Learn from the answers, unless a crawl does or nothing can, and say what changed."""
    if not collection.learns or collection.status(hosts=0).crawler_pid:
        _say_if_unlearned(collection)
        return
    outcome = collection.learn(progress=True)
    say(str(collection.answer_gain() if outcome.live else outcome))
    name = shell_quote(collection.folder)
    say(f"Next: honeyguide ask {name} · honeyguide judge {name} · honeyguide crawl {name}")


def _prompt_answer(text: str) -> float | str | None:
    from honeyguide.cli.terminal import prompt_line

    while True:
        answer = prompt_line(text).lower()
        if answer in ("q", "quit"):
            return "quit"
        if answer in _ANSWERS:
            return _ANSWERS[answer]
        say("  y: it is; n: it is not; s or Enter: skip it; q: no more questions.")


def _show_question(question: LabelQuestion) -> None:
    out, row = make_console(), question.row
    out.print()
    out.print(
        f"“{safe_text(row.title)[:_TITLE_CHARS]}”" if row.title else "(no title)", style="bold"
    )
    out.print(safe_text(row.url))
    word = "relevant" if question.relevant else "not relevant"
    reasons = ", ".join(
        f"{safe_text(r.what)} {r.weight:+.2f}" for r in question.reasons[:_MAX_REASONS]
    )
    out.print(f"now judged {word}: {question.verdict:.2f}" + (f" ({reasons})" if reasons else ""))
    if question.snippet:
        out.print(f"  {safe_text(question.snippet)}", style="dim")
    out.print(f"asked because {question.because}", style="cyan")


def _question_facts(question: LabelQuestion) -> dict[str, Any]:
    return {
        "url": question.row.url,
        "title": question.row.title,
        "verdict": question.verdict,
        "relevant": question.relevant,
        "reasons": [reason._asdict() for reason in question.reasons],
        "why": question.why,
        "because": question.because,
    }

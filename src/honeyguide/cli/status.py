"""``honeyguide status``, ``honeyguide advise`` and ``honeyguide explain``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any

import typer

from honeyguide.cli.formatting import (
    count_noun,
    format_time,
    make_console,
    print_json,
    print_table,
    runnable_hints,
    safe_text,
    say_safely,
    shell_quote,
)
from honeyguide.cli.options import CollectionName, JsonOption, argument, open_collection, option
from honeyguide.errors import ConfigError

if TYPE_CHECKING:
    from honeyguide.api.advice import Advice
    from honeyguide.api.collection import Collection
    from honeyguide.api.explain import Explanation
    from honeyguide.crawl.status import CollectionStatus, SearchStatus
    from honeyguide.learning.coverage import ChannelEstimate, CoverageEstimate


def status(
    name: CollectionName,
    hosts: int = option("--hosts N", "How many hosts to list.", 10, min=0),
    as_json: JsonOption = False,
) -> None:
    """Show the state of a collection; also while it is being crawled.

    Examples:

    `honeyguide status birds`

    `honeyguide status birds --json`
    """
    from honeyguide.api.labels import count_contested_pages

    collection = open_collection(name)
    found = collection.status(hosts=hosts)
    disputed = count_contested_pages(collection.folder) if found.labels else 0
    advice = collection.advice(saved=found.crawler_pid is not None)
    teacher = collection.teacher_overview()
    if as_json:
        facts = asdict(found) | {
            "harvest": found.harvest_rate,
            "per_host": [row._asdict() for row in found.per_host],
            "contested": disputed,
            "advice": [asdict(one) for one in advice],
            "teacher": teacher and teacher.to_dict(),
        }
        print_json(facts)
        return
    out = make_console()
    running = found.crawler_pid
    state = f"being crawled by process {running}" if running else "not being crawled"
    out.print(f"{safe_text(collection.name)}: {state}", style="bold")
    for line in status_lines(found):
        out.print(line)
    if disputed:
        out.print(f"people disagree about {count_noun(disputed, 'page')}; the newest label counts")
    if teacher is not None:
        out.print(f"teacher: {safe_text(str(teacher))}")
    if found.per_host:
        rows = ((row.host, row.visits, row.relevant, row.failures) for row in found.per_host)
        print_table(("host", "visits", "relevant", "failures"), rows)
    for line in advice_lines(collection, advice):
        out.print(line, style="cyan")


def advice_lines(collection: Collection, found: Sequence[Advice]) -> Iterator[str]:
    """What hinders the crawl, and what to type to mend it."""
    name = shell_quote(collection.folder)
    for place, one in enumerate(found, 1):
        todo = f"honeyguide advise {name} --accept {place}" if one.is_acceptable else ""
        todo += f", or --refuse {place}" if one.question else ""
        todo = f"honeyguide {one.command} {name}" if one.command else todo
        yield f"Advice: {safe_text(str(one))}" + (f" ({todo})" if todo else "")


def advise(
    name: CollectionName,
    accept: int = option("--accept N", "Do what the advice with this number says.", 0, min=0),
    refuse: int = option("--refuse N", "Say no to the question with this number.", 0, min=0),
    as_json: JsonOption = False,
) -> None:
    """Say what hinders the crawl, and what mends it; mostly nothing.

    Accepting an advice changes topic.toml, and counts from the next crawl on. Where it asks whether
    you want some pages, these are labelled, which counts at once. On a terminal you are asked: one
    key answers, page by page; of several advices, a number, with a minus for no.

    Examples:

    `honeyguide advise birds`

    `honeyguide advise birds --accept 1`
    """
    collection = open_collection(name)
    found = collection.advice()
    if not accept and not refuse and not as_json:
        typer.echo("\n".join(_numbered_advice(name, found)) or "There is nothing to advise.")
        choices = [one for one in found if one.is_acceptable]
        if choices and sys.stdin.isatty():
            from honeyguide.cli.terminal import can_read_keys, prompt_line, read_key

            if len(choices) == 1 and can_read_keys():
                (one,), never = choices, Event()
                if answers := ask_advice(one, say_safely, lambda keys: read_key(keys, never)):
                    typer.echo(answer_advice(collection, one, answers))
                return
            answer = prompt_line("Accept which one? A number, with a minus for no; Enter: none")
            number = int(answer) if answer.removeprefix("-").isdecimal() else 0
            accept, refuse = max(number, 0), max(-number, 0)
    said = ""
    if chosen := accept or refuse:
        if chosen > len(found):
            raise ConfigError(f"there is no advice {chosen}; see: honeyguide advise {name}")
        one = found[chosen - 1]
        said = answer_advice(collection, one, [not refuse] * (len(one.pages) or 1))
    if as_json:
        done = {"accepted": accept or None, "refused": refuse or None}
        print_json({"advice": [asdict(one) for one in found]} | done)
    elif said:
        typer.echo(said)


def ask_advice(one: Advice, out: Callable[[str], None], read: Callable[[str], str]) -> list[bool]:
    """What a person says to an advice, of a question page by page, up to the first that is left for
    later. ``read`` waits for one of some keys, and returns '' for any other."""
    answers: list[bool] = []
    for asked in [f"“{title}”?" for title in one.titles] if one.question else [one.proposal]:
        out(f"{asked}  y: yes{', n: no' if one.question else ''}, any other key: later")
        if not (key := read("yn" if one.question else "y")):
            break
        answers.append(key == "y")
    return answers


def answer_advice(collection: Collection, one: Advice, wanted: Sequence[bool]) -> str:
    """Yes or no to an advice, of a question page by page; says what was done."""
    if not (one.question or all(wanted)):
        raise ConfigError("only a question can be refused; what is not accepted changes nothing")
    collection.accept_advice(one, wanted=wanted)
    if one.question:
        good, bad = sum(wanted), len(wanted) - sum(wanted)
        done = f"labelled: {good} wanted, {bad} not; it counts at once."
        if not one.changes or 2 * good <= len(one.pages):
            return done
    else:
        done = ""
    changes = safe_text(to_toml_lines(one.changes))
    return f"{done} topic.toml now says {changes}; it counts from the next crawl on.".lstrip()


def _numbered_advice(name: Path, found: Sequence[Advice]) -> Iterator[str]:
    for place, one in enumerate(found, 1):
        todo = f" (honeyguide {one.command} {shell_quote(name)})" if one.command else ""
        yield f"{place}  {safe_text(str(one))}{todo}"


def to_toml_lines(changes: Mapping[str, Mapping[str, Any]]) -> str:
    """Settings as one would write them, in a line."""
    from honeyguide.config.topic_file import to_toml

    return ", ".join(
        f"{table}.{key} = {to_toml(value)}"
        for table, keys in changes.items()
        for key, value in keys.items()
    )


def status_lines(found: CollectionStatus) -> Iterator[str]:
    """The status in words."""
    budget = f" of {found.budget}" if found.budget >= found.visits else ""
    yield (
        f"{found.visits}{budget} {'visit' if (found.budget or found.visits) == 1 else 'visits'}"
        f" · {count_noun(found.pages, 'page')} · {found.relevant} relevant"
        f" · harvest rate {found.harvest_rate:.0%}"
    )
    if found.kept is not None:
        yield found.kept.summary
    if found.topics:
        yield "relevant: " + " · ".join(
            f"{safe_text(name)} {n}" for name, n in found.topics.items()
        )
    parts = [] if found.waiting is None else [f"{count_noun(found.waiting, 'link')} waiting"]
    parts += [
        count_noun(found.redirects, "redirect"),
        count_noun(found.copies, "copy", "copies"),
        count_noun(found.labels, "label"),
        count_noun(found.hosts, "host"),
        f"{found.bytes / 1e6:.1f} MB",
    ]
    yield " · ".join(parts)
    if found.foreign:
        yield foreign_summary(found.foreign)
    if found.watched:
        changes = count_noun(found.changes, "change")
        yield f"{count_noun(found.watched, 'page')} watched · {changes} found"
    if found.searched:
        yield search_summary(found.searched)
    if found.estimate:
        yield coverage_summary(found.estimate)
    parted = f" · {found.shards} shards" if found.shards > 1 else ""
    yield f"strategy {safe_text(found.strategy)}, generation {found.generation or 0}{parted}"
    if found.first and found.last:
        rate = "" if found.rate is None else f" · {found.rate:.1f} visits/s in the last run"
        yield f"from {format_time(found.first)} to {format_time(found.last)}{rate}"
    if found.failures:
        codes = {str(code): number for code, number in (found.statuses or {}).items()}
        kinds = {kind: n for kind, n in sorted(found.failures.items()) if kind != "status"}
        yield "failures: " + ", ".join(
            f"{safe_text(what)} ×{n}" for what, n in (codes | kinds).items()
        )
    yield from (runnable_hints(safe_text(note)) for note in found.unlearned_notes)
    yield from map(safe_text, found.lost)


def foreign_summary(foreign: dict[str, int], most: int = 8) -> str:
    """Pages in other languages: how many, and which."""
    shown = [f"{safe_text(code)} {pages}" for code, pages in list(foreign.items())[:most]]
    more = ["…"] if len(foreign) > most else []
    return f"in other languages {sum(foreign.values())}: {', '.join(shown + more)}"


def search_summary(found: SearchStatus) -> str:
    """What a search engine was asked."""
    from honeyguide.crawl.status import format_money

    failed = f", {found.failed} not answered" if found.failed else ""
    cost = f" for {format_money(found.cost)}" if found.cost else ""
    trouble = f" · the last one failed: {safe_text(found.trouble)}" if found.trouble else ""
    return (
        f"{count_noun(found.queries, 'query', 'queries')} asked in "
        f"{count_noun(found.asked, 'request')}{failed} ({found.month} this month{cost}): "
        f"{count_noun(found.results, 'result')}, "
        f"{found.fresh} new{trouble}"
    )


def channel_summary(found: ChannelEstimate) -> str:
    """What links and searches say together of how much there is."""
    text = (
        f"links found {count_noun(found.links, 'relevant page')}, searches {found.search}, "
        f"both {found.both}"
    )
    if not found.is_reliable:
        return f"{text}: too few to estimate how many there are"
    return (
        f"{text}: there are about {found.total:.0f} ± {found.error:.0f}, or more, because easy "
        "pages are found both ways"
    )


def coverage_summary(found: CoverageEstimate) -> str:
    """How much of the topic is found, and why we think so."""
    text = _coverage_text(found)
    return f"{text} · {channel_summary(found.channels)}" if found.channels else text


def _coverage_text(found: CoverageEstimate) -> str:
    if not found.covered:
        return f"coverage of the topic: {found.why}"
    sure = max(found.falling, 1 - found.falling)
    way = "falls" if found.falling > 0.5 else "rises"
    trend = f", and {way} ({sure:.0%} sure)" if sure >= 0.9 else ""
    return (
        f"about {found.covered:.0%} of {found.total:.0f} relevant pages in reach found "
        f"by its own verdicts (of {found.low:.0f} to {found.high:.0f}): {found.why} · "
        f"recent harvest rate {found.recent:.0%}{trend}"
    )


# --------------------------------------------------------------------------------------------------
# ``honeyguide explain``
# --------------------------------------------------------------------------------------------------


def explain(
    name: CollectionName,
    url: str = argument("URL", "The address to explain."),
    as_json: JsonOption = False,
) -> None:
    """Explain why an address was fetched, or why not, with score and reasons.

    Example: `honeyguide explain birds https://example.org/finches`
    """

    collection = open_collection(name)
    found = collection.explain(url)
    labels = collection.labels(found.url) if collection.topics else {}
    if as_json:
        values = {topic: label.value for topic, label in labels.items()}
        print_json(explanation_value(found) | ({"labels": values} if collection.topics else {}))
        return
    out = make_console()
    out.print(safe_text(found.url), style="bold")
    out.print(safe_text(found.answer))
    for topic, label in labels.items():
        out.print(f"A person labelled it {label.value:g} for {safe_text(topic)}.")
    if found.label is not None and not labels:
        out.print(f"A person labelled it {found.label:g}.")
    for finder in found.finders:
        page = "" if finder.page == 1 else f" on page {finder.page}"
        so_far = (
            f"{finder.relevant} of {finder.fetched} fetched results relevant, mean verdict "
            f"{finder.mean:.2f}"
            if finder.fetched
            else "nothing fetched"
        )
        out.print(
            f"Found by the query {safe_text(finder.query)} ({safe_text(finder.by)}): result "
            f"{finder.place}{page} of {safe_text(finder.engine)}; yield of that query: {so_far}"
        )
    for row in found.visits:
        what = f"HTTP {row.status}" if row.status else f"{row.failure}: {row.detail}"
        out.print(
            f"  {format_time(row.at)}  {safe_text(what)}  generation {row.generation}, "
            f"score {row.queued:.2f} when found, {row.score:.2f} when fetched"
        )
        if row.title:
            out.print(f"  “{safe_text(row.title)}”")
        if row.copy_of:
            likeness = "exact duplicate of" if row.copy_exact else "near duplicate of"
            out.print(f"  {likeness} {safe_text(row.copy_of)}")
        if row.warc:
            out.print(f"  stored in warc/{safe_text(row.warc)} at byte {row.offset}")
        if row.topic_scores:
            scores = (
                f"{safe_text(topic)} {score:.2f}" for topic, score in row.topic_scores.items()
            )
            out.print(f"  by topic: {', '.join(scores)}")
        for reason in row.verdict_reasons:
            out.print(f"    {reason.weight:5.2f}  {safe_text(reason.what)}", style="green")
    if found.reasons:
        out.print("The link's score, before the page was seen:")
        for reason in found.reasons:
            out.print(f"    {reason.weight:5.2f}  {safe_text(reason.what)}", style="cyan")
    if found.way:
        out.print("The way from a seed:")
        for step in found.way:
            verdict = f"{step.verdict:.2f}" if step.verdict is not None else " -- "
            out.print(f"    {verdict}  {safe_text(step.url)}  → “{safe_text(step.anchor)}”")


def explanation_value(found: Explanation) -> Any:
    """The explanation as plain values; the reasons of a verdict as those of a link's score."""
    value = _plain_value(found)
    for shown, row in zip(value["visits"], found.visits, strict=True):
        shown["reasons"] = [reason._asdict() for reason in row.verdict_reasons]
    return value


def _plain_value(found: object) -> Any:
    from dataclasses import fields, is_dataclass

    if is_dataclass(found) and not isinstance(found, type):
        return {f.name: _plain_value(getattr(found, f.name)) for f in fields(found)}
    if hasattr(found, "_asdict"):
        return {key: _plain_value(value) for key, value in found._asdict().items()}
    if isinstance(found, tuple | list):
        return [_plain_value(item) for item in found]
    return found

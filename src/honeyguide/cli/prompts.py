"""Questions on a terminal; each answer is checked as it is given, and asked for again."""

from __future__ import annotations

from collections.abc import Callable

import typer

from honeyguide.crawl.user_urls import starting
from honeyguide.errors import ConfigError
from honeyguide.fetch.http import user_agent


def ask_keywords() -> list[str]:
    _tell("What are you looking for? Words and phrases, separated by commas.")
    return [word.strip() for word in _ask("Keywords").split(",") if word.strip()]


def ask_seeds(*, lab: bool = False) -> list[str]:
    """At least one address."""
    _tell("Where should the crawl start? One address, then Enter; an empty one ends the list.")
    seeds: list[str] = []
    while True:
        answer = _ask("Seed", lambda text: str(starting(text, lab=lab)))
        if answer:
            seeds.append(answer)
        elif seeds:
            return seeds
        else:
            _tell("  At least one is needed, such as https://en.wikipedia.org/wiki/Bird")


def ask_contact() -> str:
    _tell("Sites should be able to reach you: an e-mail address or a web page.")
    while not (answer := _ask("Contact", _contact)):
        _tell("  It is needed: the owner of a site must be able to complain.")
    return answer


def _contact(text: str) -> str:
    try:
        user_agent(text, "0")
    except ConfigError:
        raise ConfigError(f"{text!r} is neither an e-mail address nor a http:// page") from None
    return text


def _ask(question: str, check: Callable[[str], str] = str) -> str:
    while True:
        answer = typer.prompt(question, default="", show_default=False, err=True).strip()
        if not answer:
            return ""
        try:
            return check(answer)
        except ConfigError as error:
            _tell(f"  {error}")


def _tell(text: str) -> None:
    typer.echo(text, err=True)

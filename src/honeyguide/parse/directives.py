"""What a page asks of crawlers beside robots.txt: meta robots and X-Robots-Tag."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

AGENTS = frozenset({"honeyguide", "robots", "*"})
"""The names under which a page may speak to us."""

_VALUED = frozenset(
    {"unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"}
)  # fmt: skip
"""Directives with a colon of their own: no agent's name."""

_LENGTH = 2_000
"""Characters looked at; nobody honest writes more."""


@dataclass(frozen=True, slots=True)
class Directives:
    """What a page allows."""

    index: bool = True
    follow: bool = True

    def and_also(self, words: str) -> Directives:
        """These, made stricter by a list of directives such as ``noindex, follow``."""
        # What has a colon is another directive's value: ``max-image-preview: none``.
        clauses = words[:_LENGTH].lower().split(",")
        said = {word for clause in clauses if ":" not in clause for word in clause.split()}
        if said.isdisjoint(("none", "noindex", "nofollow")):
            return self
        return Directives(
            self.index and said.isdisjoint(("none", "noindex")),
            self.follow and said.isdisjoint(("none", "nofollow")),
        )


def from_headers(headers: Iterable[tuple[str, str]]) -> Directives:
    """What every X-Robots-Tag together asks; words for other agents are skipped."""
    wanted = Directives()
    for name, value in headers:
        if name.lower() == "x-robots-tag":
            wanted = wanted.and_also(_ours(value))
    return wanted


def _ours(value: str) -> str:
    """The part of one header that is said to us.

    ``noindex, otherbot: nofollow, noarchive``: an agent's name holds until the next one.
    """
    kept = []
    listening = True
    for word in value[:_LENGTH].lower().split(","):
        agent, colon, rest = word.partition(":")
        if colon and agent.strip() not in _VALUED:
            listening = agent.strip() in AGENTS
            word = rest
        if listening:
            kept.append(word)
    return ",".join(kept)

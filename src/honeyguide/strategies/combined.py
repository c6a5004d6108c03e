"""Two strategies as one: the first judges pages, the second ranks links.

Each of the papers couples a way to judge pages (the critic of Chakrabarti, Punera & Subramanyam
2002) with a way to rank links (their apprentice), and either works with another partner:
``topic_cnn+honeyguide`` judges by a trained model, and its links are ranked by what the verdicts of
that model taught.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, make_dataclass, replace
from functools import lru_cache
from typing import Any, ClassVar, Self

from honeyguide.errors import ConfigError
from honeyguide.protocols import LinkLearner, Strategy, UnjudgedPageLearner
from honeyguide.registry import find_strategy, halves_of
from honeyguide.types import Example, Link, Page, Reason, StrategyTraits, Verdict


@dataclass(frozen=True)
class CombinedStrategy:
    """Judge pages as one strategy does, and rank links as another, which learns from the verdicts.

    A subclass for each pair, named ``CRITIC+LINKS``, is made when it is first asked for.
    """

    traits: ClassVar[StrategyTraits]

    critic: Strategy
    links: Strategy

    def __post_init__(self) -> None:
        # Those of the class are of the defaults; parameters of a half may change its own.
        object.__setattr__(self, "traits", join_traits(self.critic.traits, self.links.traits))

    @property
    def believes(self) -> int:
        """Own good verdicts in fourteen pages that become examples: as the critic has it."""
        found: int = getattr(self.critic, "believes", getattr(self.links, "believes", 0))
        return found

    @property
    def note(self) -> str:
        """Notes of the halves on their last training."""
        notes = ((name, getattr(half, "note", "")) for name, half in self._named_halves())
        return "; ".join(f"{name}: {note}" for name, note in notes if note)

    def judge(self, page: Page) -> Verdict:
        verdict = self.critic.judge(page)
        return verdict._replace(reasons=self._sign_reasons(verdict.reasons, 0))

    def rank(self, links: Sequence[Link]) -> list[float]:
        return self.links.rank(links)

    def explain(self, link: Link) -> tuple[Reason, ...]:
        return self._sign_reasons(self.links.explain(link), 1)

    def learn(self, examples: Sequence[Example]) -> Self:
        """The critic first; then the links learn from its present verdicts on visited pages."""
        taught = self.learn_verdicts(examples)
        if taught.critic.traits.learns and self.links.traits.learns_from_visits:
            examples = list(_judged_by(taught.critic, examples))
        if isinstance(self.links, LinkLearner):
            links: Strategy = self.links.learn_links(examples)
        else:
            links = self.links.learn(examples)
        return taught if links is self.links else replace(taught, links=links)

    def learn_verdicts(self, examples: Sequence[Example]) -> Self:
        """The critic alone: links are ranked as before."""
        if isinstance(self.critic, UnjudgedPageLearner):
            critic: Strategy = self.critic.learn_verdicts(examples)
        else:
            critic = self.critic.learn([example for example in examples if example.by != "visit"])
        return self if critic is self.critic else replace(self, critic=critic)

    def _named_halves(self) -> Iterator[tuple[str, Strategy]]:
        return zip(halves_of(type(self).__name__), (self.critic, self.links), strict=True)

    def _sign_reasons(self, reasons: Sequence[Reason], half: int) -> tuple[Reason, ...]:
        """The reasons, each with the name of the half that gives it."""
        name = halves_of(type(self).__name__)[half]
        return tuple(reason._replace(what=f"{name}: {reason.what}") for reason in reasons)


def _judged_by(critic: Strategy, examples: Sequence[Example]) -> Iterator[Example]:
    """The examples, those of mere visits with what the critic says of their pages now."""
    for example in examples:
        if example.by == "visit" and not example.foreign:
            example = replace(example, target=critic.judge(example.page).score)
        yield example


def join_traits(critic: StrategyTraits, links: StrategyTraits) -> StrategyTraits:
    """What a pair needs and does: verdicts are the critic's, order and scores the link model's."""
    return links._replace(
        learns=critic.learns or links.learns,
        needs=(),  # each half says what it needs
        learns_from_visits=critic.learns_from_visits or links.learns_from_visits,
        reads_outlinks=critic.reads_outlinks or links.reads_outlinks,
        learns_on_growth=critic.learns_on_growth or links.learns_on_growth,
        reads="words" if "words" in (critic.reads, links.reads) else "links",
        learned_fields=(),
        judges_in_chances=critic.judges_in_chances,
        cut_parameter=critic.cut_parameter,
    )


@lru_cache(maxsize=256)
def combined_class(name: str) -> type[CombinedStrategy]:
    """The class of ``CRITIC+LINKS``. Its fields say of which classes the halves are, so that a
    saved generation can name no others."""
    critic, links = map(find_strategy, halves_of(name))
    made: type[Any] = make_dataclass(
        name,
        [("critic", critic, field()), ("links", links, field())],
        bases=(CombinedStrategy,),
        frozen=True,
        namespace={
            "__module__": __name__,
            "traits": join_traits(critic.traits, links.traits),
            "__doc__": f"Judge pages as {critic.__name__}, rank links as {links.__name__}.",
        },
    )
    return made


def __getattr__(name: str) -> type[CombinedStrategy]:
    """The class of a pair, for processes and files that know it by module and name."""
    try:
        return combined_class(name)
    except ConfigError as error:
        raise AttributeError(str(error)) from error

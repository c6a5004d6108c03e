"""Compare rules by which crawlers come back, on several webs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from honeyguide.errors import ConfigError
from honeyguide.lab.revisit import Figures, make, measure
from honeyguide.lab.revisit_rules import RULES
from honeyguide.lab.statistics import Estimate, bootstrap

BASE = "uniform"
"""What every monitor does today, and what the others are compared with."""


@dataclass(frozen=True, slots=True)
class Study:
    """What is compared, and on what."""

    rules: tuple[str, ...] = tuple(RULES)
    visits: float = 0.3
    """A page and day."""
    seeds: int = 5
    pages: int = 1000
    days: float = 200.0
    drift: float | None = None
    """On that day, all pages exchange their rates."""

    def __post_init__(self) -> None:
        for rule in self.rules:
            if rule not in RULES:
                raise ConfigError(f"there is no rule {rule!r}; there are {', '.join(RULES)}")
        slots = self.pages * self.days * self.visits
        if self.pages < 1 or self.seeds < 1 or not 1 <= slots <= 1e8:
            raise ConfigError("a study needs pages, days and visits, and not a hundred million")
        if self.drift is not None and not 0 < self.drift < self.days:
            raise ConfigError(f"--drift is a day before the last, {self.days:.0f}")

    @property
    def steps(self) -> int:
        return self.seeds * len(self._all())

    def _all(self) -> tuple[str, ...]:
        return self.rules if BASE in self.rules else (BASE, *self.rules)

    def run(self, done: Callable[[int, str], None] = lambda _step, _rule: None) -> Results:
        """Let every rule work on every web; ``done`` hears how far it is."""
        found: dict[str, list[Figures]] = {rule: [] for rule in self._all()}
        step = 0
        for seed in range(1, self.seeds + 1):
            world = make(self.pages, self.days, seed, self.drift)
            for rule, figures in found.items():
                done(step, rule)
                figures.append(measure(world, RULES[rule](world, self.visits)))
                step += 1
        return Results(found)


@dataclass(frozen=True, slots=True)
class Results:
    """By rule, the figures of every web."""

    figures: dict[str, list[Figures]] = field(default_factory=dict)

    def mean(self, rule: str, what: str) -> Estimate:
        return bootstrap([[getattr(f, what)] for f in self.figures[rule]])

    def gain(self, rule: str) -> Estimate:
        """How much lower the weighted age is than with the uniform rule, as a share of it."""
        pairs: Sequence[tuple[Figures, Figures]] = list(
            zip(self.figures[rule], self.figures[BASE], strict=True)
        )
        return bootstrap([[1 - ours.age_weighted / theirs.age_weighted] for ours, theirs in pairs])

    def told(self) -> dict[str, Any]:
        """For machines."""
        return {
            rule: {
                **{what: self.mean(rule, what)._asdict() for what in Figures._fields},
                "gain": self.gain(rule)._asdict(),
                "seeds": [f._asdict() for f in figures],
            }
            for rule, figures in self.figures.items()
        }

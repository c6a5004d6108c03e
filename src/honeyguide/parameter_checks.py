"""Numbers within their range: a strategy checks its parameters when it is made, whoever sets them.

What is refused is named with its value and with the range, so that the message says what to write.
"""

from __future__ import annotations

from honeyguide.errors import ConfigError

LARGE = 1e12
"""No parameter is meant to be as large as this; infinity least of all."""


def within(
    made: object,
    names: str,
    least: float = 0,
    most: float = LARGE,
    *,
    above: bool = False,
    below: bool = False,
) -> None:
    """A ConfigError unless these parameters of a strategy lie in the range; ``above`` and
    ``below``: its ends do not belong to it."""
    for name in names.split():
        check(f"strategy.{name}", getattr(made, name), least, most, above=above, below=below)


def check(
    key: str,
    value: float,
    least: float = 0,
    most: float = LARGE,
    *,
    above: bool = False,
    below: bool = False,
) -> None:
    enough = value > least if above else value >= least
    # Nothing is true of what is not a number, so that it is refused, too.
    if enough and (value < most if below else value <= most):
        return
    first = "above" if above else "at least"
    last = "below" if below else "at most"
    raise ConfigError(f"{key} must be {first} {least:g} and {last} {most:g}, not {value:g}")

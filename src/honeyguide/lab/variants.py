"""A strategy as a comparison names it: ``hybrid_svm:teacher=none,kernel=linear``.

``teacher`` is ``none`` (static: it learns from the topic's examples and never again),
``automatic``, or ``labels``: a person who answers truthfully for one visited page in five, fifty
times at most (``answers``). ``asks`` says which pages: ``passing`` (one in five as they come by),
or one after every five, ``chosen`` as ``honeyguide ask`` does or at ``random`` from the same
pages. ``every`` is the pages between two generations. ``gate`` names the languages that pages
must be in (``tr``, ``tr+az``), and ``predict=false`` lets them be heard only after the download.
The rest are the strategy's own parameters.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from honeyguide.errors import ConfigError
from honeyguide.lab.web import without_scheme
from honeyguide.types import Url
from honeyguide.url import fingerprint

ONE_IN = 5
_TEACHERS = {"none": "none", "automatic": "automatic", "labels": "interactive", "both": "both"}
_ASKS = ("passing", "chosen", "random")


@dataclass(frozen=True, slots=True)
class Variant:
    name: str
    teacher: str = "automatic"
    every: int = 14
    asks: str = "passing"
    answers: int = 50
    gate: tuple[str, ...] = ()
    predict: bool = True
    parameters: tuple[tuple[str, Any], ...] = ()

    @property
    def people(self) -> bool:
        """Whether a person answers."""
        return self.teacher in ("labels", "both")

    def learn(self) -> dict[str, Any]:
        """The settings of that name."""
        return {"teacher": _TEACHERS[self.teacher], "every": self.every}


def variant(text: str) -> Variant:
    name, _, rest = text.partition(":")
    made, parameters = Variant(name), {}
    for part in filter(None, rest.split(",")):
        key, mark, value = part.partition("=")
        if not mark:
            raise ConfigError(f"{text!r}: {part!r} should be key=value")
        if key == "teacher":
            if value not in _TEACHERS:
                raise ConfigError(f"{text!r}: teacher is one of {', '.join(_TEACHERS)}")
            made = replace(made, teacher=value)
        elif key == "asks":
            if value not in _ASKS:
                raise ConfigError(f"{text!r}: asks is one of {', '.join(_ASKS)}")
            made = replace(made, asks=value)
        elif key == "every":
            made = replace(made, every=int(value))
        elif key == "gate":
            made = replace(made, gate=tuple(value.split("+")))
        elif key == "predict":
            made = replace(made, predict=bool(_typed(value)))
        elif key == "answers":
            made = replace(made, answers=int(value))
        else:
            parameters[key] = _typed(value)
    return replace(made, parameters=tuple(parameters.items()))


class Person(Mapping[Url, tuple[float, Any]]):
    """Somebody who knows the truth, and has a limited mind to tell it."""

    def __init__(self, relevant: frozenset[str], answers: int) -> None:
        self._relevant = relevant
        self._left = answers
        self._said: dict[Url, tuple[float, Any]] = {}

    def __getitem__(self, url: Url) -> tuple[float, Any]:
        if url not in self._said:
            if not self._left or fingerprint(url) // 7 % ONE_IN:
                raise KeyError(url)
            self._left -= 1
            self._said[url] = (float(without_scheme(url) in self._relevant), "user")
        return self._said[url]

    def __iter__(self) -> Iterator[Url]:
        return iter(self._said)

    def __len__(self) -> int:
        return len(self._said)


def _typed(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return {"true": True, "false": False}.get(text, text)

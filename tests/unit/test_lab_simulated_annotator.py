"""A person in the lab who is asked about pages that were visited already."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from honeyguide.errors import ConfigError
from honeyguide.lab.compare import run_trial
from honeyguide.lab.trials import CrawlTrial, WebSpec
from honeyguide.lab.variants import parse_variant
from honeyguide.store.labels import LabelTable
from honeyguide.types import Label
from tests.unit.test_lab_compare import web

__all__ = ["web"]  # a fixture


@pytest.mark.parametrize("asks", ["chosen", "random"])
def test_answers_come_through_the_store_and_repeat_themselves(
    asks: str, web: WebSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[Label] = []
    keep = LabelTable.add

    def noted(self: LabelTable, labels: Iterable[Label]) -> None:
        given.extend(labels := list(labels))
        keep(self, labels)

    monkeypatch.setattr(LabelTable, "add", noted)
    trial = CrawlTrial(
        web, "bees", f"hybrid_svm:teacher=labels,asks={asks},answers=4", 0, 40, 2, examples=4
    )
    one = run_trial(trial)
    assert len(given) == len({label.url for label in given}) == 4
    bees = {f"http://w.example/{n}" for n in range(0, 120, 3)}
    assert all(label.value == (label.url in bees) for label in given)
    again = run_trial(trial)
    assert (one.found, one.judged) == (again.found, again.judged)
    assert given[:4] == given[4:]


def test_variants_say_who_is_asked() -> None:
    chosen = parse_variant("hybrid_svm:teacher=both,asks=chosen,answers=7,kernel=linear")
    assert (chosen.has_person, chosen.asks, chosen.answers) == (True, "chosen", 7)
    assert chosen.parameters == (("kernel", "linear"),)
    plain = parse_variant("hybrid_svm:teacher=labels")
    assert (plain.has_person, plain.asks, plain.answers) == (True, "passing", 50)
    assert not parse_variant("keyword").has_person
    with pytest.raises(ConfigError, match="asks is one of passing, chosen, random"):
        parse_variant("hybrid_svm:asks=never")

"""A person in the lab who is asked about pages that were visited already."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from honeyguide.errors import ConfigError
from honeyguide.lab.compare import Trial, WebSpec, perform
from honeyguide.lab.variants import variant
from honeyguide.store.store import Store
from honeyguide.types import Label
from tests.unit.test_lab_compare import web

__all__ = ["web"]  # a fixture


@pytest.mark.parametrize("asks", ["chosen", "random"])
def test_answers_come_through_the_store_and_repeat_themselves(
    asks: str, web: WebSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[Label] = []
    keep = Store.label

    def noted(self: Store, labels: Iterable[Label]) -> None:
        given.extend(labels := list(labels))
        keep(self, labels)

    monkeypatch.setattr(Store, "label", noted)
    trial = Trial(
        web, "bees", f"hybrid_svm:teacher=labels,asks={asks},answers=4", 0, 40, 2, examples=4
    )
    one = perform(trial)
    assert len(given) == len({label.url for label in given}) == 4
    bees = {f"http://w.example/{n}" for n in range(0, 120, 3)}
    assert all(label.value == (label.url in bees) for label in given)
    again = perform(trial)
    assert (one.found, one.judged) == (again.found, again.judged)
    assert given[:4] == given[4:]


def test_variants_say_who_is_asked() -> None:
    chosen = variant("hybrid_svm:teacher=both,asks=chosen,answers=7,kernel=linear")
    assert (chosen.people, chosen.asks, chosen.answers) == (True, "chosen", 7)
    assert chosen.parameters == (("kernel", "linear"),)
    plain = variant("hybrid_svm:teacher=labels")
    assert (plain.people, plain.asks, plain.answers) == (True, "passing", 50)
    assert not variant("keyword").people
    with pytest.raises(ConfigError, match="asks is one of passing, chosen, random"):
        variant("hybrid_svm:asks=never")

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from honeyguide import registry
from honeyguide.errors import ModelError
from honeyguide.store import Store, pack_strategy, unpack_strategy


@dataclass(frozen=True)
class Weights:
    values: Any
    bias: float = 0.0


@dataclass(frozen=True)
class Toy:
    name: str = "toy"
    rate: float = 0.5
    words: tuple[str, ...] = ()
    table: dict[str, float] = field(default_factory=dict)
    nothing: None = None
    on: bool = True
    model: Weights | None = None
    tiers: tuple[Weights, ...] = ()
    by_host: dict[str, Weights] = field(default_factory=dict)
    cache: int = field(default=0, init=False, compare=False)


@dataclass(frozen=True)
class Smaller:
    name: str = "toy"


class Pair(NamedTuple):
    a: int


def find(name: str) -> type[Any]:
    return {"toy": Toy, "smaller": Smaller}[name]


def full() -> Toy:
    return Toy(
        rate=float("inf"),
        words=("bal", "arı", "\ud800"),
        table={"x": 1.5, "array": 2.0, "class": 3.0},
        model=Weights(np.arange(6, dtype=np.float32).reshape(2, 3)),
        tiers=(Weights(np.array([True, False])), Weights(None, 2.0)),
        by_host={"a.org": Weights([1, (2, "x")])},
    )


def test_a_strategy_survives() -> None:
    back = unpack_strategy(pack_strategy("toy", full()), find)
    assert isinstance(back, Toy)
    assert back.words == ("bal", "arı", "\ud800")
    assert back.table == full().table
    assert back.rate == float("inf")
    assert back.model is not None
    assert back.model.values.dtype == np.float32
    assert np.array_equal(back.model.values, np.arange(6).reshape(2, 3))
    assert back.tiers[0].values.tolist() == [True, False]
    assert back.tiers[1] == Weights(None, 2.0)
    assert back.by_host == {"a.org": Weights([1, (2, "x")])}
    assert unpack_strategy(pack_strategy("toy", Toy()), find) == Toy()


def test_numpy_scalars_become_plain() -> None:
    assert unpack_strategy(
        pack_strategy("toy", Toy(rate=np.float32(0.5), table={"n": np.int64(3)})), find
    ) == Toy(rate=0.5, table={"n": 3})


@pytest.mark.parametrize(
    "value",
    [
        {1: 2},
        {1, 2},
        object(),
        b"bytes",
        Pair(1),
        np.array([object()], dtype=object),
        print,
    ],
)
def test_what_cannot_be_saved_is_named(value: object) -> None:
    with pytest.raises(ModelError, match=r"toy\.model\.values"):
        pack_strategy("toy", Toy(model=Weights(value)))


def test_endless_nesting_is_refused() -> None:
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(ModelError, match="deeply"):
        pack_strategy("toy", Toy(model=Weights(endless)))


def test_a_field_that_this_version_lacks_is_named() -> None:
    data = pack_strategy("smaller", Toy())
    with pytest.raises(ModelError, match="does not know"):
        unpack_strategy(data, find)

    @dataclass(frozen=True)
    class Toy2:
        name: str = ""

    Toy2.__name__ = "Toy"
    with pytest.raises(ModelError, match="by_host, model"):
        unpack_strategy(pack_strategy("toy", Toy()), lambda name: Toy2)


def test_every_damage_is_told() -> None:
    data = pack_strategy("toy", full())
    for place in range(0, len(data), 7):
        broken = data[:place] + bytes([data[place] ^ 0x55]) + data[place + 1 :]
        with pytest.raises(ModelError):
            unpack_strategy(broken, find)
    for length in (0, 3, 11, 12, 40, len(data) - 1):
        with pytest.raises(ModelError):
            unpack_strategy(data[:length], find)


def test_generations_in_a_collection(tmp_path: Path) -> None:
    with Store.open(tmp_path, "crawl") as store:
        store.generations.save(1, "toy", Toy(), "first", 5.0)
        with store.transaction():
            store.generations.save(2, "toy", full(), at=6.0)
        assert store.generations.load(1, find) == Toy()
        assert [(g.number, g.name, g.note, g.at) for g in store.generations.list_all()] == [
            (1, "toy", "first", 5.0),
            (2, "toy", "", 6.0),
        ]
        with pytest.raises(ModelError, match="no generation 3"):
            store.generations.load(3, find)


def test_a_blob_must_be_what_its_row_says() -> None:
    data = pack_strategy("breadth", registry.find_strategy("breadth")())
    assert unpack_strategy(data, registry.find_strategy, "breadth")
    with pytest.raises(ModelError, match="and not"):
        unpack_strategy(data, registry.find_strategy, "hybrid_svm")


def test_what_was_pruned_and_what_is_damaged(tmp_path: Path) -> None:
    with Store.open(tmp_path, "crawl") as store:
        for number in range(55):
            store.generations.save(number, "toy", Toy())
        store.database.execute("UPDATE generations SET data = x'' WHERE number IN (0, 5, 54)")
        for number in range(5):
            with pytest.raises(ModelError, match="too old" if number else "damaged"):
                store.generations.set_live(number)
        for number in (5, 54):
            with pytest.raises(ModelError, match="damaged"):
                store.generations.load(number, find)


@dataclass(frozen=True)
class TypedPart:
    number: float = 1.0


@dataclass(frozen=True)
class TypedStrategy:
    words: tuple[str, ...] = ()
    pair: tuple[int, str] = (1, "a")
    part: TypedPart | None = None
    parts: tuple[TypedPart, ...] = ()
    weights: NDArray[np.float64] | None = None
    mode: Literal["a", "b"] = "a"


@pytest.mark.parametrize(
    "damage",
    [
        {"words": 5}, {"words": "ab"}, {"words": ("a", 1)}, {"words": (["a"],)}, {"pair": (1,)},
        {"pair": ("a", 1)}, {"part": 7}, {"part": {"number": 1.0}}, {"parts": (1,)},
        {"parts": TypedPart()}, {"weights": (1.0,)}, {"mode": ["a"]}, {"mode": None},
    ],
    ids=str,
)  # fmt: skip
def test_a_field_of_another_type_is_damage(damage: dict[str, Any]) -> None:
    """It would end a crawl where it is first used."""
    sound = TypedStrategy(("a",), (2, "b"), TypedPart(3), (TypedPart(),), np.zeros(2), "b")
    again = unpack_strategy(pack_strategy("it", sound), lambda _: TypedStrategy)
    assert (again.words, again.part, again.mode) == (("a",), TypedPart(3), "b")
    with pytest.raises(ModelError, match=next(iter(damage))):
        unpack_strategy(pack_strategy("it", replace(sound, **damage)), lambda _: TypedStrategy)

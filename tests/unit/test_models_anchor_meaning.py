"""What meaning says of an anchor: what it learns, how it explains itself, what it refuses."""

from __future__ import annotations

import numpy as np
import pytest

from honeyguide.errors import ModelError
from honeyguide.models.anchor_meaning import AnchorMeaning, RatedText, train_anchor_meaning
from honeyguide.text.word_vectors import DIMENSIONS, text_vectors

GOOD = ("Typhoid fever", "Measles", "Smallpox", "Malaria")
BAD = ("Great Western Railway", "Rail gauge", "Flying Scotsman", "Signal box")


def rated(targets: tuple[float, float] = (1.0, 0.0)) -> list[RatedText]:
    pairs = zip((GOOD, BAD), targets, strict=True)
    return [RatedText(text, target) for texts, target in pairs for text in texts]


@pytest.fixture(scope="module")
def learned() -> AnchorMeaning:
    found = train_anchor_meaning(rated(), text_vectors)
    assert found is not None
    return found


def test_an_anchor_with_new_words_is_known_by_its_meaning(learned: AnchorMeaning) -> None:
    disease, engine = learned.log_odds(text_vectors(("Cholera", "Steam locomotive")))
    assert disease > 0.3
    assert engine < -0.3


def test_a_text_counts_the_same_alone_and_among_others(learned: AnchorMeaning) -> None:
    texts = (*GOOD, *BAD, "", "Cholera")
    assert learned.log_odds(text_vectors(texts)).tolist() == [
        learned.log_odds(text_vectors((t,)))[0] for t in texts
    ]


def test_a_text_that_means_nothing_has_the_odds_of_any(learned: AnchorMeaning) -> None:
    assert learned.log_odds(text_vectors(("", "…"))).tolist() == [learned.weights[-1]] * 2


def test_good_texts_alone_are_told_from_anything_else() -> None:
    found = train_anchor_meaning(rated()[: len(GOOD)], text_vectors)
    assert found is not None
    disease, engine, nothing = found.log_odds(text_vectors(("Cholera", "Steam locomotive", "")))
    assert disease > engine
    assert disease > nothing
    assert -4 < nothing < 0


@pytest.mark.parametrize("rows", [[], rated()[len(GOOD) :], [RatedText("", 1.0)]])
def test_nothing_good_teaches_nothing(rows: list[RatedText]) -> None:
    assert train_anchor_meaning(rows, text_vectors) is None


def test_what_followed_links_led_to_outweighs_a_title(learned: AnchorMeaning) -> None:
    news = [RatedText(f"{word} epidemic", 0.05) for word in ("Cholera", "Plague", "Flu")] * 5
    found = train_anchor_meaning([*rated(), *news], text_vectors, learned)
    assert found is not None
    assert (
        found.log_odds(text_vectors(("Cholera epidemic",)))
        < learned.log_odds(text_vectors(("Cholera epidemic",))) - 1
    )


def test_it_says_what_an_anchor_is_like(learned: AnchorMeaning) -> None:
    said = learned.describe("Typhoid", 1.0, text_vectors)
    assert said == "“Typhoid” is close in meaning to “Typhoid fever”, which is good"
    assert "“Typhoid fever”," not in learned.describe("typhoid fever", 1.0, text_vectors)
    assert "something else" in learned.describe("Steam locomotive", -1.0, text_vectors)
    alone = AnchorMeaning(learned.weights, ("Measles",))
    assert alone.describe("measles", 1.0, text_vectors) == "the meaning of its anchor"


def test_good_texts_are_bounded() -> None:
    found = train_anchor_meaning(
        [RatedText(f"{n} owl " * 999, 1.0) for n in range(500)], text_vectors
    )
    assert found is not None
    assert len(found.good_texts) == 100
    assert found.good_texts[0].startswith("499 owl")
    assert all(len(text) == 100 for text in found.good_texts)


@pytest.mark.parametrize(
    ("weights", "texts"),
    [
        (np.full(DIMENSIONS + 1, np.nan), ()),
        (np.zeros((DIMENSIONS + 1, 2)), ()),
        ([0.0] * (DIMENSIONS + 1), ()),
        (np.zeros(DIMENSIONS + 1), ["owl"]),
        (np.zeros(DIMENSIONS + 1), (1,)),
        (np.zeros(DIMENSIONS + 1), ("x" * 101,)),
        (np.zeros(DIMENSIONS + 1), ("owl",) * 101),
    ],
)
def test_a_damaged_one_is_refused(weights: object, texts: object) -> None:
    with pytest.raises(ModelError, match="damaged"):
        AnchorMeaning(weights, texts)  # type: ignore[arg-type]

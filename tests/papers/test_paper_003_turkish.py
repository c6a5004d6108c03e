"""Alqaraleh & Sırın, the Turkish crawler: its preprocessing and the examples it gives."""

from __future__ import annotations

from typing import Any

import pytest

from honeyguide.text.turkish import Normaliser, explain_changes

EXAMPLES = [
    ("slang", "slm", "selam"),
    ("repeats", "çooooook", "çok"),
    ("emo", "$ark14U", "şarkı senin için"),
    ("fold", "GaziAntep", "gaziantep"),
    ("deasciify", "hoslanmmadim", "hoşlanmadım"),
    ("deasciify", "cooook", "çok"),
    ("deasciify", "kizmis", "kızmış"),
    ("numbers", "105", "yüz beş"),
]


@pytest.mark.parametrize(("switch", "before", "after"), EXAMPLES)
def test_the_table_of_examples(switch: str, before: str, after: str) -> None:
    assert " ".join(Normaliser().words(before)) == after
    without: dict[str, Any] = {switch: False}
    assert " ".join(Normaliser(**without).words(before)) != after


def test_the_examples_among_each_other() -> None:
    text = "\n".join(before for _, before, _ in EXAMPLES)
    wanted = " ".join(after for _, _, after in EXAMPLES)
    assert " ".join(Normaliser().words(text)) == wanted


def test_every_change_is_explained() -> None:
    assert explain_changes("slm GaziAntep $ark14U") == [
        ("slang", "slm", "selam"),
        ("case", "GaziAntep", "gaziantep"),
        ("emo", "$ark14U", "şarkı senin için"),
    ]


def test_case_is_folded_by_turkish_rules() -> None:
    assert Normaliser().words("ISPARTA İZMİR IŞIK") == ["ısparta", "izmir", "ışık"]


def test_sentences_stop_words_and_stems() -> None:
    text = "Dr. Ayşe arama yaptı. Kitabı da 3. rafta buldu!"
    assert Normaliser().sentences(text) == ["Dr. Ayşe arama yaptı.", "Kitabı da 3. rafta buldu!"]
    words = Normaliser(stops=True, stems=True).words(text)
    assert "da" not in words
    assert {"ara", "kitap"} <= set(words)


def test_lemmas() -> None:
    pytest.importorskip("simplemma", reason="the extra lemma is not installed")
    assert Normaliser(lemmas=True).words("gidiyorum hoslanmmadim") == ["git", "hoşlan"]

"""Codes of languages: what they are called, and what somebody may have meant."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from honeyguide import language_codes
from honeyguide.errors import ConfigError


def test_languages_have_names() -> None:
    assert language_codes.language_name("tr") == "Turkish"
    assert language_codes.language_name("kab") == "kab"
    assert language_codes.language_names(["tr"]) == "Turkish"
    assert language_codes.language_names(["tr", "de", "kab"]) == "Turkish, German or kab"


@pytest.mark.parametrize("code", ["en", "tr", "zh", "nb", "kab", "crh"])
def test_codes_pass(code: str) -> None:
    language_codes.check_language_code(code, "key")


@pytest.mark.parametrize(
    ("code", "meant"),
    [
        ("tur", "'tr' (Turkish)"),
        ("ger", "'de' (German)"),
        ("tr-TR", "'tr' (Turkish)"),
        ("DE", "'de' (German)"),
        ("Turkish", "'tr' (Turkish)"),
        ("xx", "such as 'en'"),
        ("", "such as 'en'"),
        ("a" * 10_000, "such as 'en'"),
    ],
)
def test_what_is_no_code_is_told_with_what_was_meant(code: str, meant: str) -> None:
    with pytest.raises(ConfigError) as caught:
        language_codes.check_language_code(code, "topic.words")
    assert str(caught.value).startswith("topic.words: ")
    assert meant in str(caught.value)
    assert len(str(caught.value)) < 300


@given(st.text(max_size=12))
def test_any_text_is_a_code_or_a_mistake(text: str) -> None:
    try:
        language_codes.check_language_code(text, "key")
    except ConfigError:
        return
    assert text.isalpha()
    assert len(text) in (2, 3)

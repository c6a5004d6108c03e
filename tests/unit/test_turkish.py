from __future__ import annotations

import time
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from honeyguide.errors import ConfigError
from honeyguide.text.turkish import Normaliser
from honeyguide.text.turkish.normaliser import _piece_memo
from honeyguide.text.turkish.vocabulary import (
    PLAIN_LETTERS,
    flip_letter,
    is_harmonic,
    load_letter_restorer,
    load_vocabulary,
)
from honeyguide.text.turkish.word_repair import ENOUGH_CHARS, DiacriticUse, diacritic_use

PLAIN_TEXT = (
    "Turkiye'nin buyuk sehirlerinde yasayan insanlarin cogu sabahlari ise giderken yollarda uzun "
    "sure bekliyor. Yagmurlu gunlerde bu sure daha da artiyor ve herkes sikayet ediyor."
)


def said(text: str, **switches: Any) -> str:
    return " ".join(Normaliser(**switches).words(text))


def test_words_of_sentences_are_the_words_of_the_text() -> None:
    normaliser = Normaliser()
    found = normaliser.sentence_words(PLAIN_TEXT)
    assert len(found) == 2
    assert list(chain(*found)) == normaliser.words(PLAIN_TEXT)


def test_repeated_letters_become_one_or_two() -> None:
    assert said("güzeeeel dikkkat arkadaşşlar müdür") == "güzel dikkat arkadaşlar müdür"
    assert said("dikkat millet hissetti elli") == "dikkat millet hissetti elli"
    assert said("1000000 XIII") == "bir milyon xiii"
    assert said("seviooorummm") == "seviorum"


def test_a_text_without_marks_gets_them_back() -> None:
    assert diacritic_use(PLAIN_TEXT) is DiacriticUse.MISSING
    assert said(PLAIN_TEXT).startswith(
        "türkiye büyük şehirlerinde yaşayan insanların çoğu sabahları"
    )
    assert said(PLAIN_TEXT).endswith(
        "yağmurlu günlerde bu süre daha da artıyor ve herkes şikayet ediyor"
    )
    assert said(PLAIN_TEXT, deasciify=False).startswith("turkiye buyuk")


def test_how_a_text_treats_marked_letters() -> None:
    assert diacritic_use("çok") is diacritic_use("x" * 10**6 + "İ") is DiacriticUse.GIVEN
    assert diacritic_use("cok") is diacritic_use("é" * 50) is DiacriticUse.UNCLEAR
    assert diacritic_use("a" * ENOUGH_CHARS) is DiacriticUse.MISSING


def test_words_that_are_words_stay_in_careful_texts() -> None:
    assert said("adi yas kok sinir, şöyle") == "adi yas kok sinir şöyle"
    assert said("cok guzel, şöyle") == "çok güzel şöyle"


@pytest.mark.parametrize(
    "text",
    [
        "Washington Johnson Bennett Anna Schmidt",
        "software computer framework network",
        "NATO IBM ABD",
        "Al Gore",
        "what is this",
        "mp3 h1n1 covid19 b12 a101 100tl kanal1 1lik 5li 4x4 3d g20",
    ],
)
def test_names_and_foreign_words_stay(text: str) -> None:
    assert said(f"{text} şöyle") == f"{text.lower()} şöyle"


@pytest.mark.parametrize(
    "piece",
    [
        "https://www.ISPARTA.example/cok/guzel?slm=105",
        "www.cok-guzel.com",
        "slm@nbr.com.tr",
        "@slm_nbr",
        "slm_nbr",
        "cok.guzel()",
        "cok::guzel->slm",
        "C:\\slm\\nbr",
        "<slm>",
        "slm=105",
        "/usr/slm/nbr",
        "slm.txt",
        "${slm}",
    ],
)
def test_addresses_and_code_are_not_touched(piece: str) -> None:
    words = Normaliser().words(piece)
    assert words
    assert "".join(words) in "".join(c for c in piece.lower() if c.isalnum())
    assert not {"selam", "çok", "yüz", "ısparta"} & set(words)


def test_words_of_other_scripts_stay() -> None:
    assert said("машина 機械学習 ΣΑΣ ǀǁǂ مرحبا çok") == "машина 機械学習 σας ǀǁǂ مرحبا çok"


def test_long_pieces() -> None:
    assert said("ç" + "o" * 10**6 + "k") == "çok"
    assert said("kelime/" * 20) == "kelime " * 19 + "kelime"


def test_letters_are_composed_and_stray_dots_go() -> None:
    assert said("s\u0327ehir i\u0307hlalli I\u0307zmir gu\u0308zel ke\xadlime") == (
        "şehir ihlalli izmir güzel kelime"
    )


def test_dotless_capitals() -> None:
    assert said("Istanbul Isparta Iverson WINDOWS TURKIYE ISPARTA, şöyle") == (
        "istanbul ısparta iverson windows türkiye ısparta şöyle"
    )


def test_endings_of_names_go() -> None:
    assert said("Ankara'da İzmir’in O'Neill TBMM'nin") == "ankara izmir o neill tbmm"
    assert said("Ankara'da", endings=False) == "ankara da"


def test_without_folding_unchanged_words_keep_their_case() -> None:
    assert said("GaziAntep SLM cok", fold=False) == "GaziAntep selam çok"


def test_slang_in_capitals_is_an_abbreviation_in_careful_texts() -> None:
    assert said("KİB açıkladı") == "kib açıkladı"
    assert said("kib, öptüm") == "kendine iyi bak öptüm"


def test_harmony() -> None:
    assert is_harmonic("taraf", "ından")
    assert not is_harmonic("taraf", "indan")
    assert is_harmonic("gel", "iyorum")
    assert is_harmonic("yarın", "ki")
    known = load_vocabulary().is_word
    for word in (
        "kitabımızdan",
        "saatlerinizde",
        "ihlalinin",
        "gözlüklerimizi",
        "etteki",
        "cerrahinin",
    ):
        assert known(word), word
    for word in ("kitabimizdan", "saatlarınızda", "gozluklerimizi", "hoşlanmmadım"):
        assert not known(word), word


@given(st.text("abcçdefgğhıijklmnoöprsştuüvyz", max_size=30))
def test_restoring_changes_marks_only(word: str) -> None:
    plain = word.translate(PLAIN_LETTERS)
    restored, doubts = load_letter_restorer().restore_marks(plain)
    assert restored.translate(PLAIN_LETTERS) == plain
    assert [d for d, _ in doubts] == sorted(d for d, _ in doubts)
    for _, place in doubts:
        assert flip_letter(flip_letter(restored, place), place) == restored


@given(st.text(max_size=200))
def test_any_text_gives_plain_words(text: str) -> None:
    normaliser = Normaliser()
    for word in normaliser.words(text):
        assert word
        assert not any(c.isspace() for c in word)
        assert len(word) <= 64
    assert normaliser.words(text) == normaliser.words(text)
    normaliser.sentence_words(text)
    normaliser.explain(text)


@given(st.lists(st.sampled_from(["çok", "$", "1", "4u", "''", "a", "İ", "ı", ".", "%", "0"])))
def test_pieces_of_odd_parts(parts: list[str]) -> None:
    normaliser, text = Normaliser(stops=True, stems=True), "".join(parts)
    for _, before, after in normaliser.explain(text):
        assert before != after
    assert all(word and not word.isspace() for word in normaliser.words(text))


MANY = 200_000


@pytest.mark.parametrize(
    "text",
    [
        "ç" * 10_000_000,
        "ço" * MANY,
        "o" * MANY + " " + "so" * MANY,
        "." * MANY + "a",
        "!'" * MANY,
        "\ud800" * MANY + " çok\udfff",
        "a\u0307\u0323\u0327" * MANY,
        "1" * MANY + "." + "000." * 1000,
        "a'" * MANY,
        "$1" * MANY,
        "a.b" * MANY,
        "I" * MANY,
        "Dr. " * (MANY // 4),
        "http://" + "a/" * MANY,
    ],
    ids=lambda text: ascii(text[:6]),
)
def test_hostile_texts_take_time_in_proportion(text: str) -> None:
    start = time.process_time()
    normaliser = Normaliser()
    assert all(len(word) <= 64 for word in normaliser.words(text))
    normaliser.sentences(text)
    normaliser.explain(text)
    assert time.process_time() - start < 5


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("honeyguide.text.turkish.normaliser._MEMO", 10)
    normaliser = Normaliser(endings=False, emo=False)
    text = " ".join(f"çok{n}" for n in range(100)) + " " + "ç" * 1000
    normaliser.words(text)
    memory = _piece_memo(normaliser, DiacriticUse.GIVEN)
    assert 0 < len(memory) <= 10
    assert max(map(len, memory)) <= 64


def test_own_tables_are_added(tmp_path: Path) -> None:
    (tmp_path / "slang.txt").write_text("\ufeff# ours\nHGS = hızlı geçiş\nslm = merhaba\n")
    (tmp_path / "abbreviations.txt").write_text("Öğrt. = -\n")
    own = Normaliser(tables=str(tmp_path))
    assert own.words("hgs slm nbr") == ["hızlı", "geçiş", "merhaba", "ne", "haber"]
    assert own.sentences("Öğrt. Ali geldi. Gitti.") == ["Öğrt. Ali geldi.", "Gitti."]
    assert len(Normaliser().sentences("Öğrt. Ali geldi. Gitti.")) == 3


@pytest.mark.parametrize(
    ("content", "complaint"),
    [(b"slm selam", "line 1"), (b"\xff\xfe", "cannot be read"), (b"#" * 1_000_001, "larger")],
)
def test_wrong_tables_are_told(tmp_path: Path, content: bytes, complaint: str) -> None:
    (tmp_path / "slang.txt").write_bytes(content)
    with pytest.raises(ConfigError, match=complaint):
        Normaliser(tables=str(tmp_path)).words("a")


def test_missing_tables_are_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"none of slang\.txt"):
        Normaliser(tables=str(tmp_path)).words("a")
    with pytest.raises(ConfigError, match="not a folder"):
        Normaliser(tables=str(tmp_path / "x")).words("a")


def test_data_is_small_and_says_whose_it_is() -> None:
    data = Path(__file__).parents[2] / "src/honeyguide/text/turkish/data"
    assert sum(file.stat().st_size for file in data.glob("*.xz")) < 1_000_000
    notice = (data / "LICENSES.md").read_text("utf-8")
    assert all(f"`{file.name}`" in notice for file in data.glob("*.txt*"))

"""Turkish numbers in words, and where Turkish sentences end."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from honeyguide.text.turkish import Normaliser
from honeyguide.text.turkish.normaliser import LARGEST_NUMBER, in_words, spoken_number


@pytest.mark.parametrize(
    ("piece", "words"),
    [
        ("0", "sıfır"),
        ("10", "on"),
        ("100", "yüz"),
        ("1000", "bin"),
        ("1923", "bin dokuz yüz yirmi üç"),
        ("2.001", "iki bin bir"),
        ("1.250.000", "bir milyon iki yüz elli bin"),
        ("1000000000", "bir milyar"),
        ("3.000.000.000.001", "üç trilyon bir"),
        ("-5", "eksi beş"),
        ("3,14", "üç virgül on dört"),
        ("0,05", "sıfır virgül sıfır beş"),
        ("2,0", "iki virgül sıfır"),
        ("%50", "yüzde elli"),
        ("50%", "yüzde elli"),
        ("%3,5'i", "yüzde üç virgül beşi"),
        ("(105)", "yüz beş"),
        ("105'te", "yüz beşte"),
        ("4'üncü", "dördüncü"),
        ("3.", "üçüncü"),
        ("24.", "yirmi dördüncü"),
        ("1923.", "bin dokuz yüz yirmi üç"),
        ("1.234,", "bin iki yüz otuz dört"),
    ],
)
def test_numbers_in_words(piece: str, words: str) -> None:
    assert spoken_number(piece) == words
    assert Normaliser().words(piece) == words.split()
    assert Normaliser(numbers=False).words(piece) != words.split()


@pytest.mark.parametrize(
    "piece",
    [
        "05321234567",
        "12:30",
        "29.10.2015",
        "1.2.3.4",
        "v2.0",
        "mp3",
        "10-20",
        "1,234,567",
        "1.23",
        "١٢",
        "²",
        "12.3456",
        "9" * 16,
        "1" + ".000" * 5,
    ],
)
def test_what_is_no_number_stays(piece: str) -> None:
    assert spoken_number(piece) == ""


@given(st.integers(-LARGEST_NUMBER, LARGEST_NUMBER))
def test_each_number_reads_differently_and_can_be_counted_back(number: int) -> None:
    ones = ["sıfır", "bir", "iki", "üç", "dört", "beş", "altı", "yedi", "sekiz", "dokuz"]
    tens = ["on", "yirmi", "otuz", "kırk", "elli", "altmış", "yetmiş", "seksen", "doksan"]
    scales = {"bin": 10**3, "milyon": 10**6, "milyar": 10**9, "trilyon": 10**12}
    total = group = 0
    words = in_words(number)
    sign = -1 if words[0] == "eksi" else 1
    for word in words[sign < 0 :]:
        if word in ones:
            group += ones.index(word)
        elif word in tens:
            group += 10 * (tens.index(word) + 1)
        elif word == "yüz":
            group = max(group, 1) * 100
        else:
            total, group = total + max(group, 1) * scales[word], 0
    assert sign * (total + group) == number


def test_numbers_have_an_end() -> None:
    with pytest.raises(ValueError, match="16 digits"):
        in_words(LARGEST_NUMBER + 1)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("Prof. Dr. A. Yılmaz geldi. Sonra gitti.", 2),
        ("Elma, armut vb. meyveler. Bitti.", 2),
        ("Elma, armut vb. Sonra gitti.", 2),
        ("Bugün 3. Bölüm ve IV. Murat var.", 1),
        ("Fiyat 3.14 ya da 2,5 lira. www.ornek.com.tr adresine bak.", 2),
        ("Ne? Nasıl! Neden… “Gel.” Peki...", 5),
        ("Gel! dedi.", 1),
        ("Bir\nİki\r\n\n\nÜç", 3),
        ("Yıl 1923. Cumhuriyet kuruldu.", 2),
        ("", 0),
        (" \n ", 0),
    ],
)
def test_where_sentences_end(text: str, count: int) -> None:
    found = Normaliser().sentences(text)
    assert len(found) == count, found
    assert "".join("".join(found).split()) == "".join(text.split())
    assert len(Normaliser(segment=False).sentences(text)) == min(count, 1)

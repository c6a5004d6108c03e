"""Codes and names of languages: ISO 639-1 with the three letters of ISO 639-2.

Other codes of three letters (ISO 639-3) are accepted as they are: there are seven thousand.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches
from functools import lru_cache

from honeyguide.errors import ConfigError

_TABLE = """
    aa aar Afar, ab abk Abkhazian, ae ave Avestan, af afr Afrikaans, ak aka Akan, am amh Amharic,
    an arg Aragonese, ar ara Arabic, as asm Assamese, av ava Avaric, ay aym Aymara,
    az aze Azerbaijani, ba bak Bashkir, be bel Belarusian, bg bul Bulgarian, bh bih Bihari,
    bi bis Bislama, bm bam Bambara, bn ben Bengali, bo bod/tib Tibetan, br bre Breton,
    bs bos Bosnian, ca cat Catalan, ce che Chechen, ch cha Chamorro, co cos Corsican,
    cr cre Cree, cs ces/cze Czech, cu chu Church Slavonic, cv chv Chuvash, cy cym/wel Welsh,
    da dan Danish, de deu/ger German, dv div Divehi, dz dzo Dzongkha, ee ewe Ewe,
    el ell/gre Greek, en eng English, eo epo Esperanto, es spa Spanish, et est Estonian,
    eu eus/baq Basque, fa fas/per Persian, ff ful Fulah, fi fin Finnish, fj fij Fijian,
    fo fao Faroese, fr fra/fre French, fy fry Western Frisian, ga gle Irish,
    gd gla Scottish Gaelic, gl glg Galician, gn grn Guarani, gu guj Gujarati, gv glv Manx,
    ha hau Hausa, he heb Hebrew, hi hin Hindi, ho hmo Hiri Motu, hr hrv Croatian,
    ht hat Haitian Creole, hu hun Hungarian, hy hye/arm Armenian, hz her Herero,
    ia ina Interlingua, id ind Indonesian, ie ile Interlingue, ig ibo Igbo, ii iii Nuosu,
    ik ipk Inupiaq, io ido Ido, is isl/ice Icelandic, it ita Italian, iu iku Inuktitut,
    ja jpn Japanese, jv jav Javanese, ka kat/geo Georgian, kg kon Kongo, ki kik Kikuyu,
    kj kua Kuanyama, kk kaz Kazakh, kl kal Greenlandic, km khm Khmer, kn kan Kannada,
    ko kor Korean, kr kau Kanuri, ks kas Kashmiri, ku kur Kurdish, kv kom Komi, kw cor Cornish,
    ky kir Kyrgyz, la lat Latin, lb ltz Luxembourgish, lg lug Ganda, li lim Limburgish,
    ln lin Lingala, lo lao Lao, lt lit Lithuanian, lu lub Luba-Katanga, lv lav Latvian,
    mg mlg Malagasy, mh mah Marshallese, mi mri/mao Maori, mk mkd/mac Macedonian,
    ml mal Malayalam, mn mon Mongolian, mr mar Marathi, ms msa/may Malay, mt mlt Maltese,
    my mya/bur Burmese, na nau Nauruan, nb nob Norwegian Bokmål, nd nde North Ndebele,
    ne nep Nepali, ng ndo Ndonga, nl nld/dut Dutch, nn nno Norwegian Nynorsk, no nor Norwegian,
    nr nbl South Ndebele, nv nav Navajo, ny nya Chewa, oc oci Occitan, oj oji Ojibwa,
    om orm Oromo, or ori Odia, os oss Ossetian, pa pan Punjabi, pi pli Pali, pl pol Polish,
    ps pus Pashto, pt por Portuguese, qu que Quechua, rm roh Romansh, rn run Kirundi,
    ro ron/rum Romanian, ru rus Russian, rw kin Kinyarwanda, sa san Sanskrit, sc srd Sardinian,
    sd snd Sindhi, se sme Northern Sami, sg sag Sango, si sin Sinhala, sk slk/slo Slovak,
    sl slv Slovenian, sm smo Samoan, sn sna Shona, so som Somali, sq sqi/alb Albanian,
    sr srp Serbian, ss ssw Swazi, st sot Southern Sotho, su sun Sundanese, sv swe Swedish,
    sw swa Swahili, ta tam Tamil, te tel Telugu, tg tgk Tajik, th tha Thai, ti tir Tigrinya,
    tk tuk Turkmen, tl tgl Tagalog, tn tsn Tswana, to ton Tongan, tr tur Turkish, ts tso Tsonga,
    tt tat Tatar, tw twi Twi, ty tah Tahitian, ug uig Uyghur, uk ukr Ukrainian, ur urd Urdu,
    uz uzb Uzbek, ve ven Venda, vi vie Vietnamese, vo vol Volapük, wa wln Walloon, wo wol Wolof,
    xh xho Xhosa, yi yid Yiddish, yo yor Yoruba, za zha Zhuang, zh zho/chi Chinese, zu zul Zulu
"""

RAW_SUFFIX = "-x-raw"
"""Ends the code of a language whose words are read as they are written, without repair (a private
part by BCP 47): ``tr-x-raw``."""

_CODE = re.compile(r"[a-z]{2,3}")


def language_name(code: str) -> str:
    """The English name of a language; its code if it is unknown.

    >>> language_name("tr")
    'Turkish'
    """
    return _names_by_code().get(code, code)


def language_names(codes: Iterable[str]) -> str:
    """Several names in a sentence.

    >>> language_names(["tr", "de", "en"])
    'Turkish, German or English'
    """
    *first, last = map(language_name, codes)
    return f"{', '.join(first)} or {last}" if first else last


def check_language_code(code: str, key: str) -> None:
    """Raise ConfigError for an unknown code, with a suggestion if there is one."""
    if code in _names_by_code() or (
        _CODE.fullmatch(code) and len(code) == 3 and code not in _short_by_long()
    ):
        return
    near = _meant_codes(code)
    hint = (
        f"did you mean {' or '.join(f'{one!r} ({language_name(one)})' for one in near)}?"
        if near
        else "codes are such as 'en', 'de', 'tr' (ISO 639-1)"
    )
    raise ConfigError(f"{key}: there is no language with the code {code!r:.40}; {hint}")


def _meant_codes(code: str) -> list[str]:
    """Similar codes: by the name of a language, a region, or a typing error."""
    plain = re.split("[-_.]", code.strip().lower()[:40])[0]
    if plain in _names_by_code():
        return [plain]
    if plain in _short_by_long():
        return [_short_by_long()[plain]]
    names = {name.lower(): two for two, name in _names_by_code().items()}
    if meant := get_close_matches(plain, names, 2, 0.75):
        return [names[one] for one in meant]
    return get_close_matches(plain, _COMMON, 2, 0.4) if len(plain) < 4 else []


_COMMON = (
    "en", "tr", "de", "fr", "es", "it", "pt", "nl", "ru", "pl", "uk", "ar", "fa", "zh", "ja", "ko",
    "sv", "da", "no", "fi", "cs", "hu", "ro", "el", "he", "hi", "id", "vi", "az",
)  # fmt: skip


@lru_cache(maxsize=1)
def _code_table() -> tuple[tuple[str, str, str], ...]:
    found = (entry.strip().split(" ", 2) for entry in _TABLE.replace("\n", " ").split(","))
    return tuple((two, three, name) for two, three, name in found)


@lru_cache(maxsize=1)
def _names_by_code() -> dict[str, str]:
    return {two: name for two, _, name in _code_table()}


@lru_cache(maxsize=1)
def _short_by_long() -> dict[str, str]:
    """Three letters → two."""
    return {one: two for two, three, _ in _code_table() for one in three.split("/")}

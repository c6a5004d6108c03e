"""Words of a description that say what kind of page is wanted, and not what it is about.

``stories`` finds everything and ``lupus`` finds lupus. No list of how frequent words are comes with
us, so the words that descriptions of topics are full of are named here; stop words come on top.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import combinations
from typing import Literal, NamedTuple

from honeyguide.search.query import Query, clean_phrase, fold_term
from honeyguide.text.keywords import key_phrases
from honeyguide.text.language import Language, language_of

_GENERIC_WORDS = {
    "en": (
        "account article blog book care case child collection community daily diary disease "
        "doctor everyday experience family feeling forum good group guide health help history "
        "home idea illness information interview issue journal journey kind kid learn letter "
        "life list live living love man medical medicine memoir men narrative need new news old "
        "online page parent patient people person personal post problem project question read "
        "recent report research resource review science section share site social society "
        "stories story study subject suffer support talk tell text thing thought time tip topic "
        "treatment website woman women word work world write writing year young"
    ),
    "de": (
        "alltag alltäglich arbeit artikel arzt austausch behandlung bericht betroffene blog "
        "buch eltern erfahrung erfahrungsbericht erkrankung familie forum frage frau geschichte "
        "gesellschaft gesundheit gruppe hilfe information jahr kind krankheit leben leute mann "
        "mensch nachricht patient persönlich person problem seite studie tagebuch tag text "
        "thema website zeit"
    ),
    "fr": (
        "an année article blog cas enfant étude expérience famille femme forum gens groupe "
        "histoire homme information jour journal livre maladie médecin monde page parent "
        "patient personne personnel problème question récit recherche santé site société "
        "soutien sujet témoignage texte traitement travail vie vivre"
    ),
    "es": (
        "año artículo ayuda blog caso día diario enfermedad estudio experiencia familia foro "
        "gente grupo historia hombre información libro médico mujer mundo niño noticia página "
        "paciente padre persona personal pregunta problema relato salud sitio sociedad tema "
        "texto testimonio tiempo trabajo tratamiento vida vivir"
    ),
    "tr": (
        "aile araştırma blog bilgi çocuk deneyim destek doktor dünya forum günlük haber hasta "
        "hastalık hayat hikaye hikâye hikayesi hikayeleri insan kadın kişi kişisel kitap konu "
        "makale öykü sağlık sayfa site sorun soru tedavi toplum yaşam yardım yaşayan yazı yıl"
    ),
}


def is_generic(word: str, code: str) -> bool:
    """Whether this word, in that language, hardly tells a subject."""
    tongue = language_of(code)
    return word in tongue.stop_words or tongue.stems[word] in _generic_stems(code)


@lru_cache(maxsize=16)
def _generic_stems(code: str) -> frozenset[str]:
    tongue = language_of(code)
    said = _GENERIC_WORDS.get(code.partition("-")[0], "")
    return frozenset(tongue.stems[word] for word in tongue.words(said))


# --------------------------------------------------------------------------------------------------
# Queries before anything is known but the topic: its keywords and its description.
#
# Keywords are asked as they were given. Of a description only words are taken, since it was written
# for people: nobody's page holds a piece of it word for word.
# --------------------------------------------------------------------------------------------------


StatedIn = Literal["", "keywords", "description"]
"""What of a topic a query was made from; description: of that alone."""

_MAX_COMBINED = 12
"""Keywords and words of the description that are combined …"""
_MAX_KEYWORDS = 30
"""… and keywords that are asked for by themselves."""
_MAX_TERM_LENGTH = 60
_DESCRIPTION_WEIGHT, _GENERIC_WEIGHT = 0.5, 0.2
"""What a word of the description counts beside a keyword, and one that tells no subject."""
_REASONS = {(True, False): "keywords", (False, True): "description"}


class TopicQuery(NamedTuple):
    """A query that the topic's own words make."""

    query: Query
    score: float
    why: str
    stated_in: StatedIn


def queries_from_topic(
    keywords: Sequence[str], description: str, tongue: Language
) -> list[TopicQuery]:
    """Singles, pairs and triples of the topic's own words.

    Earlier keywords count for more, by a little; the score of several terms is their sum. What of
    the description tells no subject is not asked for alone.
    """
    weights: dict[str, float] = {}
    names: dict[str, str] = {}
    for n, word in enumerate(keywords[:_MAX_KEYWORDS]):
        _add_term(word, 1.0 - n / (2 * _MAX_KEYWORDS), weights, names)
    named = set(weights)
    for n, word in enumerate(_description_words(description, tongue)):
        worth = _GENERIC_WEIGHT if is_generic(word, tongue.code) else _DESCRIPTION_WEIGHT
        _add_term(word, worth * (1.0 - n / (2 * _MAX_COMBINED)), weights, names)
    terms = sorted(weights, key=lambda key: -weights[key])
    alone = [key for key in terms if key in named or not is_generic(key, tongue.code)]
    stems = {key: {tongue.stems[word] for word in tongue.words(key)} for key in terms}
    made: list[TopicQuery] = []
    for size in (1, 2, 3):
        for some in combinations((alone or terms) if size == 1 else terms[:_MAX_COMBINED], size):
            if all(stems[a].isdisjoint(stems[b]) for a, b in combinations(some, 2)):
                query = Query(tuple(names[key] for key in some))
                own = [key in named for key in some]
                why = _REASONS.get((all(own), not any(own)), "keywords and description")
                score = sum(weights[key] for key in some)
                stated: StatedIn = "keywords" if any(own) else "description"
                made.append(TopicQuery(query, score, f"the topic's {why}", stated))
    return sorted(made, key=lambda one: (len(one.query.terms), -one.score))


def _description_words(description: str, tongue: Language) -> list[str]:
    """Its words, those of its best phrases first; where a script has no blanks, the phrases."""
    found = key_phrases(description, tongue.code, share=1.0, most=_MAX_COMBINED)
    return list(dict.fromkeys(word for said in found for word in said.name.split()))[:_MAX_COMBINED]


def _add_term(word: str, weight: float, weights: dict[str, float], names: dict[str, str]) -> None:
    name = clean_phrase(word)
    if name and len(name) <= _MAX_TERM_LENGTH and (key := fold_term(name)) not in weights:
        weights[key], names[key] = weight, name

"""Words of a description that say what kind of page is wanted, and not what it is about.

``stories`` finds everything and ``lupus`` finds lupus. No list of how frequent words are comes with
us, so the words that descriptions of topics are full of are named here; stop words come on top.
"""

from __future__ import annotations

from functools import lru_cache

from honeyguide.text.language import language_of

_WORDS = {
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


def vague(word: str, code: str) -> bool:
    """Whether this word, in that language, hardly tells a subject."""
    tongue = language_of(code)
    return word in tongue.stops or tongue.stems[word] in _stems(code)


@lru_cache(maxsize=16)
def _stems(code: str) -> frozenset[str]:
    tongue = language_of(code)
    said = _WORDS.get(code.partition("-")[0], "")
    return frozenset(tongue.stems[word] for word in tongue.words(said))

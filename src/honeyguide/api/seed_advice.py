"""Advice before a crawl: whether the words of a topic stand on its seeds, and which others do.

A few seeds are fetched, as politely as a crawl would fetch them. What is said of them is
:class:`~honeyguide.api.advice.Advice`, like what is said of a crawl.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from difflib import get_close_matches
from itertools import islice

from honeyguide import __version__
from honeyguide.api.advice import Advice
from honeyguide.config.settings import Settings, TopicSettings
from honeyguide.errors import FetchError, ParseError
from honeyguide.fetch.http import CurlFetcher, make_user_agent
from honeyguide.language_codes import language_names
from honeyguide.languages.detection import LanguageDetector
from honeyguide.learning import topics
from honeyguide.net.polite_fetch import PoliteFetcher
from honeyguide.parse.read import parse_page
from honeyguide.search.composer import generic_stems
from honeyguide.search.phrases import extract_phrases
from honeyguide.text.language import language_of
from honeyguide.text.relevance import TermMatcher
from honeyguide.types import Link, Page

_SEEDS = 3
"""Seeds that are fetched."""
_PATIENCE_S = 30.0
"""Seconds for one of them."""
_LIKENESS = 0.8
"""Two words are spelled alike that share so much, as difflib counts."""
_LEAST_TIMES = 2
"""Times that a word must stand on the seeds to be proposed."""
_WORDS = 3
"""Words that are proposed."""


def fetch_seeds(settings: Settings, told: Callable[[str], None] = lambda _: None) -> list[Page]:
    """Pages of the first few seeds; ``told`` hears why one is missing."""
    return asyncio.run(_fetch_seeds(settings, told))


async def _fetch_seeds(settings: Settings, told: Callable[[str], None]) -> list[Page]:
    agent = make_user_agent(settings.fetch.contact, __version__)
    fetcher = CurlFetcher(settings.fetch, user_agent=agent, archives=False)
    visitor = PoliteFetcher(fetcher, lab=bool(settings.fetch.lab))
    pages: list[Page] = []
    try:
        for seed in islice(dict.fromkeys(topics.seed_urls(settings)), _SEEDS):
            try:
                async with asyncio.timeout(_PATIENCE_S):
                    answer = await visitor.fetch_url(seed)
                pages.append(parse_page(answer, Link(answer.url)))
            except TimeoutError:
                told(f"{seed} does not answer within {_PATIENCE_S:.0f} seconds")
            except FetchError as error:
                told(f"{seed} returned no page: {error.detail or error}")
            except ParseError:
                told(f"{seed} returned no page: it holds no text")
    finally:
        await fetcher.aclose()
    return pages


def advise_on_seeds(settings: Settings, pages: Sequence[Page]) -> list[Advice]:
    """What these pages say of the topic's words, the most pressing first; mostly nothing."""
    topic = settings.topic
    if not pages or settings.topics or not (topic.keywords or topic.description):
        return []
    found = list(_other_language(topic, pages))
    if not found:
        found = list(_misspelled(topic, pages)) or list(_unseen_words(topic, pages))
    return [*found, *_generic_words(topic)]


def _other_language(topic: TopicSettings, pages: Sequence[Page]) -> Iterator[Advice]:
    """All seeds are in one language, and the words in another."""
    if _pages_with(topic.keywords or (topic.description,), topic, pages):
        return  # names are alike in many languages
    detected = {LanguageDetector().detect_page(page).code for page in pages}
    if len(detected) == 1 and (code := detected.pop()) and code != topic.keyword_language:
        here, there = (language_names((one,)) for one in (code, topic.keyword_language))
        yield Advice(
            "language",
            f"Your seeds are in {here}, and your words are read as {there}.",
            f"Say the topic in {here}, with --keyword-language {code}, or name other seeds.",
        )


def _misspelled(topic: TopicSettings, pages: Sequence[Page]) -> Iterator[Advice]:
    """A keyword stands on no seed, but a word that is spelled like it does."""
    times = _count_words(topic, pages)
    for place, keyword in enumerate(topic.keywords):
        words = language_of(topic.word_language).words(keyword)
        if any(times[word] for word in words) or _pages_with((keyword,), topic, pages):
            continue
        likely = [word for word, count in times.items() if count >= _LEAST_TIMES and len(word) > 3]
        alike = [get_close_matches(word, likely, 1, _LIKENESS) for word in words]
        if alike and all(alike):
            better = " ".join(word for (word,) in alike)
            keywords = [*topic.keywords[:place], better, *topic.keywords[place + 1 :]]
            yield Advice(
                "unseen",
                f"“{keyword}” stands on none of your seeds, and “{better}” does.",
                f"Take “{better}” instead?",
                {"topic": {"keywords": keywords}},
            )
            return  # the next one is said when this is mended


def _unseen_words(topic: TopicSettings, pages: Sequence[Page]) -> Iterator[Advice]:
    """No seed has a word of the topic."""
    stated = topic.keywords or language_of(topic.word_language).hint_words(topic.description)
    if not stated or _pages_with(stated, topic, pages):
        return
    seeds = f"none of your {len(pages)} seeds" if len(pages) > 1 else "your seed"
    sentence = f"{'Your words stand' if len(pages) > 1 else 'None of your words stands'} on {seeds}"
    if words := _telling_words(topic, pages):
        named = ", ".join(f"“{word}”" for word in words)
        proposal = f"These do: {named}. If they are your topic: add them as keywords?"
        changes = {"topic": {"keywords": [*topic.keywords, *words]}}
        yield Advice("unseen", f"{sentence}.", proposal, changes)
    else:
        yield Advice("unseen", f"{sentence}.", "Name a page that has them as a seed.")


def _generic_words(topic: TopicSettings) -> Iterator[Advice]:
    """Every keyword is one that stands on pages of all kinds."""
    reader = language_of(topic.word_language)
    common = generic_stems(topic.keyword_language)
    said = [
        all(word in reader.stop_words or reader.stems[word] in common for word in words)
        for words in map(reader.words, topic.keywords)
    ]
    if said and all(said) and not topic.description:
        words = ", ".join(f"“{keyword}”" for keyword in topic.keywords[:_WORDS])
        yield Advice(
            "generic",
            f"Pages of many topics have {words}.",
            "Add a keyword of yours alone, or the topic in a sentence (topic.description).",
        )


def _pages_with(terms: Sequence[str], topic: TopicSettings, pages: Sequence[Page]) -> int:
    matcher = TermMatcher(terms, topic.word_language)
    return sum(bool(matcher.count_terms(_text_of(page))[0].terms) for page in pages)


def _text_of(page: Page) -> str:
    return f"{page.title} . {' . '.join(page.headings)} . {page.text}"


def _count_words(topic: TopicSettings, pages: Sequence[Page]) -> Counter[str]:
    reader = language_of(topic.word_language)
    return Counter(
        word
        for page in pages
        for word in reader.words(_text_of(page))
        if word not in reader.stop_words
    )


def _telling_words(topic: TopicSettings, pages: Sequence[Page]) -> list[str]:
    """Phrases of the seeds: those of most seeds, then those in titles, then the most frequent."""
    reader = language_of(topic.word_language)
    found = [extract_phrases(page.url, page.title, page.text, 1.0, reader) for page in pages]
    seeds = Counter(key for one in found for key in one.phrases)
    names = {key: name for one in found for key, name in one.phrases.items()}
    titles = {reader.stems[word] for page in pages for word in reader.words(page.title)}
    matchers = {key: TermMatcher((names[key],), topic.word_language) for key in names}
    times = {
        key: sum(sum(m.count_terms(page.text)[0].terms.values()) for page in pages)
        for key, m in islice(matchers.items(), 200)
    }
    ranked = sorted(
        (key for key, count in times.items() if count >= _LEAST_TIMES),
        key=lambda key: (-seeds[key], titles.isdisjoint(key.split()), -times[key], key),
    )
    return [names[key] for key in ranked[:_WORDS]]

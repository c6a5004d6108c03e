"""Advice on a collection: what hinders its crawl, in a sentence, and what mends it.

:data:`RULES` is the table of rules, the most pressing first. Each looks at the same evidence and
says something, or mostly nothing: a crawl that does well gets no advice. What a settings change
can mend is mended by :func:`accept_advice`; it counts from the next start on. A question is
answered with yes or no, page by page or for all: they are labelled, and a crawl that runs learns
from them.

Words are proposed from the crawl's own likely pages, against its other pages as a background: what
is common everywhere, such as a site's name in every title, is never proposed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec

from honeyguide.api.topic_edit import change_topic_file
from honeyguide.config.settings import Settings
from honeyguide.errors import ConfigError, StoreError
from honeyguide.language_codes import language_names
from honeyguide.languages.gate import wanted_languages
from honeyguide.learning import topics
from honeyguide.search.phrases import PagePhrases, distinctive_phrases, extract_phrases
from honeyguide.store.store import Store, open_existing_store
from honeyguide.store.visits import VisitRow
from honeyguide.text.language import language_of
from honeyguide.text.relevance import TermMatcher
from honeyguide.types import Page

AdviceKind = Literal[
    "no_pages",
    "language",
    "barren",
    "no_words",
    "stray",
    "narrow",
    "wide",
    "one_kind",
    "untold",
    "unseen",
    "generic",
]

_SAVED_KEY = "advice"
_MAX_PAGES = 400
"""Newest pages that are read."""
_BARREN_VISITS = 400
"""So many visits without a relevant page are worth a word."""
_MIN_PAGES = 50
"""Pages below which nothing is said of how many are kept or in which language."""
_MIN_KEPT = 5
"""Kept pages that show what they have in common."""
_SIGNS, _SIGNS_SHARED = 5, 3
"""Most distinctive phrases of kept pages, and how many of them make another page look like one."""
_NARROW_RATIO = 2.5
"""Pages that look alike, for each that is kept, from which on the topic is read too narrowly."""
_STRAY_DENSITY, _SHORT_PAGE = 1.0, 200
"""Keywords in a thousand words below which a page is hardly about them; and words that every page
is taken to have."""
_STRAY_SHARE, _STRAY_PAGES, _STRAY_LABELS = 0.25, 5, 9
"""Share and number of such pages among the kept ones that are worth a question, and labels from
which on people have said enough."""
_UNTOLD_PAGES, _UNTOLD_KEPT = 150, 10
"""Pages, and kept ones, from which on somebody who only stated words is asked about some."""
_WIDE_SHARE = 0.9
_FOREIGN_SHARE = 0.8
_ONE_KIND_LABELS = 5
_NAMED_PAGES, _ASKED_PAGES = 3, 5
"""Pages that are named, so that a person can decide; and those of a question."""
_TITLE_CHARS = 60
_WORDS = 3
"""Words that are proposed."""
_MIN_WORD_SHARE = 0.2
"""Share of the likely pages that have a proposed word."""


@dataclass(frozen=True, slots=True)
class Advice:
    """Something that hinders a crawl, and what mends it."""

    kind: AdviceKind
    sentence: str
    """What was noticed."""
    proposal: str
    """What to do."""
    changes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Settings that accepting it writes, by table and key, or saying yes to most pages of a
    question; none: only a person can mend it."""
    command: str = ""
    """The command that mends it where no setting does: ``ask``."""
    pages: tuple[str, ...] = ()
    """Pages by which a person can decide: whether these are wanted."""
    titles: tuple[str, ...] = ()
    """Of these pages; nothing in them may steer a terminal."""
    question: bool = False
    """Yes or no is the answer, for each of these pages: they are labelled good, or bad."""

    @property
    def is_acceptable(self) -> bool:
        """Whether a key is enough; otherwise a person has more to do."""
        return self.question or bool(self.changes)

    def __str__(self) -> str:
        return f"{self.sentence} {self.proposal}"


class _SavedAdvice(NamedTuple):
    """What was found last, and what it was found from."""

    topic: str
    state: str
    advice: list[Advice]


def find_advice(folder: Path, settings: Settings, *, saved: bool = False) -> list[Advice]:
    """What to tell of a collection now, the most pressing first; mostly nothing.

    Reading pages takes a while, so what was found is kept until something changes. With ``saved``
    it will do until the topic changes: a crawl that runs changes everything else all the time.
    """
    if not (folder / "collection.db").exists():
        return []
    with open_existing_store(folder, "read") as store:
        topic = _digest(settings.topic, settings.topics, settings.stop)
        state = _collection_state(store)
        with suppress(msgspec.MsgspecError):
            last = msgspec.json.decode(store.get_meta(_SAVED_KEY) or "", type=_SavedAdvice)
            if last.topic == topic and (saved or last.state == state):
                return last.advice
        found = _apply_rules(store, settings)
    with suppress(StoreError), open_existing_store(folder, "write") as store:
        last = _SavedAdvice(topic, state, found)
        store.set_meta(_SAVED_KEY, msgspec.json.encode(last).decode())
    return found


def _collection_state(store: Store) -> str:
    """It changes when anything does that advice may depend on."""
    labels = [(label.url, label.value) for _, label in store.labels.effective_after()]
    live, relevant = store.generations.live_number(), store.counter.read_counts().relevant
    return _digest(store.visits.last_id(), store.threshold, live, relevant, labels)


def _digest(*values: object) -> str:
    return blake2b(repr(values).encode("utf-8", "replace"), digest_size=12).hexdigest()


def _apply_rules(store: Store, settings: Settings) -> list[Advice]:
    evidence = CrawlEvidence(store, settings)
    found = [advice for rule in RULES if (advice := rule(evidence))]
    return found or [advice for advice in [LAST_RULE(evidence)] if advice]


def accept_advice(folder: Path, settings: Settings, proposal: str) -> Advice:
    """Write into topic.toml what the advice with this proposal changes. A running crawl may have
    moved on to another one, with words from other pages, that nobody has seen."""
    with open_existing_store(folder, "read") as store:
        advice = _apply_rules(store, settings)  # never what was saved, perhaps by a stranger
    found = next((one for one in advice if one.proposal == proposal), None)
    if found is None:
        raise ConfigError("this advice does not hold any more; see: honeyguide advise")
    if not found.changes:
        raise ConfigError(f"no setting mends this: {found.proposal}")
    change_topic_file(folder, found.changes)
    return found


class PhraseSign(NamedTuple):
    """A phrase by which likely pages differ from the others."""

    key: str
    """Its stems."""
    name: str
    pages: int
    """Likely pages that have it."""


class CrawlEvidence:
    """What rules look at. What is costly is read when a rule asks for it first."""

    def __init__(self, store: Store, settings: Settings) -> None:
        self.store = store
        self.settings = settings
        self.counts = store.counter.read_counts()
        self.labels = {label.url: label.value for _, label in store.labels.effective_after()}
        topic = settings.topic
        kinds = {value >= 0.5 for value in topics.best_example_labels(settings).values()}
        kinds |= {True} if topic.good_files else set()
        self.example_kinds = kinds | ({False} if topic.bad_files else set())
        """Whether examples are good, or bad, or of both kinds."""

    @cached_property
    def barren_visits(self) -> int:
        """Newest visits since the last relevant one."""
        found = 0
        for relevant, *_ in self.store.visits.iter_outcomes(
            max(0, self.store.visits.last_id() - 2 * _BARREN_VISITS)
        ):
            found = 0 if relevant else found + 1
        return found

    @cached_property
    def rows(self) -> list[VisitRow]:
        """The newest pages that were judged, without copies and other languages."""
        since = max(0, self.store.visits.last_id() - 2 * _MAX_PAGES)
        rows = self.store.visits.iter_visits(page=True, since=since)
        judged = (r for r in rows if r.verdict is not None and r.ungated is None and not r.copy_of)
        return list({row.url: row for row in judged}.values())[-_MAX_PAGES:]

    def is_kept(self, row: VisitRow) -> bool:
        label = self.labels.get(row.url)
        if label is not None:
            return label >= 0.5
        return (row.verdict or 0.0) >= self.store.threshold

    @cached_property
    def pages(self) -> list[tuple[bool, Page]]:
        """These pages with their words, and whether each is kept."""
        return [(self.is_kept(row), self.store.visits.rebuild_page(row)) for row in self.rows]

    @cached_property
    def phrases(self) -> list[tuple[bool, PagePhrases]]:
        reader = language_of(self.settings.topic.word_language)
        return [
            (kept, extract_phrases(page.url, page.title, page.text, 1.0, reader))
            for kept, page in self.pages
        ]

    @cached_property
    def distinctive_signs(self) -> list[PhraseSign]:
        """Phrases of many kept pages and of few others, the best first; none of the topic's own."""
        kept = [phrases for is_kept, phrases in self.phrases if is_kept]
        rest = [phrases for is_kept, phrases in self.phrases if not is_kept]
        return find_signs(kept, rest, self.settings)

    @cached_property
    def start_signs(self) -> list[PhraseSign]:
        """Phrases of the seeds and good examples, against all other pages; none where a keyword
        stands on these already."""
        try:
            urls = set(topics.seed_urls(self.settings))
        except ConfigError:
            return []  # it has no seeds (yet)
        if self.count_with_keywords([page for _, page in self.pages if page.url in urls]):
            return []
        start = [phrases for _, phrases in self.phrases if phrases.url in urls]
        rest = [phrases for _, phrases in self.phrases if phrases.url not in urls]
        return find_signs(start, rest, self.settings)

    def count_with_keywords(self, pages: Sequence[Page]) -> int:
        """Pages on which a keyword stands."""
        topic = self.settings.topic
        matcher = TermMatcher(topic.keywords, topic.word_language)
        texts = (f"{p.title} . {' . '.join(p.headings)} . {p.text}" for p in pages)
        return sum(bool(matcher.count_terms(text)[0].terms) for text in texts)

    def keyword_density(self, page: Page) -> float:
        """How often keywords stand in a thousand words of a page."""
        topic = self.settings.topic
        matcher = TermMatcher(topic.keywords, topic.word_language)
        text = f"{page.title} . {' . '.join(page.headings)} . {page.text}"
        count, length = matcher.count_terms(text)
        return 1000 * sum(count.terms.values()) / max(length, _SHORT_PAGE)

    def add_keywords(self, signs: Sequence[PhraseSign]) -> tuple[str, dict[str, Any]]:
        """The proposal to add words, and the settings that it changes; none without words."""
        names = [sign.name for sign in signs[:_WORDS]]
        if not names or self.settings.topics:
            return "", {}
        words = ", ".join(f"“{name}”" for name in names)
        known = self.settings.topic.keywords
        return f"Add the keywords {words}?", {"topic": {"keywords": [*known, *names]}}


def find_signs(
    likely: Sequence[PagePhrases], rest: Sequence[PagePhrases], settings: Settings
) -> list[PhraseSign]:
    """Phrases that a fifth of the likely pages have, and that tell them from the rest."""
    if not likely or not rest:
        return []
    reader = language_of(settings.topic.word_language)
    own = {reader.stems[w] for text in settings.topic.keywords for w in reader.words(text)}
    pages = Counter(key for page in likely for key in page.phrases)
    names = {key: name for page in likely for key, name in page.phrases.items()}
    least = max(1 if len(likely) == 1 else 2, _MIN_WORD_SHARE * len(likely))
    found = [
        (phrase.weight * pages[phrase.key], phrase.key)
        for phrase in distinctive_phrases(likely, rest, 200)
        if pages[phrase.key] >= least and own.isdisjoint(phrase.key.split())
    ]
    return [PhraseSign(key, names[key], pages[key]) for _, key in sorted(found, reverse=True)]


# --- The rules ---


def no_page_came(seen: CrawlEvidence) -> Advice | None:
    """No seed returned a page."""
    failed = sum(seen.counts.failures.values())
    if seen.counts.pages or not failed:
        return None
    return Advice(
        "no_pages",
        f"No page came back: {'the only attempt' if failed == 1 else f'all {failed} attempts'} "
        "failed.",
        "Name other addresses under topic.seeds; honeyguide status says why these failed.",
    )


def language_is_not_wanted(seen: CrawlEvidence) -> Advice | None:
    """Nearly all pages are in one language that the topic leaves out."""
    wanted, tongues = wanted_languages(seen.settings), seen.counts.tongues
    foreign = {code: n for code, n in tongues.items() if code not in wanted}
    if not wanted or not foreign or sum(tongues.values()) < _MIN_PAGES:
        return None
    code = max(foreign, key=foreign.__getitem__)
    if foreign[code] < _FOREIGN_SHARE * sum(tongues.values()):
        return None
    name = language_names((code,))
    return Advice(
        "language",
        f"{foreign[code]} of {sum(tongues.values())} pages are in {name}, which is not wanted.",
        f"Add {name} to the languages?",
        {"topic": {"language": [*seen.settings.topic.language, code]}},
    )


def nothing_relevant_lately(seen: CrawlEvidence) -> Advice | None:
    """A long stretch of visits brought nothing."""
    barren, before = seen.barren_visits, seen.counts.relevant
    if barren < _BARREN_VISITS:
        return None
    sentence = f"Nothing relevant in the last {barren} visits"
    if before:
        return Advice(
            "barren",
            f"{sentence}, after {before} relevant pages: what can be reached may be found.",
            "Stop such runs early (stop.precision = 0.02), or name other seeds?",
            {"stop": {"precision": 0.02}},
        ) if not seen.settings.stop.precision else None  # fmt: skip
    proposal, changes = seen.add_keywords(seen.start_signs)
    if changes:
        return Advice("barren", f"{sentence}: your words do not fit the pages.", proposal, changes)
    return Advice("barren", f"{sentence}.", "Label a page that you want.", command="ask")


def keywords_stand_nowhere(seen: CrawlEvidence) -> Advice | None:
    """What is kept resembles a seed, and nothing that was said."""
    topic, kept = seen.settings.topic, [page for is_kept, page in seen.pages if is_kept]
    told = True in seen.example_kinds or any(value >= 0.5 for value in seen.labels.values())
    if told or not topic.keywords or len(seen.rows) < _MIN_PAGES or len(kept) < _MIN_KEPT:
        return None
    if seen.settings.topics or seen.count_with_keywords(kept) or topic_is_too_narrow(seen):
        return None  # the last says it, too
    named = _name_pages(kept)
    sentence = (
        f"Your keywords stand on none of the {len(kept)} pages that are kept, such as {named}."
    )
    if topic.seeds_are_doors:
        ask = "Label a page that you want."
        return Advice("no_words", sentence, ask, command="ask", **named._asdict())
    proposal = "If these are not what you want: take your seeds for mere doors, not for examples?"
    return Advice(
        "no_words", sentence, proposal, {"topic": {"seeds_are_doors": True}}, **named._asdict()
    )


def kept_pages_stray(seen: CrawlEvidence) -> Advice | None:
    """Many kept pages hardly have a keyword: other words of the topic led to them, or away."""
    topic, good = seen.settings.topic, [value >= 0.5 for value in seen.labels.values()]
    told = seen.example_kinds or any(good) or len(good) >= _STRAY_LABELS
    if told or not topic.keywords or seen.settings.topics or len(seen.rows) < _MIN_PAGES:
        return None
    kept = [page for is_kept, page in seen.pages if is_kept and page.url not in seen.labels]
    stray = [page for page in kept if seen.keyword_density(page) < _STRAY_DENSITY]
    if len(stray) < max(_STRAY_PAGES, _STRAY_SHARE * len(kept)):
        return None
    if keywords_stand_nowhere(seen) or topic_is_too_narrow(seen):
        return None  # they say it, too
    named = _name_pages(stray, _ASKED_PAGES)
    proposal, changes = seen.add_keywords(seen.distinctive_signs)
    return Advice(
        "stray",
        f"Your keywords hardly stand on {len(stray)} of the {len(kept)} pages that are kept, "
        f"such as {named}.",
        "Do you want these?" + (f" If most: {_lower_first(proposal)}" if changes else ""),
        changes,
        **named._asdict(),
        question=True,
    )


def _lower_first(text: str) -> str:
    return text[:1].lower() + text[1:]


def nobody_said(seen: CrawlEvidence) -> Advice | None:
    """The topic is stated in words alone, which may be read otherwise than they were meant: no
    count of a crawl can tell."""
    topic = seen.settings.topic
    words = topic.keywords or topic.description
    if seen.example_kinds or seen.labels or not words or len(seen.rows) < _UNTOLD_PAGES:
        return None
    kept = [row for row in seen.rows if seen.is_kept(row)]
    if len(kept) < _UNTOLD_KEPT or seen.settings.topics:
        return None
    kept.sort(key=lambda row: -(row.verdict or 0.0))
    named = _name_pages(list(map(seen.store.visits.rebuild_page, kept)), _ASKED_PAGES)
    return Advice(
        "untold",
        f"{len(kept)} pages are kept for your words, from the surest to the least sure: {named}.",
        "Do you want these?",
        **named._asdict(),
        question=True,
    )


class _NamedPages(NamedTuple):
    titles: tuple[str, ...]
    pages: tuple[str, ...]

    def __str__(self) -> str:
        return ", ".join(f"“{title}”" for title in self.titles)


def _name_pages(pages: Sequence[Page], most: int = _NAMED_PAGES) -> _NamedPages:
    """Some of them, spread over all."""
    named = pages[:: -(-len(pages) // most)]
    return _NamedPages(tuple(map(_plain_title, named)), tuple(page.url for page in named))


def topic_is_too_narrow(seen: CrawlEvidence) -> Advice | None:
    """Many pages look like the few that are kept."""
    kept = sum(map(seen.is_kept, seen.rows))
    if len(seen.rows) < _MIN_PAGES or kept < _MIN_KEPT or kept * _NARROW_RATIO > len(seen.rows):
        return None
    signs = seen.distinctive_signs
    keys = {sign.key for sign in signs[:_SIGNS]}
    alike = [
        (is_kept, page)
        for (_, phrases), (is_kept, page) in zip(seen.phrases, seen.pages, strict=True)
        if len(keys & phrases.phrases.keys()) >= _SIGNS_SHARED
    ]
    if len(alike) < _NARROW_RATIO * kept:
        return None
    named = _name_pages([page for is_kept, page in alike if not is_kept])
    left_out = f"left out are pages such as {named}."
    if not seen.settings.topic.keywords:
        # What good pages have in common may be too wide: only a person knows.
        sentence = f"{kept} pages are kept, and {len(alike)} look alike; {left_out}"
        return Advice("narrow", sentence, "Say which you want.", command="ask", **named._asdict())
    on = seen.count_with_keywords([page for _, page in alike])
    proposal, changes = seen.add_keywords(signs)
    if 2 * on > len(alike) or not changes:
        return None  # better words were accepted, or words are not what is missing
    return Advice(
        "narrow",
        f"Your keywords stand on {on} of {len(alike)} pages that look alike; {left_out}",
        f"If you want these: {_lower_first(proposal)}",
        changes,
        **named._asdict(),
    )


def _plain_title(page: Page) -> str:
    """Nothing in it may steer a terminal or turn the text around it."""
    return "".join(filter(str.isprintable, page.title))[:_TITLE_CHARS] or page.url


def topic_is_too_wide(seen: CrawlEvidence) -> Advice | None:
    """Nearly everything is kept, and nobody said that it should be."""
    kept = sum(map(seen.is_kept, seen.rows))
    told_bad = False in seen.example_kinds or any(v < 0.5 for v in seen.labels.values())
    if len(seen.rows) < _MIN_PAGES or kept < _WIDE_SHARE * len(seen.rows) or told_bad:
        return None
    return Advice(
        "wide",
        f"Nearly everything is kept ({kept} of {len(seen.rows)} pages): the words may be too wide.",
        "Label a page that you do not want.",
        command="ask",
    )


def labels_are_of_one_kind(seen: CrawlEvidence) -> Advice | None:
    """People labelled good pages only, or bad ones only."""
    known = seen.example_kinds | {value >= 0.5 for value in seen.labels.values()}
    if len(seen.labels) < _ONE_KIND_LABELS or len(known) != 1:
        return None
    given, missing = ("good", "bad") if True in known else ("bad", "good")
    return Advice(
        "one_kind",
        f"All {len(seen.labels)} labels are {given} pages.",
        f"Label a {missing} one.",
        command="ask",
    )


RULES: tuple[Callable[[CrawlEvidence], Advice | None], ...] = (
    no_page_came,
    language_is_not_wanted,
    nothing_relevant_lately,
    keywords_stand_nowhere,
    kept_pages_stray,
    topic_is_too_narrow,
    topic_is_too_wide,
    labels_are_of_one_kind,
)
"""The most pressing first."""
LAST_RULE = nobody_said
"""What is asked where nothing else is said."""

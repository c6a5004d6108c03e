"""Texts of a synthetic web: sentences of the embedded manuals, and pages in other languages."""

from __future__ import annotations

import re
import tomllib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from html import escape
from importlib.resources import files
from typing import Any, NamedTuple

from honeyguide.errors import ParseError
from honeyguide.lab import web
from honeyguide.lab.synthetic.seeded_random import SeededRandom
from honeyguide.lab.web import RecordedResponse
from honeyguide.parse.read import parse_body
from honeyguide.types import Link, Page, Url
from honeyguide.url import host_of

FIXED_TEXTS: dict[str, Any] = tomllib.loads(
    files("honeyguide.lab.synthetic").joinpath("texts.toml").read_text("utf-8")
)
"""Word lists and page designs; what a seed means depends on their order."""
FOREIGN_WORDS: dict[str, str] = FIXED_TEXTS["foreign_words"]
"""Language → its common words, with spaces between them."""


# --------------------------------------------------------------------------------------------------
# Forums and blogs of a made web: their software says more than their people at first sight.
#
# Every other host runs a board, whose threads quote the posts before; the others run a blog, whose
# readers quote it in comments. Front pages say what the software says, whatever the topic.
# --------------------------------------------------------------------------------------------------


UnitDraw = Callable[[], float]

_QUOTABLE_SENTENCE = re.compile(r"[^.!?<>]{20,}[.!?]")
_MAX_QUOTED = 2
"""Sentences of a quotation, at most."""


def front_title(design: int) -> str:
    return "Board index" if _is_board(design) else "Home page and latest posts"


def front_page_html(title: str, threads: Sequence[str], design: int, chance: UnitDraw) -> str:
    """A front page's inside; ``threads`` are links."""
    name, place = ("board_texts", "Topics") if _is_board(design) else ("blog_texts", "Recent posts")
    texts = [
        f"<p>{text.format(*(int(chance() * 90) + 2 for _ in range(3)))}</p>"
        for text in FIXED_TEXTS[name]
    ]
    rows = [
        f"<li>{thread} by {_random_user(chance)}, {int(chance() * 40)} replies</li>"
        for thread in threads
    ]
    middle = f'<h2>{place}</h2><ul class="topics">{"".join(rows)}</ul>'
    return "\n".join([f"<h1>{title}</h1>", *texts[:2], middle, *texts[2:]])


def thread_posts(paragraphs: Sequence[str], design: int, chance: UnitDraw) -> Iterator[str]:
    """Paragraphs as posts of a thread, or as an article with comments; later ones quote."""
    board = _is_board(design)
    for place, paragraph in enumerate(paragraphs):
        who, before = _random_user(chance), ""
        if place and chance() < 0.6:
            quoted = _QUOTABLE_SENTENCE.findall(paragraphs[int(chance() * place)])[:_MAX_QUOTED]
            if quoted:
                words = " ".join(sentence.strip() for sentence in quoted)
                before = (
                    f"<blockquote><cite>{_random_user(chance)} wrote:</cite> {words}</blockquote>"
                )
        if board:
            joined = f"Posts: {int(chance() * 5000)}. Joined: {2001 + int(chance() * 20)}."
            yield (
                f'<div class="post"><p class="author">{who}. {joined} Reply with quote.</p>'
                f"{before}<p>{paragraph}</p></div>"
            )
        elif place:
            yield f'<div class="comment"><p>{who} says:</p>{before}<p>{paragraph}</p></div>'
        else:
            yield f'<p class="meta">Posted by {who}. Leave a comment.</p><p>{paragraph}</p>'


def _is_board(design: int) -> bool:
    return bool(design >> 8 & 1)


def _random_user(chance: UnitDraw) -> str:
    return pick_item(FIXED_TEXTS["user_names"], chance())


# --------------------------------------------------------------------------------------------------
# What made pages say: real sentences and titles of the embedded manuals, a book per topic.
# --------------------------------------------------------------------------------------------------


MANUAL_HOSTS: dict[str, str] = FIXED_TEXTS["manual_hosts"]
"""Topic → the demo web's host with its text."""

FOREIGN_LANGUAGES = ("tr", "ru", "el", "ar", "zh")
"""Of pages without a topic, unless the plan names others."""

_PAGES_PER_MANUAL = 60
"""Read of each manual: enough to write millions of pages, and soon read."""
_MAX_SENTENCES = 2500
_MIN_TITLES = 50
"""Fewer would make too many pages alike."""
_FULL_SENTENCE = re.compile(r"(?:^|(?<=[.!?] ))[A-Z][^.!?\n]{25,240}[.!?](?=\s|$)", re.MULTILINE)
_TITLE_EDGES = re.compile(r"^[\d.\s]+|\s*[¶#]+\s*$|\s+[—-]\s.*$|\(\d+\)$")


class TopicText(NamedTuple):
    """The text of one topic, or of one language that is no topic. Ready for HTML."""

    language: str
    titles: tuple[str, ...]
    sentences: tuple[str, ...]


@lru_cache(maxsize=1)
def load_texts() -> dict[str, TopicText]:
    """Topic or language → its book. Reading the manuals takes a second, once a process."""
    pages: defaultdict[str, list[RecordedResponse]] = defaultdict(list)
    for record in web.load_demo_web():
        pages[host_of(record.url)].append(record)
    made = {topic: _manual_text(pages[name]) for topic, name in MANUAL_HOSTS.items()}
    return made | {language: _foreign_text(language) for language in FOREIGN_WORDS}


def _manual_text(records: list[RecordedResponse]) -> TopicText:
    records.sort(key=lambda record: record.url)
    chosen = records[:: max(1, len(records) // _PAGES_PER_MANUAL)]
    pages = [page for record in chosen if (page := _parse_page(record))]
    pages = [page for page in pages if page.language.partition("-")[0] in ("", "en")]
    headings = Counter(
        title for page in pages for title in {_clean_title(t) for t in (page.title, *page.headings)}
    )
    # What stands on every page of a manual (Navigation, See Also) is nobody's title.
    common = max(3, len(pages) // 10)
    titles = [t for t, n in headings.items() if n <= common and 8 <= len(t) <= 70]
    sentences = list(dict.fromkeys(s for page in pages for s in _FULL_SENTENCE.findall(page.text)))
    if len(titles) < _MIN_TITLES:  # a manual in one piece: its short sentences do as well
        titles += [sentence[:-1] for sentence in sentences if len(sentence) <= 60]
    return TopicText("en", _escape_texts(sorted(titles)), _escape_texts(sentences[:_MAX_SENTENCES]))


def _parse_page(record: RecordedResponse) -> Page | None:
    try:
        return parse_body(record.body, Link(Url(record.url)), record.header("content-type"))
    except ParseError:
        return None


def _clean_title(title: str) -> str:
    return _TITLE_EDGES.sub("", " ".join(title.split())).strip()


def _escape_texts(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(escape(" ".join(text.split()), quote=False) for text in texts)


def _foreign_text(language: str) -> TopicText:
    """A book of one language: its common words in any order, with its own stops."""
    words = FOREIGN_WORDS[language].split()
    dice = SeededRandom(0)
    space, stop = ("", "。") if language == "zh" else (" ", ".")

    def phrase(purpose: str, number: int, least: int, most: int) -> str:
        chance = dice.random_stream(f"{language} {purpose}", number).random
        length = least + int(chance() * (most - least + 1))
        return space.join(pick_item(words, chance()) for _ in range(length)).capitalize()

    titles = tuple(phrase("title", n, 3, 5) for n in range(200))
    return TopicText(language, titles, tuple(phrase("text", n, 9, 20) + stop for n in range(800)))


def pick_item(items: Sequence[str], chance: float) -> str:
    return items[int(chance * len(items))]

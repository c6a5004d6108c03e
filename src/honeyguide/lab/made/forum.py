"""Forums and blogs of a made web: their software says more than their people at first sight.

Every other host runs a board, whose threads quote the posts before; the others run a blog, whose
readers quote it in comments. Front pages say what the software says, whatever the topic.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

Chance = Callable[[], float]

_PEOPLE = (
    "anna", "bert71", "cloudy", "daisy", "emre", "foxtrot", "gus", "hopeful", "ines", "jd",
    "kestrel", "lou", "moonlit", "newbie", "otter", "pat", "quill", "rainer", "sunny", "tess",
)  # fmt: skip
_BOARD = (
    "It is currently not possible to post without signing in. All times are UTC.",
    "Please read the rules before you post your first message, and use the search function.",
    "In total there are {} users online: {} registered, none hidden and {} guests, based on users "
    "active over the past five minutes.",
    "You cannot post new topics in this forum. You cannot reply to topics in this forum. You "
    "cannot edit your posts in this forum. Delete cookies. Contact us. The team. Members.",
)
_BLOG = (
    "Welcome to my blog! Scroll down for the latest posts, or browse the archive by month.",
    "Subscribe by e-mail and never miss a post. We use cookies to give you the best experience.",
    "Leave a reply. Your e-mail address will not be published. Required fields are marked. {} "
    "comments on {} posts by {} readers.",
    "Older posts. Categories. Tags. Archives. Meta. Log in. Entries feed. Comments feed. Theme "
    "by the makers of this software.",
)
_SENTENCE = re.compile(r"[^.!?<>]{20,}[.!?]")
_QUOTED = 2
"""Sentences of a quotation, at most."""


def front_title(design: int) -> str:
    return "Board index" if _board(design) else "Home page and latest posts"


def front(title: str, threads: Sequence[str], design: int, chance: Chance) -> str:
    """A front page's inside; ``threads`` are links."""
    words, place = (_BOARD, "Topics") if _board(design) else (_BLOG, "Recent posts")
    said = [f"<p>{text.format(*(int(chance() * 90) + 2 for _ in range(3)))}</p>" for text in words]
    rows = [
        f"<li>{thread} by {_somebody(chance)}, {int(chance() * 40)} replies</li>"
        for thread in threads
    ]
    middle = f'<h2>{place}</h2><ul class="topics">{"".join(rows)}</ul>'
    return "\n".join([f"<h1>{title}</h1>", *said[:2], middle, *said[2:]])


def posts(paragraphs: Sequence[str], design: int, chance: Chance) -> Iterator[str]:
    """Paragraphs as posts of a thread, or as an article with comments; later ones quote."""
    board = _board(design)
    for place, paragraph in enumerate(paragraphs):
        who, before = _somebody(chance), ""
        if place and chance() < 0.6:
            quoted = _SENTENCE.findall(paragraphs[int(chance() * place)])[:_QUOTED]
            if quoted:
                words = " ".join(sentence.strip() for sentence in quoted)
                before = f"<blockquote><cite>{_somebody(chance)} wrote:</cite> {words}</blockquote>"
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


def _board(design: int) -> bool:
    return bool(design >> 8 & 1)


def _somebody(chance: Chance) -> str:
    return _PEOPLE[int(chance() * len(_PEOPLE))]

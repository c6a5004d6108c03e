"""Words of the web, made fit to be shown: in a message, a terminal, a chat, a feed.

Whoever writes a page writes part of our messages. Nothing of theirs may end a line, turn the
reading direction, become markup, call people by name in a chat, or be a link that we did not make.
"""

from __future__ import annotations

import re
from html import escape

from honeyguide.url import authority, canonical

_UNSEEN = re.compile(
    "["
    "\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f"  # control characters; XML refuses most of them
    "\xad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f"  # bidi marks, invisible signs
    "\ud800-\udfff\ufdd0-\ufdef\ufeff\ufff0-\ufffb\ufffe\uffff"  # what is no character
    "\U000e0000-\U000e0fff"  # tags: a text inside the text that nobody sees
    "]+"
)
_MARKUP = re.compile(r"[\\`*_\[\]]|~(?=~)|(?<=~)~")
_CALL = re.compile(r"@(?=\w)")
_LONGEST = 2083
"""Longer addresses are shown, cut, but are no links."""


def clean(text: str, letters: int = 200) -> str:
    """One line of at most so many characters, nothing invisible in it."""
    # White space and what we take out may hide a long text's end: look further, but not for ever.
    part = text[: 4 * letters + 64]
    line = " ".join(_UNSEEN.sub("", part).split())
    cut = len(line) > letters or len(part) < len(text)
    return line[: letters - 1].rstrip() + "…" if cut else line


def link(url: str) -> str:
    """The address if it may be a link, else ''.

    Only http and https, and nothing before the host: ``https://bank.example@evil.example/`` leads
    to the latter.
    """
    if len(url) > _LONGEST or not url.startswith(("http://", "https://")):
        return ""
    found = canonical(url)
    return found if found and "@" not in authority(found) else ""


def markdown(text: str) -> str:
    """Text in which nothing is markup, and nobody is called: ``@everyone`` would wake a chat."""
    # Not every Markdown takes a backslash before "<": the entities are safe in all of them.
    plain = escape(text, quote=False)
    return uncalled(_MARKUP.sub(r"\\\g<0>", plain))


def uncalled(text: str) -> str:
    """In which no @name reaches anybody."""
    return _CALL.sub("@\u200b", text)


def markdown_link(url: str, text: str) -> str:
    """Brackets round the address keep its own parentheses from ending it."""
    if not (target := link(url)):
        return markdown(text)
    target = target.replace("<", "%3C").replace(">", "%3E").replace("\\", "%5C")
    return f"[{markdown(text)}](<{target}>)"


def html_link(url: str, text: str) -> str:
    if not (target := link(url)):
        return escape(text)
    return f'<a href="{escape(target)}" rel="noopener noreferrer nofollow">{escape(text)}</a>'

"""Texts as YAML writes them: quoted, folded over lines, in brackets."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from enum import Enum
from typing import NamedTuple

from honeyguide.errors import ConfigError
from honeyguide.watch.imports.plain import ImportCollector
from honeyguide.watch.notify.message import clean_line

_SINGLE = re.compile(r"'([^']*+(?:''[^']*+)*+)'").match
_DOUBLE = re.compile(r'"([^"\\]*+(?:\\.[^"\\]*+)*+)"', re.S).match
_ESCAPE = re.compile(
    r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(\n)[ \t]*|(.))"
    r"|([ \t\n]+)"
)
_BREAK = re.compile(r"([ \t\n]+)")
_LETTERS = {
    "0": "\0", "a": "\a", "b": "\b", "t": "\t", "n": "\n", "v": "\v", "f": "\f", "r": "\r",
    "e": "\x1b", "N": "\x85", "_": "\xa0", "L": "\u2028", "P": "\u2029",
}  # fmt: skip
_PART = re.compile(r""""(?:[^"\\]|\\.)*+"|'(?:[^']|'')*+'|\s#[^\n]*|[\[\]{}]""", re.S)
_HIGHEST = 0x10FFFF
_LIST, _ITEMS = 20_000, 100
"""Characters and items of a list of tags."""


def strip_comment(text: str) -> str:
    """The text without the comment at its end: a sign # at the start or behind a space."""
    return "" if text.lstrip().startswith("#") else re.split(r"\s#", text, maxsplit=1)[0].strip()


def fold_lines(lines: Sequence[str]) -> str:
    """A break is a space; with empty lines, as many breaks as there are empty lines."""
    return _BREAK.sub(_fold_break, "\n".join(lines))


def parse_quoted(text: str) -> tuple[str, int] | None:
    """The quoted text that this begins with, and where it ends; None if it does not end."""
    if text.startswith("'"):
        found = _SINGLE(text)
        return (
            (_BREAK.sub(_fold_break, found[1]).replace("''", "'"), found.end()) if found else None
        )
    found = _DOUBLE(text)
    return (_ESCAPE.sub(_unescape_match, found[1]), found.end()) if found else None


def flow_end(text: str) -> int:
    """Where the bracket closes that this begins with; -1 if it does not."""
    depth = 0
    for found in _PART.finditer(text):
        if found[0] in "[{":
            depth += 1
        elif found[0] in "]}":
            depth -= 1
            if not depth:
                return found.end()
    return -1


def parse_flow_list(text: str) -> tuple[str, ...] | None:
    """The texts between the brackets; None where there are brackets, braces or pairs inside."""
    items: list[str] = []
    rest = "\n".join(strip_comment(line) for line in text.split("\n"))[:_LIST].strip()
    while rest and len(items) < _ITEMS:
        if rest[0] in "\"'":
            found = parse_quoted(rest)
            if found is None:
                return None
            item, rest = found[0], rest[found[1] :].lstrip()
            if rest and rest[0] != ",":
                return None
            rest = rest[1:].lstrip()
        else:
            item, _, rest = (part.strip() for part in rest.partition(","))
            if re.search(r"[\[\]{}&*!]|:(?:\s|$)", item):
                return None
        items.append(fold_lines([item]))
    return tuple(item for item in items if item)


def _fold_break(found: re.Match[str]) -> str:
    return _fold_space(found[1])


def _fold_space(run: str) -> str:
    breaks = run.count("\n")
    return "\n" * (breaks - 1) or " " if breaks else run


def _unescape_match(found: re.Match[str]) -> str:
    for code in found.group(1, 2, 3):
        if code:
            number = int(code, 16)
            return chr(number) if number <= _HIGHEST else "\ufffd"
    if found[4]:
        return ""
    if found[5]:
        return _LETTERS.get(found[5], found[5])
    return _fold_space(found[6])


# --------------------------------------------------------------------------------------------------
# The YAML of job files, read strictly: documents of top-level keys.
#
# Of a job we carry over a few texts that stand at the top of its document; whatever is nested
# below another key (filters, headers) only matters by its key. So this reads documents, keys, and
# plain, quoted and block texts and lists of texts as YAML has them, and keeps all else as
# :attr:`YamlMark.NESTED`. Nothing is ever expanded: an alias is :attr:`YamlMark.ALIAS`, so that
# there are no bombs.
# --------------------------------------------------------------------------------------------------


class YamlMark(Enum):
    """A value that is no text of its own."""

    NESTED = "nested"
    ALIAS = "alias"


JobValue = str | tuple[str, ...] | YamlMark


class JobDocument(NamedTuple):
    """One document."""

    line: int
    """Where its first key stands, from 1."""
    keys: dict[str, JobValue]


_FENCE = re.compile(r"(?:---|\.\.\.)(?:\s|$)").match
_KEY = re.compile(
    r"""("[^"\\]*+"\s*+|'[^']*+'\s*+|[^\s"'\[\]{}#&*!|>%@`,?:][^#:]*+):(?:\s+|$)"""
).match
_BLOCK = re.compile(r"[|>][-+1-9]{0,2}\s*(?:#.*)?$").match
_PROPERTIES = re.compile(r"(?:[&!]\S*(?:\s+|$))*").match
_ITEM = re.compile(r"-(?:\s+|$)").match
_MAX_VALUE_LINES = 1000
"""Lines that one value may take."""


def parse_jobs(text: str) -> Iterator[JobDocument]:
    """The documents of a file; a ConfigError that names the line where it cannot be read."""
    lines = re.split(r"\r\n|[\r\n\x85\u2028\u2029]", text.removeprefix("\ufeff"))
    start = 0
    for number, line in enumerate([*lines, "---"]):
        if not _FENCE(line):
            continue
        try:
            job = _parse_document(lines[start:number])
        except _JobYamlError as odd:
            raise ConfigError(f"line {start + odd.place + 1}: {odd.fix}") from None
        if job:
            yield job._replace(line=start + job.line)
        start = number + 1
        if strip_comment(line[3:]):
            raise ConfigError(f"line {start}: write the job below the line ---, not beside it")


class _JobYamlError(Exception):
    """Something that cannot be read, with its place in the document."""

    def __init__(self, place: int, fix: str) -> None:
        super().__init__(fix)
        self.place = place
        self.fix = fix


def _parse_document(lines: Sequence[str]) -> JobDocument | None:
    keys: dict[str, JobValue] = {}
    place, first, base = 0, -1, 0
    while place < len(lines):
        line = lines[place]
        text = line.strip()
        if not text or text.startswith("#") or (first < 0 and line.startswith("%")):
            place += 1
            continue
        if first < 0:
            first, base = place, _measure_indent(line, place)
        found = _KEY(line, base) if _measure_indent(line, place) == base else None
        if not found or _ITEM(text):
            raise _JobYamlError(place, _suggest_fix(text))
        value, place = _parse_value(lines, place, line[found.end() :], base)
        keys[found[1].strip("\"' \t")] = value
    return JobDocument(first + 1, keys) if keys else None


def _parse_value(lines: Sequence[str], place: int, rest: str, base: int) -> tuple[JobValue, int]:
    """The value that begins behind a key, and the line after it."""
    properties = _PROPERTIES(rest)
    rest = rest[properties.end() :] if properties else rest
    if _BLOCK(rest):
        after = _find_value_end(lines, place + 1, base, block=True)
        block = [line.strip() for line in lines[place + 1 : after]]
        joined = "\n".join(block) if rest[0] == "|" else fold_lines(block)
        return joined.strip(), after
    if rest[:1] in "\"'[{" and rest.strip():
        return _parse_closed(lines, place, rest)
    after = _find_value_end(lines, place + 1, base, items=not strip_comment(rest))
    below = [line for line in lines[place + 1 : after] if not line.lstrip().startswith("#")]
    if not strip_comment(rest):
        return _parse_nested(lines, place, after), after
    if rest.startswith("*"):
        return YamlMark.ALIAS, after
    return _parse_plain([rest, *below], place), after


def _parse_nested(lines: Sequence[str], place: int, after: int) -> JobValue:
    """What stands below a key that has nothing beside it."""
    inside = [
        (number, line)
        for number, line in enumerate(lines[place + 1 : after], place + 1)
        if strip_comment(line)
    ]
    if not inside:
        return ""
    number, line = inside[0]
    text = line.strip()
    if not _ITEM(text):
        if _is_pair(text):
            return YamlMark.NESTED
        if text[0] in "\"'[{":
            return _parse_closed(lines, number, text)[0]
        return _parse_plain([line for _, line in inside], number)
    return _parse_items(lines, number, after)


def _parse_items(lines: Sequence[str], place: int, after: int) -> JobValue:
    """A list of texts from one line to before the other."""
    depth = _measure_indent(lines[place], place)
    items: list[tuple[int, list[str]]] = []
    for number in range(place, after):
        line = lines[number]
        text = line.strip()
        if not strip_comment(line) and not (items and _is_open(items[-1][1])):
            continue
        if items and (not text or _measure_indent(line, number) > depth):
            items[-1][1].append(text)
        elif mark := _ITEM(text):
            items.append((number, [text[mark.end() :]]))
        else:
            raise _JobYamlError(number, "this belongs neither to the list above nor to a key")
    if any(_is_deep(parts[0]) for _, parts in items):
        return YamlMark.NESTED
    return tuple(_parse_item(parts, number) for number, parts in items)


def _is_open(parts: Sequence[str]) -> bool:
    """Whether a quoted text has not ended yet, so that what looks like a comment is part of it."""
    return (
        parts[0][:1] in ("'", '"') and len(parts) < 100 and parse_quoted("\n".join(parts)) is None
    )


def _is_deep(text: str) -> bool:
    """Whether an item of a list is more than a text."""
    return not text or text[0] in "[{&*!|>" or bool(_ITEM(text)) or _is_pair(text)


def _is_pair(text: str) -> bool:
    """Whether a line holds a key and a value, or begins a long key."""
    if text[0] in "\"'":
        found = parse_quoted(text)
        return bool(found and text[found[1] :].lstrip().startswith(":"))
    return text[0] not in "[{" and bool(re.search(r":(?:\s|$)|^\?(?:\s|$)", strip_comment(text)))


def _parse_item(parts: Sequence[str], place: int) -> str:
    """A text that is an item."""
    mark = parts[0][0]
    if mark not in "\"'":
        return _parse_plain(parts, place)
    text = "\n".join(parts)
    found = parse_quoted(text)
    if found is None or strip_comment(text[found[1] :]):
        raise _JobYamlError(place, f"the text that begins with {mark} must end with it")
    return found[0]


def _parse_closed(lines: Sequence[str], place: int, rest: str) -> tuple[JobValue, int]:
    """A quoted text, or something in brackets, which may end on a later line."""
    mark, far = rest[0], 1
    while True:
        text = "\n".join([rest, *lines[place + 1 : place + far]])
        found = parse_quoted(text) if mark in "\"'" else _parse_bracketed(text)
        if found:
            break
        if far > _MAX_VALUE_LINES or place + far >= len(lines):
            raise _JobYamlError(place, f"what begins with {mark} does not end")
        far *= 4  # most values end in the first line; those that do not shall not cost the square
    value, end = found
    tail = strip_comment(text[end:].partition("\n")[0])
    if tail:
        raise _JobYamlError(place, f"there is more behind the end of the value: {tail[:40]!r}")
    return value, place + 1 + text.count("\n", 0, end)


def _parse_bracketed(text: str) -> tuple[JobValue, int] | None:
    end = flow_end(text)
    if end < 0:
        return None
    items = parse_flow_list(text[1 : end - 1]) if text[0] == "[" else None
    return YamlMark.NESTED if items is None else items, end


def _parse_plain(parts: Sequence[str], place: int) -> str:
    """A text without quotes; its further lines are folded into it."""
    if (mark := parts[0].strip()[:1]) and mark in "@`|>%]},":
        raise _JobYamlError(place, f"a text that begins with {mark} must stand in quotes")
    text = fold_lines([strip_comment(part) for part in parts]).strip()
    if re.search(r":(?:\s|$)", text):
        raise _JobYamlError(place, "a text with a colon and a space in it must stand in quotes")
    return text


def _find_value_end(
    lines: Sequence[str], place: int, base: int, *, items: bool = False, block: bool = False
) -> int:
    """The first line that does not belong to the value: it stands no deeper than the key.

    The items of a list may stand right below their key, and comments anywhere but in a block.
    """
    while place < len(lines):
        line = lines[place]
        text = line.strip()
        comment = text.startswith("#") and not block
        if text and not comment:
            depth = _measure_indent(line, place, block=block)
            if depth < base or (depth == base and not (items and _ITEM(text))):
                break
        place += 1
    return place


def _measure_indent(line: str, place: int, *, block: bool = False) -> int:
    depth = len(line) - len(line.lstrip(" "))
    if line[depth : depth + 1] == "\t" and not (block and depth):
        raise _JobYamlError(place, "indent with spaces: YAML allows no tabs")
    return depth


def _suggest_fix(text: str) -> str:
    if text.startswith("{"):
        return "write each key of the job on a line of its own, not in braces"
    if _ITEM(text):
        return "separate jobs by a line ---, not as items of a list"
    return f"expected a key and a value, such as url: https://example.org/, not {text[:40]!r}"


# --------------------------------------------------------------------------------------------------
# Watch lists of urlwatch and webchanges: their YAML job files.
# --------------------------------------------------------------------------------------------------


_SILENT_KEYS = frozenset({
    "url", "navigate", "name", "tags", "enabled", "kind", "note", "user_visible_url",
    "index_number", "guid",
    # How errors and caches are handled: we have our own ways.
    "max_tries", "timeout", "ignore_cached", "ignore_connection_errors", "ignore_timeout_errors",
    "ignore_too_many_redirects", "ignore_incomplete_reads", "ignore_http_error_codes",
    "ignore_dh_key_too_small", "no_conditional_request", "suppress_errors",
    "suppress_error_ended", "suppress_repeated_errors", "treat_new_as_changed", "same_site_delay",
    "http_client", "retries", "no_redirects",
    # How a difference is drawn.
    "contextlines", "is_markdown", "monospace", "markdown_padded_tables", "compared_versions",
})  # fmt: skip
_WHYS = {
    "filter": "the whole page is compared; what changes at every visit is masked by itself",
    "diff_filter": "say in a rule's words and kinds which changes to tell",
    "differ": "changes are shown in words",
    "additions_only": "additions and removals are both told",
    "deletions_only": "additions and removals are both told",
    "use_browser": "pages are read without a browser; what scripts write is not seen",
    "cookies": "pages behind a login are not watched",
    "headers": "all pages are asked for with the same headers",
    "proxy": "set fetch.proxy for the whole collection",
    "ssl_no_verify": "certificates are always checked",
    "encoding": "the encoding is found out",
}
_SYNONYMS = {
    "filters": "filter", "diff_filters": "diff_filter", "diff_tool": "differ",
    "http_proxy": "proxy", "https_proxy": "proxy",
}  # fmt: skip
_BROWSER_KEYS = frozenset({
    "wait_until", "wait_for", "wait_for_selector", "wait_for_timeout", "wait_for_url", "browser",
    "useragent", "init_script", "evaluate", "block_elements", "navigate_timeout",
})  # fmt: skip
_NO = frozenset({"false", "no", "off", "n"})
_NOTHING = frozenset({"", "~", "null"}) | _NO


def read_jobs(text: str) -> ImportCollector:
    """The pages of a job file."""
    basket = ImportCollector()
    for number, job in enumerate(parse_jobs(text), 1):
        _take_job(basket, job, f"job {number} (line {job.line})")
    return basket


def _take_job(basket: ImportCollector, job: JobDocument, where: str) -> None:
    keys = job.keys
    address = keys.get("url") or keys.get("navigate") or ""
    if "command" in keys and not address:
        basket.skip_entry(
            where, _value_text(keys.get("name", "")) or "command", "commands are never run"
        )
        return
    if not isinstance(address, str):
        why = (
            "it is an alias; write it out" if address is YamlMark.ALIAS else "it is no single text"
        )
        basket.skip_entry(where, "url", why)
        return
    if not address:
        basket.skip_entry(where, _value_text(keys.get("name", "")) or "job", "it has no url")
        return
    method = _value_text(keys.get("method", "GET")).upper() or "GET"
    if method != "GET" or keys.get("data") or keys.get("params"):
        why = "it sends a form; only pages that have an address of their own are watched"
        basket.skip_entry(where, clean_line(address), why)
        return
    paused = _value_text(keys.get("enabled", "")).lower() in _NO
    marks = keys.get("tags", ())
    tags = (marks,) if isinstance(marks, str) else marks if isinstance(marks, tuple) else ()
    if not basket.add_page(
        where, address, _value_text(keys.get("name", "")), tags=tags, paused=paused
    ):
        return
    for key, value in keys.items():
        _report_key(basket, where, key, value)


def _report_key(basket: ImportCollector, where: str, key: str, value: JobValue) -> None:
    """Say of a key what becomes of it, unless nothing is lost."""
    if key == "tags" and value is YamlMark.NESTED:
        basket.skip_entry(where, key, "tags are a list of words")
    elif key == "<<":
        basket.skip_entry(where, key, "what is merged from another job is not read; write it out")
    elif key == "navigate" or key in _BROWSER_KEYS:
        basket.skip_entry(where, clean_line(key, 40), _WHYS["use_browser"])
    elif key not in _SILENT_KEYS and _value_text(value).lower() not in _NOTHING:
        why = _WHYS.get(_SYNONYMS.get(key, key), "there is nothing like it here")
        basket.skip_entry(where, clean_line(key, 40), why)


def _value_text(value: JobValue) -> str:
    """The text of a value; something for what is nested, which is not nothing."""
    if isinstance(value, str):
        return value
    return ", ".join(value) if isinstance(value, tuple) else value.value

"""Run the public conformance cases for robots.txt and for URLs against Honeyguide.

    python bench/conformance.py FOLDER

FOLDER holds ``robots/*.textproto`` (the RFC 9309 cases) and ``urltestdata.json`` and
``toascii.json`` (web-platform-tests, url/resources). Exits with 1 on any disagreement.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from honeyguide.net.robots import RobotsCache
from honeyguide.types import Response, Url
from honeyguide.url import canonical_url, site_origin

TOKEN = re.compile(rb'#[^\n]*|\s+|,|"(?:[^"\\]|\\.)*"|[A-Za-z_]\w*|[\[\]{}:]|.', re.DOTALL)
ESCAPES = {b"n": b"\n", b"r": b"\r", b"t": b"\t"}

Outcome = tuple[str, bool, str]
"""The case's name, whether we agree, and what was expected and found."""


def unescape(token: bytes) -> bytes:
    def one(match: re.Match[bytes]) -> bytes:
        code = match[1]
        if code[:1] in (b"x", b"X"):
            return bytes([int(code[1:], 16)])
        if code.isdigit():
            return bytes([int(code, 8) & 255])
        return ESCAPES.get(code, code)

    return re.sub(rb"\\([xX][0-9a-fA-F]{1,2}|[0-7]{1,3}|.)", one, token[1:-1], flags=re.DOTALL)


def textproto(data: bytes) -> dict[str, Any]:
    """A textproto message as dictionaries; every field is a list of its values."""
    tokens = [t for t in TOKEN.findall(data) if not t.isspace() and t != b"," and t[:1] != b"#"]
    place = 0

    def value() -> Any:
        nonlocal place
        token = tokens[place]
        place += 1
        if token == b"{":
            return message()
        if token == b"[":
            items = []
            while tokens[place] != b"]":
                items.append(value())
            place += 1
            return items
        if token[:1] == b'"':
            text = unescape(token)
            while place < len(tokens) and tokens[place][:1] == b'"':
                text += unescape(tokens[place])
                place += 1
            return text
        return token.decode()

    def message() -> dict[str, Any]:
        nonlocal place
        fields: dict[str, Any] = {}
        while place < len(tokens) and tokens[place] != b"}":
            name = tokens[place].decode()
            place += 1
            if tokens[place] == b":":
                place += 1
            found = value()
            fields.setdefault(name, []).extend(found if isinstance(found, list) else [found])
        place += 1
        return fields

    return message()


def robots(folder: Path) -> Iterator[Outcome]:
    for file in sorted(folder.glob("*.textproto")):
        for number, case in enumerate(textproto(file.read_bytes())["tests"]):
            body = b"".join(case.get("robotstxt", []))
            for check in case["test_expectations"]:
                text = check["testurl"][0].decode()
                agent = check["useragent"][0].decode()
                # As it stands: these cases say that encoding is the caller's part.
                url = Url(text or "http://foo.bar/")
                site = RobotsCache(agent)
                answer = Response(url, 200, (), body, body, b"", b"", "", 0.0, 0.0)
                rules = site.learn_outcome(site_origin(url), answer, 0.0)
                found = "ALLOWED" if rules is not None and rules.allows(url) else "DISALLOWED"
                expected = check["expected_outcome"][0]
                name = f"{file.stem}[{number}] {agent!r} {text}"
                yield name, found == expected, f"expected {expected}, found {found}"


def urls(file: Path) -> Iterator[Outcome]:
    for case in json.loads(file.read_text("utf-8")):
        if isinstance(case, str):
            continue
        text, base = case["input"], case.get("base")
        start = canonical_url(base) if base else None
        if base and start is None:
            continue  # a base that is not http: no page of ours
        if case.get("failure"):
            expected = None
            if base is None and not text.lower().startswith("http"):
                continue
        else:
            expected = case["href"].partition("#")[0]
            if case["protocol"] not in ("http:", "https:"):
                expected = None
        found = canonical_url(text, start)
        yield f"{text!r} at {base}", found == expected, f"expected {expected}, found {found}"


def names(file: Path) -> Iterator[Outcome]:
    for case in json.loads(file.read_text("utf-8")):
        if isinstance(case, str):
            continue
        expected = case["output"] and Url(f"https://{case['output']}/x")
        found = canonical_url(f"https://{case['input']}/x")
        yield repr(case["input"]), found == expected, f"expected {expected}, found {found}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    folder: Path = parser.parse_args().folder
    suites = {
        "robots.txt (RFC 9309)": list(robots(folder / "robots")),
        "URLs (WHATWG)": list(urls(folder / "urltestdata.json")),
        "host names (UTS 46)": list(names(folder / "toascii.json")),
    }
    wrong = 0
    print(f"{'suite':<24}{'cases':>7}{'agree':>7}{'differ':>7}")
    for suite, outcomes in suites.items():
        differ = [outcome for outcome in outcomes if not outcome[1]]
        wrong += len(differ) + (not outcomes)
        print(f"{suite:<24}{len(outcomes):>7}{len(outcomes) - len(differ):>7}{len(differ):>7}")
        for name, _, detail in differ:
            print(f"    {name}: {detail}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

"""The studio's own files: nothing in them can run a stranger's words, or asks a stranger."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import pytest

import honeyguide.studio

STATIC = Path(honeyguide.studio.__file__).parent / "static"
VENDOR = STATIC / "vendor"
SCRIPTS = sorted(path for path in STATIC.rglob("*.js") if VENDOR not in path.parents)
RISKY = re.compile(
    r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|DOMParser"
    r"|createContextualFragment|setHTMLUnsafe|set(?:Timeout|Interval)\(\s*[\"'`]"
)
IMPORT = re.compile(r"""(?:from|import)\s+["'](\.[^"']+)["']""")


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.relative_to(STATIC).as_posix())
def test_scripts_make_text_only_and_find_each_other(script: Path) -> None:
    source = script.read_text("utf-8")
    code = re.sub(r"^\s*//.*$", "", source, flags=re.MULTILINE)
    assert not RISKY.search(code)
    for wanted in IMPORT.findall(code):
        assert (script.parent / wanted).resolve().is_file(), wanted
    assert len(source.splitlines()) <= 300


def test_the_page_has_no_inline_code_and_loads_its_own_files_only() -> None:
    page = (STATIC / "index.html").read_text("utf-8")
    assert not re.search(r"<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc=)", page)
    loaded = re.findall(r"<(?:script|link|img)[^>]*?(?:src|href)=\"([^\"]+)\"", page)
    assert loaded
    for address in loaded:
        assert address.startswith("/static/")
        assert (STATIC / address.removeprefix("/static/")).is_file(), address


def test_the_style_asks_nobody() -> None:
    assert not re.search(r"url\(|@import", (STATIC / "style.css").read_text("utf-8"))


def test_files_of_others_are_unchanged_and_have_their_licence() -> None:
    told = dict(re.findall(r"\| `([^`]+)` \| `([0-9a-f]{64})` \|", _notice()))
    ours = {"LICENSE", "LICENSES.md"}
    there = {
        path.relative_to(VENDOR).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in VENDOR.rglob("*")
        if path.is_file() and path.name not in ours
    }
    assert told == there
    assert "MIT License" in (VENDOR / "uplot" / "LICENSE").read_text("utf-8")


def _notice() -> str:
    return (VENDOR / "LICENSES.md").read_text("utf-8")

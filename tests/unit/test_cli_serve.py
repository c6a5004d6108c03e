"""What ``honeyguide serve`` prints, and how it opens a browser."""

from __future__ import annotations

import json
import os
import re
import signal
import stat
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import unquote

import pytest

from honeyguide.cli.crawl import redirect_page


@contextmanager
def serving(root: Path, *options: str, browser: str = "true") -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "honeyguide", "serve", str(root), *options]
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"BROWSER": browser},
    ) as process:
        try:
            yield process
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(20)


def sign_in(address: str) -> int:
    """As the page does it."""
    base, _, token = address.partition("/#token=")
    request = urllib.request.Request(
        f"{base}/sign-in", b"{}", {"Authorization": f"Bearer {token.partition('/')[0]}"}
    )
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        error.close()
        return error.code


def test_the_page_that_leads_in_is_for_nobody_else_and_goes_away() -> None:
    address = "http://127.0.0.1:1/#token=abc/c/a%20%26%20b'\"<x>/live"
    with redirect_page(address) as page:
        assert page is not None
        assert stat.S_IMODE(page.stat().st_mode) == 0o600
        assert stat.S_IMODE(page.parent.stat().st_mode) == 0o700
        text = page.read_text("utf-8")
        assert "#token=abc/c/a%20%26%20b&#x27;&quot;&lt;x&gt;/live" in text
        assert "abc" not in page.as_uri()
    assert not page.parent.exists()
    with redirect_page("") as nothing:
        assert nothing is None


def waited(path: Path) -> str:
    end = time.monotonic() + 20
    while time.monotonic() < end:
        if path.is_file() and (text := path.read_text()).endswith("\n"):
            return text.strip()
        time.sleep(0.02)
    pytest.fail("no browser was started")


def test_no_secret_stands_in_the_command_of_the_browser_and_nobody_waits_for_it(
    tmp_path: Path,
) -> None:
    """Everybody on a machine sees the others' commands; and some browsers stay in front."""
    seen = tmp_path / "seen"
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" > "{seen}"\nexec sleep 30\n')
    browser.chmod(0o755)
    with serving(tmp_path, "--open", "--json", browser=f"{browser} %s") as process:
        assert process.stdout is not None
        said = json.loads(process.stdout.readline())
        command = waited(seen)
        assert command.startswith("file://")
        assert "token" not in command
        began = time.monotonic()
        page = Path(unquote(command.removeprefix("file://")))
        found = re.search(r'url=(http://[^"]+)"', page.read_text("utf-8"))
        assert found is not None
        assert sign_in(found[1]) == 200, "it is answered while the browser stands in front"
        assert sign_in(found[1]) == 401, "once"
        assert sign_in(said["address"]) == 200
        assert time.monotonic() - began < 25
    assert process.returncode == 0
    assert not page.exists()


def test_an_address_that_was_used_is_followed_by_another(tmp_path: Path) -> None:
    with serving(tmp_path) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        first = process.stdout.readline().strip()
        assert "keep it to yourself" in process.stderr.readline()
        assert (sign_in(first), sign_in(first)) == (200, 401)
        said = process.stderr.readline()
        second = said[said.index("http://") :].strip()
        assert sign_in(second) == 200
        assert sign_in("http://127.0.0.1" + first[16:].partition("#")[0] + "#token=x") == 401

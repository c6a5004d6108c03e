"""What a crawl must not spend time on before its first page."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from honeyguide.crawl.process_page import _is_same_site


@pytest.mark.parametrize(("said", "threads"), [(None, "1"), ("3", "3")])
def test_numpy_starts_no_threads_unless_the_user_says_so(said: str | None, threads: str) -> None:
    environment = {k: v for k, v in os.environ.items() if k != "OPENBLAS_NUM_THREADS"}
    if said is not None:
        environment["OPENBLAS_NUM_THREADS"] = said
    code = "import honeyguide, os; print(os.environ['OPENBLAS_NUM_THREADS'])"
    told = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert told.stdout.strip() == threads


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("http://127.0.0.1:1/", "https://127.0.0.1/x", True),
        ("http://127.0.0.1/", "http://127.0.0.2/", False),
        ("http://127.0.0.1/", "http://example.org/", False),
        ("http://www.example.co.uk/", "http://example.co.uk/", True),
        ("http://a.co.uk/", "http://b.co.uk/", False),
    ],
)
def test_sites_are_domains_and_numbers_stand_for_themselves(
    one: str, other: str, same: bool
) -> None:
    assert _is_same_site(one, other) is same
    assert _is_same_site(other, one) is same

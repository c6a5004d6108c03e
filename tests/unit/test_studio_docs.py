"""The API's page must name every route."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_api_page_is_up_to_date() -> None:
    done = subprocess.run([sys.executable, ROOT / "tools" / "make_api.py", "--check"])
    assert done.returncode == 0, "run: python tools/make_api.py"

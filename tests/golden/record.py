"""Write down what today's code does.

    PYTHONHASHSEED=0 python -m tests.golden.record [--crawls] [--watch] … [--into FOLDER]

Without options: all but ``--old``, which are collections of the code of a certain day: they are
made anew only if their format was changed on purpose.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.golden import keeping, reading, webs

NOT_BY_ITSELF = ("old",)


def crawls(into: Path) -> None:
    found: dict[str, dict[str, Any]] = {}
    for name, case in webs.CASES.items():
        with tempfile.TemporaryDirectory() as folder:
            try:
                webs.visit(case, Path(folder))
                told: dict[str, Any] = {"visits": reading.visits(Path(folder))}
                told["digests"] = reading.digests(Path(folder))
            except Exception:
                if into == keeping.DATA:
                    raise
                told = {"error": traceback.format_exc()}
            found[name] = told
    keeping.write("crawls", {"machine": keeping.machine(), "crawls": found}, into)


PARTS: dict[str, Callable[[Path], None]] = {"crawls": crawls}


def main() -> None:
    if os.environ.get("PYTHONHASHSEED") != "0":
        environment = os.environ | {"PYTHONHASHSEED": "0"}
        os.execve(sys.executable, [sys.executable, "-m", "tests.golden.record", *sys.argv[1:]],
                  environment)  # fmt: skip
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--into", type=Path, default=keeping.DATA)
    for part in PARTS:
        parser.add_argument(f"--{part}", action="store_true")
    options = vars(parser.parse_args())
    wanted = [part for part in PARTS if options[part]]
    for part in wanted or [part for part in PARTS if part not in NOT_BY_ITSELF]:
        PARTS[part](options["into"])


if __name__ == "__main__":
    main()

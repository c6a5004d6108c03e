"""Write down what today's code does.

    python -m tests.golden.record [--crawls] [--watch] … [--into FOLDER]

Without options: all but ``--make-old``. The old collections are those of the code of a certain day,
made anew only if their format was changed on purpose; ``--old`` writes down what is read in them.
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

NOT_BY_ITSELF = ("make-old",)


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


def seen(into: Path) -> None:
    """The surfaces."""
    from tests.golden.surfaces import written

    place = keeping.SURFACES if into == keeping.DATA else into
    place.mkdir(exist_ok=True)
    for name, text in written():
        (place / name).write_text(text, "utf-8")


def watched(into: Path) -> None:
    from tests.golden.telling import told
    from tests.golden.watching import create, watch

    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "fresh"
        settings = create(folder).settings
        for part, hours, late in (("first", 4.0, 0.0), ("later", 2.0, 5 * 3600.0)):
            found[part] = watch(folder, settings, hours, late)
            found[part]["printed"] = told("changes", folder, "--json", "-n", 1000)
    keeping.write("watch", found, into)


def split(into: Path) -> None:
    """Crawls with two shards."""
    from tests.golden.sharding import crawl, create, found

    told: dict[str, Any] = {}
    for strategy in ("breadth", "keyword", "honeyguide"):
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place) / "bees"
            create(folder, strategy, learn={"teacher": "none"})
            crawl(folder, "--shards", 2)
            told[strategy] = found(folder)
    keeping.write("shards", {"machine": keeping.machine(), "visits": told}, into)


def old_collections(into: Path) -> None:
    """They are not made anew, only asked."""
    from tests.golden.old import NAMES, facts

    told = {}
    for name in NAMES:
        with tempfile.TemporaryDirectory() as place:
            told[name] = facts(name, Path(place))
    keeping.write("old", {"machine": keeping.machine(), "facts": told}, into)


def make_old(into: Path) -> None:
    """Make the old collections, out of the code that stands here."""
    from tests.golden.old import make, pack

    with tempfile.TemporaryDirectory() as place:
        make(Path(place))
        pack(Path(place))
    old_collections(into)


PARTS: dict[str, Callable[[Path], None]] = {
    "crawls": crawls,
    "surfaces": seen,
    "watch": watched,
    "shards": split,
    "old": old_collections,
    "make-old": make_old,
}


def main() -> None:
    if not keeping.STILL.items() <= os.environ.items():
        words = [sys.executable, "-m", "tests.golden.record", *sys.argv[1:]]
        os.execve(sys.executable, words, os.environ | keeping.STILL)
    # What the user agreed to and spent is not looked at.
    home = tempfile.TemporaryDirectory()
    os.environ.update(XDG_STATE_HOME=home.name, XDG_CONFIG_HOME=home.name)
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--into", type=Path, default=keeping.DATA)
    for part in PARTS:
        parser.add_argument(f"--{part}", action="store_true")
    options = vars(parser.parse_args())
    wanted = [part for part in PARTS if options[part.replace("-", "_")]]
    for part in wanted or [part for part in PARTS if part not in NOT_BY_ITSELF]:
        PARTS[part](options["into"])


if __name__ == "__main__":
    main()

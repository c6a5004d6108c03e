"""The web that comes with the package: manuals of free software, with three judged topics.

``tools/make_demo_web.py`` packs it; ``demo_data/LICENSES.md`` says whose work it is.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from importlib.resources import as_file, files
from typing import cast

from honeyguide.config import build
from honeyguide.lab.web import RecordedWeb

_DEMO = files("honeyguide.lab") / "demo_data"


@dataclass(frozen=True, slots=True)
class DemoTopic:
    """One topic of the demo, as a user would state it; its name is the label to judge by."""

    title: str
    description: str
    keywords: tuple[str, ...]
    seeds: tuple[str, ...]
    good: tuple[str, ...]


def load() -> RecordedWeb:
    with as_file(_DEMO) as folder:
        return RecordedWeb.load(sorted(folder.glob("*.jsonl.xz")))


def demo_files() -> tuple[str, ...]:
    """The files of the embedded web, where the package is unpacked on disk, as it mostly is."""
    with as_file(_DEMO) as folder:
        return tuple(str(path) for path in sorted(folder.glob("*.jsonl.xz")))


def topics() -> dict[str, DemoTopic]:
    raw = tomllib.loads((_DEMO / "topics.toml").read_text("utf-8"))
    return {
        name: cast("DemoTopic", build(DemoTopic, table, "topics.toml", f"{name}."))
        for name, table in raw.items()
    }

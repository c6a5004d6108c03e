"""Write docs/reference/settings.md from honeyguide/config: every key, type, default and meaning.

    python tools/make_reference.py [--check]

With --check nothing is written; the exit code says whether the page is up to date.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from honeyguide.config.topic_file import SettingsKey, settings_tables

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "reference" / "settings.md"
HEAD = """\
# Settings

One `topic.toml` per collection. Every key is optional but `topic.seeds` (or `topic.good`) and
`fetch.contact`. A key that is not listed here is an error that names the nearest right one.
Robots.txt is always obeyed: there is no key for it.

(Made by `tools/make_reference.py` from `src/honeyguide/config/settings.py`.)
"""
TAIL = """
## `[strategy]`

Parameters of the chosen strategy by name, such as `anchor_weight = 0.8` for `keyword`; see the
strategy's page under [strategies](../strategies/).
"""


def default(value: Any) -> str:
    if value is None:
        return ""
    if value == () or value == "":
        return "none"
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def kind(key: SettingsKey) -> str:
    return key.kind or ", ".join(f"`{choice}`" for choice in key.choices)


def page() -> str:
    out = [HEAD]
    for table in settings_tables().values():
        out.append(f"\n## `[{table.name}]`\n")
        if table.meaning:
            out.append(table.meaning + "\n")
        out.append("| key | type | default | meaning |\n|---|---|---|---|")
        out.extend(
            f"| `{key.name}` | {kind(key)} | {default(key.default)} | {key.meaning} |"
            for key in table.keys
        )
    return "\n".join(out) + "\n" + TAIL


def main() -> None:
    fresh = page()
    if "--check" in sys.argv:
        sys.exit(0 if PAGE.exists() and PAGE.read_text("utf-8") == fresh else 1)
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    PAGE.write_text(fresh, "utf-8")


if __name__ == "__main__":
    main()

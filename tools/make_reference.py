"""Write docs/reference/settings.md from config.py: every key, type, default and meaning.

    python tools/make_reference.py [--check]

With --check nothing is written; the exit code says whether the page is up to date.
"""

from __future__ import annotations

import ast
import sys
from dataclasses import MISSING, Field, fields, is_dataclass
from pathlib import Path
from typing import Any, get_type_hints

from honeyguide import config

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "reference" / "settings.md"
HEAD = """\
# Settings

One `topic.toml` per collection. Every key is optional but `topic.seeds` (or `topic.good`) and
`fetch.contact`. A key that is not listed here is an error that names the nearest right one.
Robots.txt is always obeyed: there is no key for it.

(Made by `tools/make_reference.py` from `config.py`.)
"""
TAIL = """
## `[strategy]`

Parameters of the chosen strategy by name, such as `anchor_weight = 0.8` for `keyword`; see the
strategy's page under [strategies](../strategies/).
"""


def meanings() -> dict[tuple[str, str], str]:
    """(class, field) → the text below the field, and (class, '') → the class's own."""
    tree = ast.parse(Path(config.__file__).read_text("utf-8"))
    found: dict[tuple[str, str], str] = {}
    for node in tree.body:
        if not isinstance(node, ast.ClassDef):
            continue
        found[node.name, ""] = ast.get_docstring(node) or ""
        for item, after in zip(node.body, [*node.body[1:], None], strict=True):
            if (
                isinstance(item, ast.AnnAssign)
                and isinstance(item.target, ast.Name)
                and isinstance(after, ast.Expr)
                and isinstance(after.value, ast.Constant)
            ):
                found[node.name, item.target.id] = " ".join(str(after.value.value).split())
    return found


def default(item: Field[Any]) -> str:
    if item.default is MISSING:
        return ""
    value = item.default
    if value == () or value == "":
        return "none"
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def kind(hint: Any) -> str:
    text = str(hint).replace("typing.", "")
    if text.startswith("Literal"):
        return text.removeprefix("Literal[").removesuffix("]").replace("'", "`")
    if "tuple" in text:
        return "list of text"
    return {"str": "text", "int": "whole number", "float": "number", "bool": "true/false"}[
        hint.__name__
    ]


def page() -> str:
    said = meanings()
    out = [HEAD]
    for name, hint in get_type_hints(config.Settings).items():
        if not is_dataclass(hint):
            continue
        assert isinstance(hint, type)
        out.append(f"\n## `[{name}]`\n")
        if said[hint.__name__, ""]:
            out.append(said[hint.__name__, ""] + "\n")
        out.append("| key | type | default | meaning |\n|---|---|---|---|")
        hints = get_type_hints(hint)
        out.extend(
            f"| `{item.name}` | {kind(hints[item.name])} | {default(item)} | "
            f"{said.get((hint.__name__, item.name), '')} |"
            for item in fields(hint)
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

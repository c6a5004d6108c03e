"""Write the import diagram and the list of packages into docs/architecture.md, from the code.

    python tools/make_imports.py [--check]

The floors are those that import-linter enforces (pyproject.toml). An arrow is left out where others
lead to the same package. With --check nothing is written; the exit code says whether the page is up
to date.
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "honeyguide"
PAGE = ROOT / "docs" / "architecture.md"
BEGIN, END = "<!-- imports: made by tools/make_imports.py -->\n", "<!-- end of imports -->\n"
VALUES = "values"
PURPOSES = {
    "api": "the Python API: a collection can do what the command line can",
    "cli": "one file per command: parse arguments, call, print",
    "cluster": "shards on one or several machines: messages, leases, resharding, replication",
    "config": "`topic.toml`: settings, their checks, reading and editing the file",
    "crawl": "the crawl loop, one visit, stop rules, rescoring, progress of a crawl",
    "fetch": "HTTP over libcurl: headers, cookies, decoding, DNS, addresses never to touch",
    "frontier": "waiting candidates over an append-only log; hosts' queues and delays",
    "lab": "recorded and synthetic webs, served or simulated, to compare strategies",
    "languages": "language detection, prediction of a link's language, the language gate",
    "learning": "when and from what to learn: examples, training runs, validation gate, coverage",
    "links": "what is known of a link: history, neighbours, pages it stands on, ranking",
    "models": "classifiers and regressors, page model and link model",
    "net": "what crawl, watch and search share of the network: robots.txt, politeness, retry",
    "parse": "bytes to a page: charset, HTML, links, feeds, sitemaps, blocks to compare",
    "search": "search engines: asking, query composition, bandit over queries, consent, quota",
    "store": "a collection on disk: SQLite tables, WARC files, labels, versions, export",
    "strategies": "one method a file: judge a page, rank links, learn",
    "studio": "the web page where people look, label and steer, and its HTTP API",
    "teacher": "a language model that judges pages: its questions, answers, cost and labels",
    "text": "words of many languages: stems, relevance, key words, ontologies, Turkish",
    "training": "category models from labelled texts (`honeyguide train`)",
    "watch": "revisits: schedule, comparison of versions, notification",
    VALUES: "values, protocols and errors that every package may use",
}
"""What each package is, for a newcomer."""


def package_of(path: Path) -> str:
    """The package a file is in; single files below the root are the values."""
    parts = path.relative_to(SOURCE).parts
    return parts[0] if len(parts) > 1 else VALUES


def imported_packages(path: Path) -> Iterator[str]:
    """What a file imports of the package, also inside functions; not for types only."""
    pending: list[ast.AST] = [ast.parse(path.read_text("utf-8"))]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        pending.extend(ast.iter_child_nodes(node))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("honeyguide"):
            rest = (node.module or "").split(".")[1:]
            for name in rest[:1] or [alias.name for alias in node.names]:
                yield name if (SOURCE / name).is_dir() else VALUES


def package_imports() -> dict[str, set[str]]:
    """Package → the packages that it imports."""
    found: dict[str, set[str]] = {}
    for path in sorted(SOURCE.rglob("*.py")):
        if path.parent == SOURCE and path.name.startswith("__"):
            continue  # they only start the command line, or name what is public
        package = package_of(path)
        found.setdefault(package, set()).update(set(imported_packages(path)) - {package})
    found[VALUES] = set()
    return found


def reachable(graph: dict[str, set[str]], start: str) -> set[str]:
    found: set[str] = set()
    pending = [start]
    while pending:
        for name in graph[pending.pop()] - found:
            found.add(name)
            pending.append(name)
    return found


def reduced(graph: dict[str, set[str]]) -> dict[str, set[str]]:
    """Without the imports that other imports imply."""
    return {
        package: {
            name
            for name in names
            if not any(name in reachable(graph, other) for other in names - {name})
        }
        for package, names in graph.items()
    }


def floors(packages: set[str]) -> list[list[str]]:
    """The packages of each floor, the highest first."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    layers = settings["tool"]["importlinter"]["contracts"][0]["layers"]
    named = [[part for part in re.split(r"\W+", layer) if part in packages] for layer in layers]
    return [*filter(None, named), [VALUES]]


def diagram() -> str:
    graph = package_imports()
    out = ["```mermaid", "flowchart TD"]
    for number, floor in enumerate(floors(set(graph)), 1):
        if len(floor) > 1:
            out.append(f"    subgraph floor{number}[ ]\n    {'; '.join(floor)}\n    end")
    for package, names in sorted(reduced(graph).items()):
        out += [f"    {package} --> {name}" for name in sorted(names)]
    out += ["```", "", "| package | what it is | imports |", "|---|---|---|"]
    for floor in floors(set(graph)):
        for package in floor:
            below = ", ".join(sorted(graph[package] - {VALUES})) or "–"
            out.append(f"| `{package}` | {PURPOSES[package]} | {below} |")
    return "\n".join(out) + "\n"


def fresh_page() -> str:
    page = PAGE.read_text("utf-8")
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{diagram()}\n{END}{after}"


def main() -> None:
    page = fresh_page()
    if "--check" in sys.argv:
        sys.exit(0 if PAGE.read_text("utf-8") == page else 1)
    PAGE.write_text(page, "utf-8")


if __name__ == "__main__":
    main()

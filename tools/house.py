"""Measure the shape of the source tree: files, names, imports.

    python tools/house.py            the figures beside their limits
    python tools/house.py --details  and which files and names they are about
    python tools/house.py --json     as JSON

``tests/unit/test_house.py`` holds each figure to its limit in ``tools/house.json``. When a figure
falls, lower its limit there, so that it cannot rise again.
"""

from __future__ import annotations

import argparse
import ast
import io
import json
import sys
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "honeyguide"
LIMITS = Path(__file__).with_suffix(".json")
SMALL = 80
"""Code lines of a file that is small enough to live with its only importer."""
_QUIET = {
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT,
    tokenize.ENDMARKER,
}  # fmt: skip
_Function = ast.FunctionDef | ast.AsyncFunctionDef


class SourceModule(NamedTuple):
    """One parsed source file."""

    name: str
    """Dotted, below the package: ``crawl.loop``; the package itself is ``""``."""
    path: Path
    text: str
    tree: ast.Module


class HouseReport(NamedTuple):
    """The figures, and what each of them is about."""

    figures: dict[str, float]
    details: dict[str, list[str]]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--details", action="store_true", help="list what each figure is about")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    options = parser.parse_args()
    report = measure(SOURCE)
    limits = read_limits()
    if options.json:
        sys.stdout.write(json.dumps(report.figures, indent=1) + "\n")
        return 0
    for name, figure in report.figures.items():
        limit = limits.get(name)
        mark = "" if limit is None else f"limit {limit:g}" + (" EXCEEDED" if figure > limit else "")
        sys.stdout.write(f"{figure:10g}  {name.replace('_', ' '):44} {mark}\n")
        if options.details:
            for line in report.details.get(name, []):
                sys.stdout.write(f"{'':12}{line}\n")
    return 0


def read_limits() -> dict[str, float]:
    """The limits, apart from the list of module names that may not come back."""
    stored = json.loads(LIMITS.read_text("utf-8"))
    return {name: float(limit) for name, limit in stored["limits"].items()}


def measure(source: Path) -> HouseReport:
    """All figures of the tree below a package's folder."""
    modules = read_modules(source)
    retired = set(json.loads(LIMITS.read_text("utf-8"))["retired_modules"])
    back = sorted(m.name.replace(".", "/") for m in modules if m.name.replace(".", "/") in retired)
    classes = public_classes(modules)
    shared = {name: homes for name, homes in classes.items() if len(homes) > 1}
    functions = list(function_names(modules))
    one_word = [name for name in functions if "_" not in name.strip("_")]
    graph = import_graph(modules)
    lonely = small_single_importers(modules, graph)
    chain = longest_chain(graph)
    cycles = import_cycles(graph)
    return HouseReport(
        {
            "source_files": len(modules),
            "code_lines": sum(code_lines(m) for m in modules),
            "retired_module_names": len(back),
            "public_classes_sharing_a_name": sum(map(len, shared.values())),
            "one_word_function_percent": round(100 * len(one_word) / len(functions), 1),
            "small_modules_with_one_importer": len(lonely),
            "longest_import_chain": len(chain),
            "modules_in_import_cycles": sum(map(len, cycles)),
        },
        {
            "retired_module_names": back,
            "public_classes_sharing_a_name": [
                f"{name}: {', '.join(homes)}" for name, homes in sorted(shared.items())
            ],
            "one_word_function_percent": [
                f"{count} {name}" for name, count in Counter(one_word).most_common(40)
            ],
            "small_modules_with_one_importer": lonely,
            "longest_import_chain": [" > ".join(chain)],
            "modules_in_import_cycles": [" ".join(cycle) for cycle in cycles],
        },
    )


def read_modules(source: Path) -> list[SourceModule]:
    found = []
    for path in sorted(source.rglob("*.py")):
        parts = list(path.relative_to(source).with_suffix("").parts)
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        text = path.read_text("utf-8")
        found.append(SourceModule(name, path, text, ast.parse(text)))
    return found


def code_lines(module: SourceModule) -> int:
    """Lines with code: no blank lines, comments or docstrings (of classes' fields included)."""
    documented: set[int] = set()
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Module | ast.ClassDef | _Function):
            for child in node.body:
                if isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant):
                    documented |= set(range(child.lineno, (child.end_lineno or 0) + 1))
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(module.text).readline):
        if token.type not in _QUIET:
            lines |= set(range(token.start[0], token.end[0] + 1))
    return len(lines - documented)


def public_classes(modules: list[SourceModule]) -> dict[str, list[str]]:
    """Each public class name, and the modules that define one."""
    found: dict[str, list[str]] = defaultdict(list)
    for module in modules:
        for node in ast.walk(module.tree):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found[node.name].append(module.name)
    return found


def function_names(modules: list[SourceModule]) -> Iterator[str]:
    """Names of all functions and methods, nested ones too, without the double underscores."""
    for module in modules:
        for node in ast.walk(module.tree):
            if isinstance(node, _Function) and not node.name.startswith("__"):
                yield node.name


def import_graph(modules: list[SourceModule]) -> dict[str, set[str]]:
    """What each module imports, also inside functions; imports for types only do not count."""
    known = {module.name for module in modules}
    return {
        module.name: {
            target
            for node in _imports(module.tree)
            for target in _targets(node, known)
            if target != module.name
        }
        for module in modules
    }


def _imports(node: ast.AST) -> Iterator[ast.Import | ast.ImportFrom]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import | ast.ImportFrom):
            yield child
        elif isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            continue
        else:
            yield from _imports(child)


def _targets(node: ast.Import | ast.ImportFrom, known: set[str]) -> Iterator[str]:
    package = "honeyguide"
    if isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
    else:
        names = [f"{node.module}.{alias.name}" for alias in node.names]
    for name in names:
        parts = name.split(".")
        if parts[0] != package:
            continue
        below = parts[1:]
        while below and ".".join(below) not in known:
            below = below[:-1]
        if below:
            yield ".".join(below)


def small_single_importers(modules: list[SourceModule], graph: dict[str, set[str]]) -> list[str]:
    """Small modules whose only importer is a module of the same package."""
    importers: dict[str, set[str]] = defaultdict(set)
    for module, targets in graph.items():
        for target in targets:
            importers[target].add(module)
    return [
        f"{module.name} < {next(iter(importers[module.name]))}"
        for module in modules
        if module.path.name != "__init__.py"
        and code_lines(module) <= SMALL
        and len(importers[module.name]) == 1
        and next(iter(importers[module.name])).rpartition(".")[0] == module.name.rpartition(".")[0]
    ]


def longest_chain(graph: dict[str, set[str]]) -> list[str]:
    """The longest chain of modules of which each imports the next."""
    best: dict[str, list[str]] = {}

    def chain_from(module: str, above: frozenset[str]) -> list[str]:
        if module not in best:
            chains = [chain_from(t, above | {module}) for t in graph[module] if t not in above]
            best[module] = [module, *max(chains, key=len, default=[])]
        return best[module]

    return max((chain_from(module, frozenset()) for module in sorted(graph)), key=len)


def import_cycles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Groups of modules that import each other, directly or in a circle (Tarjan 1972)."""
    number: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    cycles: list[list[str]] = []

    def visit_module(module: str) -> None:
        number[module] = low[module] = len(number)
        stack.append(module)
        for target in graph[module]:
            if target not in number:
                visit_module(target)
                low[module] = min(low[module], low[target])
            elif target in stack:
                low[module] = min(low[module], number[target])
        if low[module] == number[module]:
            group = [stack.pop()]
            while group[-1] != module:
                group.append(stack.pop())
            if len(group) > 1:
                cycles.append(sorted(group))

    for module in sorted(graph):
        if module not in number:
            visit_module(module)
    return cycles


if __name__ == "__main__":
    raise SystemExit(main())

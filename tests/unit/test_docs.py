"""The docs are checked against the code: settings, strategies, links, files, names, examples."""

from __future__ import annotations

import ast
import builtins
import doctest
import inspect
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from tools.trace_visit import place_of, trace_crawl

import honeyguide
from honeyguide import registry
from honeyguide.config.topic_file import settings_tables
from honeyguide.crawl.from_settings import TOPIC_KEYS, settable_parameters
from honeyguide.search.query import Query
from honeyguide.types import Example, Link, Page, Url

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "honeyguide"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
LIVING = [page for page in PAGES if page.parent.name != "decisions"]
"""Pages about the code of today; a decision speaks of the code of its day."""
ARCHITECTURE = ROOT / "docs" / "architecture.md"
GENERATED = ("make_reference", "make_api", "make_imports")
OTHERS_NAMES = {"RayCluster", "RayJob", "GaziAntep"}
"""Names in the docs that are Kubernetes', or a word of an example."""
EXPORT_EXAMPLES = {"topic.backup"}
"""Columns of an export that are named after a topic."""
EXAMPLE_FILES = {"shortest.py", "my_package/japanese.py"}
"""Files that a reader is asked to write."""

page_by_page = pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
living_pages = pytest.mark.parametrize("page", LIVING, ids=lambda p: str(p.relative_to(ROOT)))


@pytest.mark.parametrize("tool", GENERATED)
def test_a_generated_page_is_up_to_date(tool: str) -> None:
    done = subprocess.run([sys.executable, ROOT / "tools" / f"{tool}.py", "--check"])
    assert done.returncode == 0, f"run: python tools/{tool}.py"


def test_every_strategy_has_a_page() -> None:
    for name in registry.BUILTIN_STRATEGIES:
        assert (ROOT / "docs" / "strategies" / f"{name}.md").exists(), name


@page_by_page
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text("utf-8")):
        if not target.startswith(("http://", "https://", "mailto:")):
            assert (page.parent / target).exists(), f"{page.name} → {target}"


@pytest.mark.parametrize("name", registry.BUILTIN_STRATEGIES)
def test_a_strategy_documents_its_parameters_and_its_examples_work(name: str) -> None:
    strategy = registry.find_strategy(name)
    text = inspect.getdoc(strategy) or ""
    section = text.partition("Parameters\n----------\n")[2].partition("\nExamples\n")[0]
    named = {part for line in re.findall(r"^\S.*$", section, re.M) for part in line.split(", ")}
    topic = {field.name for field in fields(strategy) if field.name in TOPIC_KEYS}
    assert named == {*settable_parameters(strategy), *topic}
    module = sys.modules[strategy.__module__]
    [test] = doctest.DocTestFinder(recurse=False).find(strategy, name, module)
    assert test.examples
    assert doctest.DocTestRunner().run(test).failed == 0


# -- files and names -------------------------------------------------------------------------------


@living_pages
def test_files_named_in_the_docs_exist(page: Path) -> None:
    for name in _code_spans(page):
        if re.fullmatch(r"(?:src|tests|docs|bench|tools)/[\w./-]+\.\w+|[\w./-]+\.py", name):
            found = (ROOT / name).exists() or (SOURCE / name).exists() or name in EXAMPLE_FILES
            assert found, f"{page.name} names {name}"


@living_pages
def test_names_in_the_docs_exist(page: Path) -> None:
    wrong = [name for name in _code_spans(page) if not _is_known(name)]
    assert not wrong, f"{page.name} names {wrong}"


def test_a_name_that_is_not_there_is_found() -> None:
    for name in ("CrawlLoop._commit", "LinkFrontier.pop", "open_crawl(folder)", "topic.seeds"):
        assert _is_known(name), name
    for name in (
        "CrawlLoop._learned",
        "LinkFrontier.pops",
        "open_ring(folder)",
        "SomeRing",
        "_RINGS",
    ):
        assert not _is_known(name), name
    assert _is_known("honeyguide.crawl.loop.CrawlLoop")
    assert not _is_known("honeyguide.crawl.loop.Ring")


def _code_spans(page: Path) -> list[str]:
    """What stands between backticks, but for blocks of code."""
    text = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.S | re.M)
    return list(dict.fromkeys(re.findall(r"`([^`\n]+)`", text)))


def _is_known(name: str) -> bool:
    """Whether what looks like a name of ours is one."""
    if re.fullmatch(r"honeyguide(\.\w+)+", name):
        return _is_importable(name) or _is_entry_point(name)
    if call := re.fullmatch(r"([A-Za-z_][\w.]*)\(.*\)", name):
        last = call[1].rpartition(".")[2]
        if call[1].startswith("honeyguide."):
            return _is_importable(call[1])
        return last in _defined() or hasattr(builtins, last)
    if method := re.fullmatch(r"(_*[A-Z][a-z]\w*)\.(\w+)", name):
        return method[2] in _members().get(method[1], ())
    if re.fullmatch(r"_[A-Za-z_]+", name):
        return name in _defined() or name in _assigned()
    if re.fullmatch(r"_*([A-Z][a-z0-9]+){2,}", name):
        return name in _members() or name in OTHERS_NAMES or hasattr(builtins, name)
    return True


def _is_importable(name: str) -> bool:
    parts = name.split(".")
    for count in range(len(parts), 0, -1):
        try:
            found: Any = import_module(".".join(parts[:count]))
        except ImportError:
            continue
        try:
            for part in parts[count:]:
                found = getattr(found, part)
        except AttributeError:
            return False
        return True
    return False


def _is_entry_point(name: str) -> bool:
    """Groups of entry points look like modules."""
    return any(f'"{name}"' in path.read_text("utf-8") for path in SOURCE.rglob("*.py"))


@cache
def _trees() -> tuple[ast.Module, ...]:
    return tuple(ast.parse(path.read_text("utf-8")) for path in SOURCE.rglob("*.py"))


@cache
def _defined() -> frozenset[str]:
    """Every function, method and class."""
    kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    return frozenset(n.name for tree in _trees() for n in ast.walk(tree) if isinstance(n, kinds))


@cache
def _assigned() -> frozenset[str]:
    """Every name that something is assigned to."""
    nodes = (node for tree in _trees() for node in ast.walk(tree))
    return frozenset(
        n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    )


@cache
def _members() -> dict[str, set[str]]:
    """Class → its methods, fields and attributes."""
    found: dict[str, set[str]] = {}
    for tree in _trees():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                found.setdefault(node.name, set()).update(_member_names(node))
    return found


def _member_names(node: ast.ClassDef) -> Iterator[str]:
    for inner in ast.walk(node):
        if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef):
            yield inner.name
        elif isinstance(inner, ast.Name | ast.Attribute) and isinstance(inner.ctx, ast.Store):
            yield inner.id if isinstance(inner, ast.Name) else inner.attr


def test_settings_named_with_their_table_exist() -> None:
    tables = {table.name: {key.name for key in table.keys} for table in settings_tables().values()}
    for page in LIVING:
        for name in _code_spans(page):
            table, _, key = name.partition(".")
            if table in tables and re.fullmatch(r"[a-z_]+", key) and key not in _ENDINGS:
                known = key in tables[table] or name in EXPORT_EXAMPLES
                assert known or not tables[table], f"{page.name} names {name}"


_ENDINGS = {"db", "html", "json", "md", "py", "sqlite", "toml", "yml"}
"""`search.db` is a file."""


# -- the walk of a page ----------------------------------------------------------------------------


def test_the_walk_of_a_page_is_what_a_traced_crawl_does() -> None:
    walk = re.findall(r"^ {4,}([\w/]+\.py: [\w.]+)$", ARCHITECTURE.read_text("utf-8"), re.M)
    assert len(walk) > 50
    called = {place_of(code) for code in trace_crawl(30).seen}
    assert [line for line in walk if line not in called] == []


# -- examples --------------------------------------------------------------------------------------


def _python_blocks(page: Path) -> list[str]:
    blocks = re.findall(r"^( *)```python\n(.*?)^\1```", page.read_text("utf-8"), re.S | re.M)
    return [textwrap.dedent(code) for _, code in blocks]


@living_pages
def test_what_the_examples_import_is_there(page: Path) -> None:
    for block in _python_blocks(page):
        for node in ast.walk(ast.parse(block)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("honeyguide"):
                for alias in node.names:
                    name = f"{node.module}.{alias.name}"
                    assert _is_importable(name), f"{page.name} imports {name}"


def test_the_example_of_a_strategy_works(monkeypatch: pytest.MonkeyPatch) -> None:
    block = _python_blocks(ROOT / "docs" / "how-to" / "add-a-strategy.md")[0]
    made = ModuleType("shortest")
    monkeypatch.setitem(sys.modules, "shortest", made)
    exec(compile(block, "shortest.py", "exec", dont_inherit=True), made.__dict__)
    shortest = made.Shortest(keywords=("honey",), half=10.0)
    assert is_dataclass(shortest)
    assert "half" in {field.name for field in fields(shortest)}
    link = Link(Url("http://a.example/"))
    assert shortest.rank([link, Link(Url("http://a.example/longer/"))])[1] < 0.5
    assert shortest.explain(link)[0].weight == shortest.rank([link])[0]
    page = Page(Url("http://a.example/"), text="honey " * 30)
    assert shortest.judge(page).score > 0.5
    assert shortest.learn([Example(link, page, 1.0, "user")]) is shortest


def test_the_example_of_a_synthetic_web_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    [block] = _python_blocks(ROOT / "docs" / "how-to" / "made-web.md")
    exec(block.replace('"pages": 300', '"pages": 20'), {})
    assert "borg" in capsys.readouterr().out
    assert (tmp_path / "try" / "collection.db").exists()


def test_the_example_of_a_comparison_works(capsys: pytest.CaptureFixture[str]) -> None:
    [block] = _python_blocks(ROOT / "docs" / "how-to" / "watch.md")
    exec(block, {"old": b"<p>Open from nine to five.</p>", "new": b"<p>Closed on Monday.</p>"})
    assert "nothing changed" not in capsys.readouterr().out


def test_the_example_of_the_normaliser_works() -> None:
    block = _python_blocks(ROOT / "docs" / "how-to" / "turkish.md")[0]
    code, _, printed = block.partition("\n# [")
    scope: dict[str, Any] = {}
    *first, last = ast.parse(code).body
    exec(compile(ast.Module(first, []), "turkish.md", "exec"), scope)
    assert isinstance(last, ast.Expr)
    found = eval(compile(ast.Expression(last.value), "turkish.md", "eval"), scope)
    assert list(found) == ast.literal_eval(f"[{printed.strip()}")


def test_the_example_of_a_language_works(monkeypatch: pytest.MonkeyPatch) -> None:
    block = next(
        b for b in _python_blocks(ROOT / "docs" / "how-to" / "add-a-language.md") if "def cut" in b
    )
    segmenter = SimpleNamespace(words=lambda text: text.split("|"))
    monkeypatch.setitem(sys.modules, "my_segmenter", segmenter)
    scope: dict[str, Any] = {}
    exec(block, scope)
    assert scope["japanese"]().words("本|は|新") == ["本", "は", "新"]


def test_the_example_of_an_engine_has_the_shape_of_one() -> None:
    [block] = _python_blocks(ROOT / "docs" / "reference" / "search-engines.md")
    scope: dict[str, Any] = {}
    exec(block, scope)
    engine = scope["Mine"](None, SimpleNamespace(price=0.5))
    for name in ("name", "negatives", "price", "address", "search"):
        assert hasattr(engine, name)
        assert name in _members()["SearchEngine"]
    assert "q=honey" in engine.address(Query(text="honey"), 1)
    assert "fetch_results" in _members()["EngineHttpClient"]


def test_the_examples_of_the_readme_use_what_is_public() -> None:
    """They crawl the web, so they are read and not run."""
    made = {"honeyguide": honeyguide, "birds": honeyguide.Collection}
    used = set()
    for block in _python_blocks(ROOT / "README.md"):
        for node in ast.walk(ast.parse(block)):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                owner = made.get(node.value.id)
                assert owner is None or hasattr(owner, node.attr), ast.unparse(node)
                used.add(f"{node.value.id}.{node.attr}")
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                owner = made.get(ast.unparse(node.func.value))
                if owner is not None:
                    inspect.signature(getattr(owner, node.func.attr)).bind_partial(
                        **{word.arg: None for word in node.keywords if word.arg}
                    )
    assert {"honeyguide.create", "birds.crawl", "birds.pages"} <= used

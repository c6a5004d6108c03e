"""The shape of the source tree may only get better: ``python tools/house.py``."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from tools import house

REPORT = house.measure(house.SOURCE)


@pytest.mark.parametrize("figure", sorted(house.read_limits()))
def test_no_figure_exceeds_its_limit(figure: str) -> None:
    limit = house.read_limits()[figure]
    about = "\n".join(REPORT.details.get(figure, [])[:20])
    assert REPORT.figures[figure] <= limit, f"{figure}:\n{about}"


def test_every_figure_has_a_limit() -> None:
    assert set(REPORT.figures) == set(house.read_limits())


def module(name: str, text: str) -> house.SourceModule:
    return house.SourceModule(name, Path(f"{name}.py"), text, ast.parse(text))


def test_code_lines_leave_out_what_explains() -> None:
    text = '"""About.\n\nMore."""\n\n# a comment\nx = (\n    1,\n)\n\n\nclass A:\n    """It."""\n'
    assert house.code_lines(module("a", text)) == 4


def test_chains_and_cycles_are_found_also_inside_functions() -> None:
    modules = [
        module("a", "from honeyguide import b"),
        module("b", "def f() -> None:\n    from honeyguide.c import x\n"),
        module("c", "from honeyguide import d\nx = 1"),
        module("d", "if TYPE_CHECKING:\n    from honeyguide import a\n"),
        module("e", "import honeyguide.f"),
        module("f", "def g() -> None:\n    import honeyguide.e\n"),
    ]
    graph = house.import_graph(modules)
    assert house.longest_chain(graph) == ["a", "b", "c", "d"]
    assert house.import_cycles(graph) == [["e", "f"]]


def test_a_small_module_with_one_importer_of_its_package_is_named() -> None:
    modules = [
        module("p.a", "from honeyguide.p import b"),
        module("p.b", "x = 1"),
        module("q.c", "from honeyguide.p import a"),
    ]
    graph = house.import_graph(modules)
    assert house.small_single_importers(modules, graph) == ["p.b < p.a"]


def test_names_are_counted_without_their_underscores() -> None:
    names = list(house.function_names([module("a", "def _met(): ...\ndef __len__(): ...")]))
    assert names == ["_met"]

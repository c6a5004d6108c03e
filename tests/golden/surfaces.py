"""What people and programs see of Honeyguide from outside, as files to compare."""

from __future__ import annotations

import inspect
import json
import re
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import honeyguide
from honeyguide import errors
from honeyguide.studio.routes import describe_api
from honeyguide.studio.serving import all_routes
from tests.golden.telling import drawn, helps, told
from tests.golden.webs import CASES, create, visit

SOURCE = Path(honeyguide.__file__).parent


def help_pages() -> str:
    return "".join(f"$ {name} --help\n{drawn(text)}\n" for name, text in helps())


def settings() -> str:
    return drawn(_printed("settings"))


def settings_json() -> str:
    return _pretty(json.loads(_printed("settings", "--json")))


def strategies() -> str:
    return _pretty(json.loads(_printed("strategies", "--json")))


def openapi() -> str:
    """The studio's API with every schema written out in its place: what is sent and what comes."""
    found = _openapi()
    shapes = found.get("components", {}).pop("schemas", {})
    return _pretty(_inlined(found, shapes, ()))


def openapi_schemas() -> str:
    """The names of the schemas, which programs made from the document may use."""
    return _pretty(sorted(_openapi()["components"]["schemas"]))


def exit_codes() -> str:
    """Every error with its exit code, and the word that the journal has for it."""
    return _pretty(
        {
            name: [found.exit_code, getattr(found, "kind", "") or ""]
            for name, found in sorted(vars(errors).items())
            if isinstance(found, type) and issubclass(found, errors.HoneyguideError)
            and isinstance(getattr(found, "kind", ""), str)
        }
    )  # fmt: skip


def public() -> str:
    """What ``import honeyguide`` brings, with the parameters and their defaults."""
    found: dict[str, Any] = {"__all__": sorted(honeyguide.__all__)}
    found["create"] = _parameters(honeyguide.create)
    found["train"] = _parameters(honeyguide.train)
    for named in ("Collection", "Report", "Progress"):
        kind = getattr(honeyguide, named)
        if hasattr(kind, "__struct_fields__"):
            found[f"{named} fields"] = list(kind.__struct_fields__)
            found[f"{named}.__init__"] = ["self", *_parameters(kind)]
        elif is_dataclass(kind):
            found[f"{named} fields"] = [field.name for field in fields(kind)]
        elif hasattr(kind, "_fields"):
            found[f"{named} fields"] = list(kind._fields)
        for name, value in sorted(vars(kind).items()):
            if name.startswith("_") and name != "__init__":
                continue
            if inspect.isfunction(value):
                found[f"{named}.{name}"] = _parameters(value)
            elif isinstance(value, property):
                found[f"{named}.{name}"] = "property"
    return _pretty(found)


def environment() -> str:
    """Variables of the environment that are read."""
    pattern = re.compile(r"\b(?:HONEYGUIDE|XDG)_[A-Z_]*")
    text = "\n".join(path.read_text("utf-8") for path in sorted(SOURCE.rglob("*.py")))
    return _pretty(sorted(set(pattern.findall(text))))


def made_collection() -> str:
    """What a new collection's folder holds: the file, and the shape of the database."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "bees"
        made = honeyguide.create(
            folder,
            seeds=["https://e.example/"],
            keywords=["honey", "bee hive"],
            contact="tester@example.org",
            good=["https://e.example/good"],
            language="en",
            scope={"rule": "domain"},
            notify=[{"to": "atom", "kinds": ["content"], "significance": 0.1}],
        )
        visit(CASES["made-breadth"], folder)
        files = sorted(
            re.sub(r"\d{6,}", "NUMBER", str(path.relative_to(folder))) for path in folder.rglob("*")
        )
        with closing(sqlite3.connect(folder / "collection.db")) as db:
            shape = db.execute("SELECT sql FROM sqlite_master WHERE sql != '' ORDER BY type, name")
            tables = "\n".join(row[0] for row in shape)
            facts = [
                f"{name} = {db.execute(f'PRAGMA {name}').fetchone()[0]}"
                for name in ("application_id", "user_version", "page_size", "journal_mode")
            ]
            meta = [row[0] for row in db.execute("SELECT key FROM meta ORDER BY key")]
        text = (made.folder / "topic.toml").read_text()
    return "\n".join(["# files", *files, "# topic.toml", text, "# database", *facts,
                      "meta: " + " ".join(meta), tables, ""])  # fmt: skip


def exports() -> str:
    """The columns of every kind of file that ``honeyguide export`` writes."""
    import pyarrow.parquet as parquet

    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as place:
        for case in ("made-breadth", "demo-honeyguide-topics"):
            folder = Path(place) / case
            collection = create(CASES[case], folder)
            visit(CASES[case], folder, collection.settings)
            for ending in ("csv", "jsonl", "parquet"):
                file = Path(place) / f"{case}.{ending}"
                collection.export(file, everything=True)
                found[f"{case}.{ending}"] = (
                    str(parquet.read_schema(file)).splitlines()
                    if ending == "parquet"
                    else list(json.loads(file.read_text().splitlines()[0]))
                    if ending == "jsonl"
                    else file.read_text().splitlines()[0].split(",")
                )
    return _pretty(found)


SURFACES: dict[str, Callable[[], str]] = {
    "help.txt": help_pages,
    "settings.txt": settings,
    "settings.json": settings_json,
    "strategies.json": strategies,
    "openapi.json": openapi,
    "openapi-schemas.json": openapi_schemas,
    "exit-codes.json": exit_codes,
    "public.json": public,
    "environment.json": environment,
    "collection.txt": made_collection,
    "exports.json": exports,
}


def _printed(*words: str) -> str:
    code, out, err = told(*words)
    assert code == 0, err
    return out


def _pretty(value: Any) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def _openapi() -> Any:
    return json.loads(json.dumps(describe_api(all_routes())))


def _inlined(value: Any, shapes: dict[str, Any], inside: tuple[str, ...]) -> Any:
    if isinstance(value, list):
        return [_inlined(one, shapes, inside) for one in value]
    if not isinstance(value, dict):
        return value
    if "$ref" in value:
        name = value["$ref"].rpartition("/")[2]
        if name in inside:
            return {"again": len(inside) - inside.index(name)}
        return _inlined(shapes[name], shapes, (*inside, name))
    titles = [name.rpartition(".")[2] for name in shapes]
    return {
        key: _inlined(one, shapes, inside)
        for key, one in value.items()
        if not (key == "title" and one in titles)
    }


def _parameters(function: Callable[..., Any]) -> list[str]:
    return [
        f"{'*' * (p.kind == p.VAR_KEYWORD) * 2}{p.name}{' (keyword)' * (p.kind == p.KEYWORD_ONLY)}"
        + ("" if p.default is p.empty else f" = {_default(p.default)}")
        for p in inspect.signature(function).parameters.values()
    ]


def _default(value: Any) -> str:
    return "…" if callable(value) else repr(value)


def written() -> Iterator[tuple[str, str]]:
    for name, make in SURFACES.items():
        yield name, make()

"""The API described by its own routes: OpenAPI 3.1 for programs, a page for people."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from typing import Any, cast

import msgspec

from honeyguide import __version__
from honeyguide.studio.routes import RawAnswer, Route, StreamAnswer

_REFS = "#/components/schemas/{name}"
_PLACE = re.compile(r"{(\w+)}")


class Problem(msgspec.Struct, frozen=True):
    """What every refusal says."""

    error: str
    field: str = ""
    """Of what was sent: where the mistake is, if it is in one."""


def describe_api(routes: Sequence[Route]) -> dict[str, Any]:
    """The OpenAPI document."""
    kinds = [
        kind for route in routes for kind in (route.query, route.body, _json_type(route)) if kind
    ]
    shapes, components = msgspec.json.schema_components([*kinds, Problem], ref_template=_REFS)
    found = dict(zip(map(repr, kinds), shapes, strict=False))
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.method.lower()] = _describe_operation(
            route, found, components
        )
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Honeyguide studio",
            "version": __version__,
            "description": (
                "What the studio's screens use. Send `Authorization: Bearer TOKEN` with the token "
                "that `honeyguide serve --json` prints, and `X-Honeyguide: 1` with whatever "
                "changes something."
            ),
        },
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _json_type(route: Route) -> Any:
    return None if route.returns in (RawAnswer, StreamAnswer) else route.returns


def _describe_operation(
    route: Route, found: dict[str, Any], components: dict[str, Any]
) -> dict[str, Any]:
    statuses = ["400", "401", "403", "404", "409", "414", "421", "422"]
    statuses += ["408", "413", "415"] if route.body else []
    problem = {"application/json": {"schema": {"$ref": _REFS.format(name="Problem")}}}
    answer = (
        {"*/*": {}} if _json_type(route) is None else {
            "application/json": {"schema": found[repr(route.returns)]}
        }
    )  # fmt: skip
    said: dict[str, Any] = {
        "summary": route.summary,
        "operationId": re.sub(r"\W+", "_", f"{route.method.lower()} {route.path}").strip("_"),
        "parameters": _describe_parameters(route, components),
        "responses": {"200": {"description": "done", "content": answer}}
        | {code: {"description": "refused", "content": problem} for code in statuses},
    }
    if route.body is not None:
        schema = found[repr(route.body)]
        said["requestBody"] = {
            "required": True,
            "content": {"application/json": {"schema": schema}},
        }
    return said


def _describe_parameters(route: Route, components: dict[str, Any]) -> list[dict[str, Any]]:
    shape: dict[str, Any] = {"properties": {}}
    if route.query is not None:
        # By its own schema: parameters are listed one by one and not as one value.
        (_,), known = msgspec.json.schema_components([route.query], ref_template=_REFS)
        shape = cast("dict[str, Any]", known[route.query.__name__])
        components.update({name: each for name, each in known.items() if name not in components})
    places = _PLACE.findall(route.path)
    properties = {name: {"type": "string"} for name in places} | shape["properties"]
    required = {*places, *shape.get("required", ())}
    listed = []
    for name, schema in properties.items():
        one = {
            "name": name,
            "in": "path" if name in places else "query",
            "required": name in required,
            "schema": {key: value for key, value in schema.items() if key != "description"},
        }
        if "description" in schema:
            one["description"] = schema["description"]
        listed.append(one)
    if route.method not in ("GET",):
        listed.append({
            "name": "X-Honeyguide", "in": "header", "required": True,
            "schema": {"type": "string", "const": "1"},
        })  # fmt: skip
    return listed


def api_page(routes: Sequence[Route]) -> bytes:
    """The routes for people to read."""
    rows = []
    for route in sorted(routes, key=lambda route: (route.path, route.method)):
        asks = [*_field_names(route.query, "?"), *_field_names(route.body, "")]
        rows.append(
            f"<tr><td><code>{route.method}</code></td><td><code>{escape(route.path)}</code></td>"
            f"<td>{escape(route.summary)}"
            f"<div class=muted>{escape(', '.join(asks))}</div></td></tr>"
        )
    return (
        "<!doctype html><html lang=en><head><meta charset=utf-8><title>Honeyguide API</title>"
        "<meta name=viewport content='width=device-width'>"
        "<link rel=stylesheet href=/static/style.css></head><body><main>"
        "<h1>The studio's API</h1><p>For programs: <a href=/api/openapi.json>openapi.json</a>. "
        "Send <code>Authorization: Bearer TOKEN</code>, and <code>X-Honeyguide: 1</code> with "
        f"whatever changes something.</p><table>{''.join(rows)}</table></main></body></html>"
    ).encode()


def api_table(routes: Sequence[Route]) -> str:
    """The routes as a Markdown table, for docs/reference/api.md."""
    lines = ["| | path | what for |", "|---|---|---|"]
    for route in sorted(routes, key=lambda route: (route.path, route.method)):
        summary = route.summary
        lines.append(f"| {route.method} | `{route.path}` | {summary} |")
    return "\n".join(lines)


def _field_names(kind: type | None, mark: str) -> list[str]:
    fields = () if kind is None else msgspec.structs.fields(kind)
    return [f"{mark}{field.encode_name}" for field in fields]

"""Routes of the studio's API: what a function that answers a request gets and returns, checks of
names, error messages for forms, and the OpenAPI description.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from html import escape
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar, cast, get_type_hints
from urllib.parse import unquote

import msgspec

from honeyguide import __version__
from honeyguide.errors import ConfigError, HoneyguideError

if TYPE_CHECKING:
    from honeyguide.api.collection import Collection
    from honeyguide.store.store import Store
    from honeyguide.studio.runs import SharedObjects, StudioRuns


T = TypeVar("T")
S = TypeVar("S", bound=msgspec.Struct)


class RequestContext(NamedTuple):
    """Made for each request."""

    root: Path
    """The folder of the collections."""
    folder: Path | None
    """Of the collection named in the path, checked to exist."""
    person: str
    """Who asks, and labels; '': nobody said."""
    runs: StudioRuns
    """The crawls and watches that this studio started."""
    shared: SharedObjects
    """What lives longer than a request; see :meth:`shared_for`."""

    @property
    def collection_folder(self) -> Path:
        """The collection's folder, on paths that name one."""
        assert self.folder is not None
        return self.folder

    @property
    def has_store(self) -> bool:
        """Whether anything was crawled or watched yet."""
        return (self.collection_folder / "collection.db").exists()

    def read_store(self) -> Store:
        """Its store, to read: ``with context.read_store() as store:``."""
        from honeyguide.store.store import open_existing_store

        return open_existing_store(self.collection_folder, "read")

    def open_collection(self) -> Collection:
        """It, with its settings as they stand in topic.toml now."""
        from honeyguide.api.collection import Collection

        return Collection(self.collection_folder)

    def shared_for(self, make: Callable[[Path], T]) -> T:
        """One thing of this kind for each collection, shared by all requests: made with
        ``make(folder)`` when first asked for; its ``close()``, if it has one, is called when the
        studio ends. It must be safe for threads."""
        return self.shared.get(self.collection_folder, make)


# -- Names in requests --


_NAME_CHARS = 100
_PERSON_CHARS = 60
_MAX_FOLDERS = 2_000
"""Folders that are looked at in the root."""
_SUFFIX = re.compile(r"(\.[a-z0-9]{1,6}){0,2}\Z")


def find_collection(root: Path, name: str) -> Path | None:
    """The collection of that name directly in the root; None: there is none.

    A link in the root's place would lead out of it, and is not followed.
    """
    if name_problem(name):
        return None
    folder = root / name
    try:
        whole = not folder.is_symlink() and (folder / "topic.toml").is_file()
    except OSError:
        return None
    return folder if whole else None


def find_collections(root: Path) -> list[Path]:
    """All in the root, the one that was changed last first."""
    dated: list[tuple[int, Path]] = []
    try:
        for place, entry in enumerate(root.iterdir()):
            if place >= _MAX_FOLDERS:
                break
            if (folder := find_collection(root, entry.name)) is not None:
                dated.append((max(when for when, _ in collection_stamp(folder)), folder))
    except OSError as error:
        raise ConfigError(f"{root} cannot be read: {error.strerror}") from error
    return [folder for _, folder in sorted(dated, key=lambda pair: (-pair[0], pair[1].name))]


def name_problem(name: str) -> str:
    """Why no collection may have this name; '' if one may."""
    if not name or name != name.strip() or len(name) > _NAME_CHARS:
        return f"a name has 1 to {_NAME_CHARS} characters, and no blanks around it"
    if not name.isprintable() or any(c in '/\\:*?"<>|' for c in name):
        return 'a name has none of these characters: / \\ : * ? " < > |'
    if name.startswith((".", "-", "~")) or name.endswith("."):
        return "a name begins with a letter or a digit, and does not end with a dot"
    return "" if len(name.encode("utf-8", "replace")) <= 200 else "this name is too long"


def clean_person(header: str) -> str:
    """Who labels, as the browser says it (percent-encoded); cleaned and short."""
    name = unquote(header[: 12 * _PERSON_CHARS], errors="replace")
    shown = "".join(c if c.isprintable() else " " for c in name)
    return " ".join(shown.split())[:_PERSON_CHARS].strip()


def safe_upload_name(name: str, fallback: str = "upload") -> str:
    """An uploaded file's name, harmless as one of ours; its ending says what it is."""
    last = re.split(r"[/\\]", name)[-1]
    plain = re.sub(r"[^\w.-]+", "-", last[-50:]).strip(".-")
    stem = plain.partition(".")[0] or fallback
    ending = _SUFFIX.search(plain.lower())
    return f"{stem}{ending.group() if ending else ''}"


def collection_stamp(folder: Path) -> tuple[tuple[int, int], ...]:
    """When a collection's files were last written, and how large they are."""
    found = []
    for name in ("topic.toml", "collection.db", "collection.db-wal"):
        try:
            state = (folder / name).stat()
        except OSError:
            found.append((0, 0))
        else:
            found.append((state.st_mtime_ns, state.st_size))
    return tuple(found)


# -- Error messages --


_FIELD_PATH = re.compile(r" - at `\$\.?(\w*)[^`]*`$")
_MISSING_FIELD = re.compile(r"^Object missing required field `(\w+)`$")
_LENGTH = re.compile(r"^Expected `(\w+)` of length ([<>])= (\d+)$")
_BOUND = re.compile(r"^Expected `(?:int|float)` ([<>])= (\S+)$")
_KIND = re.compile(r"^Expected `(int|float)(?: \| null)?`, got ")
_KEY = re.compile(r"\b(topic|crawl|fetch|scope|search)\.(\w+)")
_FIRST = re.compile(rf"^(?:settings: )?{_KEY.pattern}(?:\[\d+\])?: ")
_ADVICE = re.compile(r": add topic\.\w+ to topic\.toml\Z")
_PATH = re.compile(r"(?<![\w:/.])(?:/[^\s/:'\"]+)+/([^\s/:'\"]+)")
_FORM_FIELDS = {
    ("topic", "keyword_language"): "words",
    ("scope", "rule"): "scope",
    ("search", "engine"): "search_engine",
    ("search", "url"): "search_url",
}
"""Keys of topic.toml that are called otherwise where a topic is made; the rest have their names."""


class FormError(ConfigError):
    """A mistake, and the field of what was sent that it is in."""

    def __init__(self, field: str, why: str) -> None:
        super().__init__(why)
        self.field = field


@contextmanager
def errors_in_field(field: str = "") -> Iterator[None]:
    """Every ConfigError in the block becomes a FormError of that field; without one, of the field
    for the key of topic.toml that the message names. Whoever fills in a form has not seen keys."""
    try:
        yield
    except FormError:
        raise
    except ConfigError as error:
        key = _KEY.search(str(error))
        if not field and key is None:
            raise
        name = field or _form_field(cast("re.Match[str]", key))
        raise FormError(name, _plain_message(str(error))) from error


def _form_field(key: re.Match[str]) -> str:
    return _FORM_FIELDS.get((key[1], key[2]), key[2])


def _plain_message(message: str) -> str:
    """Without the keys of the file, and with names of files for their paths."""
    bare = _ADVICE.sub("", _FIRST.sub("", message))
    return _PATH.sub(r"\1", _KEY.sub(_form_field, bare))


def explain_decode_error(what: str, message: str) -> tuple[str, str]:
    """What msgspec says of a body or a query: (the field or '', the same in words)."""
    place = _FIELD_PATH.search(message)
    field, bare = (place[1], message[: place.start()]) if place else ("", message)
    if missing := _MISSING_FIELD.match(bare):
        return missing[1], f"{missing[1]} is missing"
    if (words := _constraint_words(bare)) and field:
        return field, f"{field} {words}"
    return field, f"the {what} is not what it should be: {message}"


def _constraint_words(message: str) -> str:
    if length := _LENGTH.match(message):
        what = "entries" if length[1] == "array" else "characters"
        if length[2] == "<":
            return f"must have no more than {length[3]} {what}"
        return "must not be empty" if length[3] == "1" else f"must have {length[3]} {what} or more"
    if bound := _BOUND.match(message):
        return f"must be {bound[2]} or {'more' if bound[1] == '>' else 'less'}"
    if kind := _KIND.match(message):
        return "must be a whole number" if kind[1] == "int" else "must be a number"
    return ""


# -- Routes --
#
# An answer is synchronous and runs in a worker thread: ``answer(context)``, with the query and the
# body as further arguments, as the route has them. Placeholders of the path other than ``{name}``
# are fields of the query, by the same name
# (``/api/c/{name}/visits/{number}`` with ``number: int`` in the query's Struct). A list field of a
# query takes repeated parameters.
#
# It returns a value of ``returns``, which becomes JSON; or :class:`RawAnswer`, bytes of another
# kind; or :class:`StreamAnswer`, which is sent as it comes. It refuses by raising: ConfigError is
# answered with 400, :class:`ResourceMissing` with 404, StoreError with 409, each with
# ``{"error": message}``; anything else is our own bug, 500, whose traceback goes to the log only.
#
# A store is opened for reading with ``with context.read_store() as store:``, once for each request:
# that takes some 8 ms, far less than a view may, and no connection is ever older than its
# collection. To write, use ``open_existing_store(context.collection_folder, "write")``.


__all__ = ["RawAnswer", "RequestContext", "ResourceMissing", "Route", "StreamAnswer"]


class ResourceMissing(HoneyguideError):
    """What the path names does not exist."""


@dataclass(frozen=True)
class Route:
    """One thing that may be asked of the studio, or done through it."""

    method: Literal["GET", "POST", "PUT", "DELETE"]
    path: str
    answer: Callable[..., Any]
    query: type | None = None
    """A msgspec.Struct with typed, bounded parameters; not given: the type of ``query``."""
    body: type | None = None
    """A msgspec.Struct with ``forbid_unknown_fields=True``; not given: the type of ``body``."""
    returns: Any = None
    """What ``answer`` returns, if its annotation does not say it: a msgspec.Struct, a list or dict
    of them, or :class:`RawAnswer` or :class:`StreamAnswer` where it is no JSON."""
    summary: str = ""
    """Not given: the first line of the docstring of ``answer``."""
    most_bytes: int = 1_000_000
    """Largest body; at most ten million."""

    def __post_init__(self) -> None:
        hints = get_type_hints(self.answer)
        for name, kind in (("query", "query"), ("body", "body"), ("returns", "return")):
            if getattr(self, name) is None:
                object.__setattr__(self, name, hints.get(kind))
        doc = (self.answer.__doc__ or "").strip().partition("\n")[0].rstrip(".")
        object.__setattr__(self, "summary", self.summary or doc)


@dataclass(frozen=True)
class RawAnswer:
    """An answer that is no JSON. ``headers`` win over the studio's own, such as the policy of what
    a page may load."""

    body: bytes
    media: str = "text/plain; charset=utf-8"
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class StreamAnswer:
    """An answer sent as it comes: an export, or events.

    A plain iterator runs in worker threads; one that waits for long should be asynchronous. Either
    is closed when the listener goes away.
    """

    chunks: Iterator[bytes] | AsyncIterator[bytes]
    media: str = "text/event-stream"
    headers: dict[str, str] = field(default_factory=dict)


def copy_fields(kind: type[S], source: object, **values: Any) -> S:
    """A struct with these values, and for its other fields the source's attributes of that name."""
    names = [name for name in kind.__struct_fields__ if name not in values]
    return kind(**{name: getattr(source, name) for name in names}, **values)


# -- OpenAPI --

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
    operation: dict[str, Any] = {
        "summary": route.summary,
        "operationId": re.sub(r"\W+", "_", f"{route.method.lower()} {route.path}").strip("_"),
        "parameters": _describe_parameters(route, components),
        "responses": {"200": {"description": "done", "content": answer}}
        | {code: {"description": "refused", "content": problem} for code in statuses},
    }
    if route.body is not None:
        schema = found[repr(route.body)]
        operation["requestBody"] = {
            "required": True,
            "content": {"application/json": {"schema": schema}},
        }
    return operation


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


def fill_template(name: str, **values: str) -> bytes:
    """One of the pages in ``templates`` with these values, which are HTML already."""
    page = resources.files("honeyguide.studio").joinpath("templates", name).read_text("utf-8")
    return page.rstrip("\n").format_map(values).encode()


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
    return fill_template("api.html", rows="".join(rows))


def _field_names(kind: type | None, mark: str) -> list[str]:
    fields = () if kind is None else msgspec.structs.fields(kind)
    return [f"{mark}{field.encode_name}" for field in fields]

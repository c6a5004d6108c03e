"""The studio's application: what is answered, what is refused, and how."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote, unquote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import Meta, Struct

from honeyguide.errors import CollectionLocked, ConfigError
from honeyguide.studio import endpoints
from honeyguide.studio.app import GuardedApp, StaticAssets, _route_app, all_routes
from honeyguide.studio.auth import SAFETY_HEADERS, AuthGate
from honeyguide.studio.routes import RawAnswer, RequestContext, ResourceMissing, Route, StreamAnswer
from honeyguide.studio.runs import SharedObjects, StudioRuns
from tests.unit.studio_client import PORT, Answer, Client


class Query(Struct):
    number: int
    most: Annotated[int, Meta(ge=1, le=50)] = 10
    share: float = 0.5
    host: list[str] = []


class Body(Struct, forbid_unknown_fields=True):
    text: Annotated[str, Meta(max_length=20)] = ""
    share: float = 0.0


def echo(here: RequestContext, query: Query) -> dict[str, Any]:
    return {
        "folder": here.folder and here.folder.name, "person": here.person, "number": query.number,
        "most": query.most, "host": query.host,
    }  # fmt: skip


def say(_: RequestContext, body: Body) -> dict[str, str]:
    return {"text": body.text}


def fail(_: RequestContext, body: Body) -> None:
    kinds: dict[str, Exception] = {
        "config": ConfigError("no such key"), "missing": ResourceMissing("no page"),
        "locked": CollectionLocked("in use"), "bug": RuntimeError("secret detail"),
    }  # fmt: skip
    raise kinds[body.text]


closed: list[str] = []


def stream(_: RequestContext) -> StreamAnswer:
    def chunks() -> Iterator[bytes]:
        try:
            yield b"one"
            yield b"two"
        finally:
            closed.append("plain")

    return StreamAnswer(chunks(), "text/csv")


def events(_: RequestContext) -> StreamAnswer:
    async def chunks() -> AsyncIterator[bytes]:
        try:
            yield b"data: 1\n\n"
        finally:
            closed.append("async")

    return StreamAnswer(chunks())


def raw(_: RequestContext) -> RawAnswer:
    return RawAnswer(b"<p>", "text/html", {"Content-Security-Policy": "sandbox"})


ROUTES = (
    Route("GET", "/api/c/{name}/visits/{number}", echo),
    Route("POST", "/api/say", say, most_bytes=1000),
    Route("POST", "/api/fail", fail),
    Route("GET", "/api/stream", stream),
    Route("GET", "/api/events", events),
    Route("GET", "/api/raw", raw),
)


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    root = tmp_path_factory.mktemp("root")
    (root / "kuşlar").mkdir()
    (root / "kuşlar" / "topic.toml").write_text("")
    found = Client(root, app=object())
    desk = endpoints.RouteAnswerer(found.runs, found.kept)
    found.app = GuardedApp(_route_app(ROUTES, desk, StaticAssets()), found.gate)
    yield found
    found.close()


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoints, "DRAIN_S", 0.01)


def test_queries_paths_and_people_reach_the_answer(client: Client) -> None:
    path = "/api/c/kuşlar/visits/7?most=3&host=a&host=b"
    found = client.get(path, {"x-honeyguide-person": "Ay%C5%9Fe"})
    assert found.status == 200
    assert found.json == {
        "folder": "kuşlar", "person": "Ayşe", "number": 7, "most": 3, "host": ["a", "b"],
    }  # fmt: skip


@pytest.mark.parametrize(
    "path",
    ["x", "7?most=0", "7?most=51", "7?most=x", "7?share=nan", "7?share=inf", "7?most=",
     "7?number=8&most=99999999999999999999", "7?" + "a=1&" * 200, "7?host=" + "a" * 30_000],
)  # fmt: skip
def test_queries_out_of_bounds_are_refused(client: Client, path: str) -> None:
    assert client.get(f"/api/c/kuşlar/visits/{path}").status in (400, 414)


def test_the_path_wins_over_the_query(client: Client) -> None:
    assert client.get("/api/c/kuşlar/visits/7?number=8").json["number"] == 7


@pytest.mark.parametrize("name", ["nowhere", "..", ".", "kuşlar\0", "\udcff"])
def test_other_collections_are_missing(client: Client, name: str) -> None:
    name = name.encode("utf-8", "replace").decode()
    found = client.get(f"/api/c/{name}/visits/7")
    assert (found.status, list(found.json)) == (404, ["error"])


def test_errors_are_told_by_their_kind(client: Client, caplog: pytest.LogCaptureFixture) -> None:
    told = {kind: client.post("/api/fail", {"text": kind}) for kind in ("config", "missing")}
    assert (told["config"].status, told["config"].json) == (400, {"error": "no such key"})
    assert (told["missing"].status, told["missing"].json) == (404, {"error": "no page"})
    assert client.post("/api/fail", {"text": "locked"}).status == 409
    with caplog.at_level(logging.ERROR):
        bug = client.post("/api/fail", {"text": "bug"})
    assert bug.status == 500
    assert b"secret" not in bug.body
    assert "secret detail" in caplog.text


DEEP = b'{"text":' + b"[" * 100_000


@pytest.mark.parametrize(
    ("body", "status"),
    [(b"", 400), (b"[]", 400), (b"{", 400), (DEEP, 413), (DEEP[:900], 400), (b"\xff", 400),
     (b'{"text":"\\ud800"}', 400), (b'{"text":"\xed\xa0\x80"}', 400), (b'{"other":1}', 400),
     (b'{"text":"' + b"a" * 21 + b'"}', 400), (b'{"share":1e999}', 400), (b'{"share":NaN}', 400),
     (b'{"text":"\\u0000"}', 200), (b"{" + b" " * 2000 + b"}", 413)],
)  # fmt: skip
def test_bodies_are_bounded_and_checked(client: Client, body: bytes, status: int) -> None:
    assert client.post("/api/say", body).status == status


def test_a_declared_length_is_believed_before_anything_is_read(client: Client) -> None:
    assert client.post("/api/say", b"{}", {"content-length": "9" * 30}).status == 413


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", None])
def test_only_json_is_taken(client: Client, kind: str | None) -> None:
    assert client.post("/api/say", b"{}", {"content-type": kind}).status == 415


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(body=st.binary(max_size=200))
def test_no_bytes_are_our_bug(client: Client, body: bytes) -> None:
    assert client.post("/api/say", body).status in (200, 400)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(path=st.text(max_size=40))
def test_no_path_is_our_bug(client: Client, path: str) -> None:
    path = path.encode("utf-8", "replace").decode()
    assert client.get("/" + path).status in (200, 400, 401, 404, 405)


def test_streams_come_whole_and_are_closed(client: Client) -> None:
    closed.clear()
    found = client.get("/api/stream")
    assert (found.body, found.headers["content-type"]) == (b"onetwo", "text/csv")
    assert client.get("/api/events").headers["content-type"].startswith("text/event-stream")
    assert closed == ["plain", "async"]


def safe(found: Answer) -> bool:
    return all(name.lower() in found.headers for name in SAFETY_HEADERS)


def test_every_answer_has_the_headers_of_safety(client: Client) -> None:
    for path in ("/", "/static/app.js", "/api/nothing", "/api/raw", "/api/openapi.json"):
        assert safe(client.get(path)), path
    refused = client.get("/api/raw", {"authorization": None})
    assert refused.status == 401
    assert safe(refused)
    assert safe(client.get("/", {"host": "evil.example"}))


def test_the_printed_address_leads_in(client: Client) -> None:
    ticket = client.gate.sign_in_address().partition("#token=")[2]
    nobody: dict[str, str | None] = {"authorization": None, "x-honeyguide": None}
    assert client.get("/", nobody).status == 200
    assert client.get("/api/stream", nobody).status == 401
    found = client.post("/sign-in", {}, nobody | {"authorization": f"Bearer {ticket}"})
    assert (found.status, found.headers["cache-control"]) == (200, "no-store")
    cookie = nobody | {"cookie": found.headers["set-cookie"].partition(";")[0]}
    both = cookie | {"x-honeyguide": found.json["key"]}
    assert client.get("/api/stream", both).status == 200
    assert client.get("/api/stream", cookie).status == 401
    again = client.post("/sign-in", {}, nobody | {"authorization": f"Bearer {ticket}"})
    assert (again.status, "set-cookie" in again.headers) == (401, False)


def test_a_pass_is_for_what_sends_no_headers_and_reaches_no_answer(client: Client) -> None:
    given = client.gate.sign_in({})
    cookie: dict[str, str | None] = {
        "authorization": None, "x-honeyguide": None, "cookie": given.cookie.partition(";")[0],
    }  # fmt: skip
    asked = "/api/c/ku%C5%9Flar/visits/7?most=3&host=a"
    path = f"/api/pass?for={quote(asked, safe='')}"
    assert client.get(path, cookie).status == 401
    address = client.get(path, cookie | {"x-honeyguide": given.key}).json["address"]
    found = client.get(unquote(address), cookie)
    assert (found.status, found.json["host"]) == (200, ["a"])
    assert client.get(unquote(address).replace("most=3", "most=4"), cookie).status == 401
    for wrong in ("", "?for=", "?for=a&for=b", "?other=1"):
        assert client.get(f"/api/pass{wrong}").status == 400


def test_an_answer_may_have_its_own_policy(client: Client) -> None:
    assert client.get("/api/raw").headers["content-security-policy"] == "sandbox"


@pytest.mark.parametrize(
    "path",
    ["../app.py", "..%2fapp.py", "%2e%2e/app.py", "lib/../../app.py", "/etc/passwd", "", ".",
     "lib", "screens/%00", "..\\app.py"],
)  # fmt: skip
def test_no_file_but_the_studios_own_is_served(client: Client, path: str) -> None:
    assert client.get(f"/static/{path}").status == 404


def test_a_known_file_is_not_sent_again(client: Client) -> None:
    first = client.get("/static/app.js")
    assert first.status == 200
    assert client.get("/static/app.js", {"if-none-match": first.headers["etag"]}).status == 304


def test_other_methods_are_told(client: Client) -> None:
    assert client.post("/api/raw", {}).status == 405
    assert client.ask("DELETE", "/api/say").status == 405


def test_the_api_describes_itself(tmp_path: Path) -> None:
    client = Client(tmp_path)
    found = client.get("/api/openapi.json").json
    assert found["openapi"].startswith("3.")
    known = {(path, method) for path, each in found["paths"].items() for method in each}
    assert known == {(route.path, route.method.lower()) for route in all_routes()}
    assert len(known) == len(all_routes()), "two routes have the same path and method"
    ids = [one["operationId"] for each in found["paths"].values() for one in each.values()]
    assert len(ids) == len(set(ids))
    page = client.get("/api/docs").body.decode()
    assert all(route.path in page for route in all_routes())
    client.close()


def test_every_route_says_what_it_is_for_and_keeps_to_its_place() -> None:
    for route in all_routes():
        assert route.summary or route.answer.__doc__, route.path
        assert route.path.startswith("/api/") or route.path == "/metrics"
        if route.body is not None:
            assert route.method != "GET"
            body: Any = route.body
            assert body.__struct_config__.forbid_unknown_fields, route.path
        elif route.method != "GET":
            pytest.fail(f"{route.path} changes something and takes no JSON")


def test_a_websocket_is_refused() -> None:
    import asyncio

    said: list[object] = []

    async def ask() -> None:
        async def send(message: object) -> None:
            said.append(message)

        async def receive() -> dict[str, object]:
            return {}

        root = Path()
        app = GuardedApp(
            _route_app(
                (), endpoints.RouteAnswerer(StudioRuns(root), SharedObjects()), StaticAssets()
            ),
            AuthGate(PORT),
        )
        await app({"type": "websocket"}, receive, send)

    asyncio.run(ask())
    assert said == [{"type": "websocket.close", "code": 1008}]

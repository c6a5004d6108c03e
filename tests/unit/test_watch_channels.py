"""Messages on their way: signed, retried, given up; and no secret shown."""

from __future__ import annotations

import asyncio
import hmac
import io
import json
import logging
import sys
import time
import traceback
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from honeyguide.change import Change, PageEdit
from honeyguide.errors import ConfigError
from honeyguide.types import Url
from honeyguide.watch.notify.channels import (
    MAX_TRIES,
    AppriseMessenger,
    FeedFile,
    FeedHeader,
    SendOutcome,
    StreamMessenger,
    retry_later,
)
from honeyguide.watch.notify.message import ChangeMessage, compose_message
from honeyguide.watch.notify.webhook import Webhook, sign_body
from tests.unit.raw_server import CLOSE, serving

SECRET = "whsec_" + b64encode(b"very secret bytes").decode()
NOW = 1_700_000_000.0
CHANGE = Change(
    Url("https://example.org/"), NOW, ("content",), edits=(PageEdit("added", "p", "", "çay"),)
)


def message() -> ChangeMessage:
    return compose_message("hook", [CHANGE], "bees")


class Receiver:
    """Keeps what is posted to it, and answers as told."""

    def __init__(self) -> None:
        self.status = 200
        self.headers: dict[str, str] = {}
        self.got: list[tuple[str, dict[str, str], bytes]] = []


@contextmanager
def receiving() -> Iterator[tuple[Receiver, str]]:
    receiver = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            heads = {name.lower(): value for name, value in self.headers.items()}
            receiver.got.append((self.path, heads, body))
            self.send_response(receiver.status)
            for name, value in receiver.headers.items():
                self.send_header(name, value)
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield receiver, f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def send(messenger: Any, tries: int = 0) -> SendOutcome:
    outcome: SendOutcome = asyncio.run(messenger.send(message(), NOW, tries))
    return outcome


# -- webhook -----------------------------------------------------------------------------------


def test_a_webhook_is_signed_and_says_which_message_it_is() -> None:
    with receiving() as (receiver, base):
        hook = Webhook(f"{base}/in?a=1", SECRET)
        assert send(hook) == SendOutcome("sent", NOW)
        assert send(hook) == SendOutcome("sent", NOW)
    (path, heads, body), (_, more, _) = receiver.got
    assert path == "/in?a=1"
    assert json.loads(body)["entries"][0]["edits"][0]["new"] == "çay"
    assert heads["content-type"] == "application/json"
    assert heads["webhook-id"] == more["webhook-id"] == message().id
    # As the specification has it, computed here without our code.
    signed = f"{heads['webhook-id']}.{heads['webhook-timestamp']}.".encode() + body
    digest = hmac.new(b"very secret bytes", signed, sha256).digest()
    assert heads["webhook-signature"] == "v1," + b64encode(digest).decode()


def test_the_specification_s_own_example() -> None:
    # The vector of the reference libraries of Standard Webhooks.
    secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    body = b'{"test": 2432232314}'
    expected = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
    assert sign_body(secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, body) == expected


def test_without_a_secret_nothing_is_signed_and_a_login_is_sent() -> None:
    with receiving() as (receiver, base):
        send(Webhook(base.replace("//", "//me:p%40ss@")))
    path, heads, _ = receiver.got[0]
    assert path == "/"
    assert "webhook-signature" not in heads
    assert heads["authorization"] == "Basic " + b64encode(b"me:p@ss").decode()


@pytest.mark.parametrize(
    ("status", "state"),
    [(204, "sent"), (500, "retry"), (503, "retry"), (429, "retry"), (408, "retry"),
     (301, "gave_up"), (307, "gave_up"), (400, "gave_up"), (404, "gave_up"), (410, "gave_up")],
)  # fmt: skip
def test_what_an_answer_means(status: int, state: str) -> None:
    with receiving() as (receiver, base), receiving() as (elsewhere, other):
        receiver.status, receiver.headers = status, {"Location": f"{other}/"}
        outcome = send(Webhook(base))
        assert outcome.state == state
        assert elsewhere.got == [], "redirects are not followed"
    assert (str(status) in outcome.why) is (state != "sent")


def test_the_receiver_may_say_when() -> None:
    with receiving() as (receiver, base):
        receiver.status = 429
        waits = {}
        for value in ("120", "5", "9" * 400, "-1", "soon", "²"):
            receiver.headers = {"Retry-After": value.encode().decode("latin-1")}
            waits[value] = send(Webhook(base)).at - NOW
    assert waits == {"120": 120, "5": 30, "9" * 400: 86400, "-1": 30, "soon": 30, "²": 30}


def test_tries_are_ever_farther_apart_and_end() -> None:
    waits = [retry_later("no", 0.0, tries).at for tries in range(MAX_TRIES - 1)]
    assert waits == sorted(waits)
    assert waits[:3] == [30, 60, 120]
    assert max(waits) == 6 * 3600
    assert 24 < sum(waits) / 3600 < 28
    assert retry_later("no", 7.0, MAX_TRIES - 1) == SendOutcome(
        "gave_up", 7.0, f"no ({MAX_TRIES} tries)"
    )


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ([b"garbage\r\n\r\n", CLOSE], "is not HTTP"),
        ([CLOSE], "connection failed"),
        ([60.0], "no answer in time"),
        ([b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n", *[b"x", 0.05] * 400], "in time"),
        ([*[b"HTTP/1.1 100 Continue\r\n\r\n", 0.05] * 400], "in time"),
        ([b"HTTP/1.1 200 OK\r\n", *[b"A: b\r\n"] * 200, b"\r\n"], "is not HTTP"),
    ],
)
def test_a_receiver_that_misbehaves_is_tried_later(script: list[bytes | float], why: str) -> None:
    start = time.monotonic()
    with serving() as server:
        server.routes["/"] = script
        outcome = send(Webhook(server.url("/"), timeout_s=0.3))
    assert outcome.state == "retry"
    assert why in outcome.why
    assert time.monotonic() - start < 15


def test_an_endless_answer_is_not_read() -> None:
    with serving() as server:
        server.routes["/"] = [b"HTTP/1.1 200 OK\r\n\r\n", *[b"x" * 100_000] * 50, 60.0]
        assert send(Webhook(server.url("/"), timeout_s=5)).state == "sent"


@pytest.mark.parametrize("url", ["http://127.0.0.1:9/", "http://a..b/", "http://no.invalid/"])
def test_nobody_there_is_no_exception(url: str) -> None:
    assert send(Webhook(url, timeout_s=3)).state == "retry"


def test_a_cancelled_post_ends() -> None:
    async def main() -> float:
        with serving() as server:
            server.routes["/"] = [60.0]
            task = asyncio.create_task(Webhook(server.url("/")).send(message(), NOW))
            await asyncio.sleep(0.1)
            start = time.monotonic()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            return time.monotonic() - start

    assert asyncio.run(main()) < 30


@pytest.mark.parametrize("url", ["", "ftp://e.org/", "e.org/hook", "file:///etc/passwd", "http://"])
def test_an_address_that_is_none_is_refused_and_not_repeated(url: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Webhook(url)
    assert len(url) < 8 or url not in str(caught.value)


def test_secrets_are_never_shown(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(0)
    said = []
    token, password = "T0KEN-in-path", "pa55word"
    with receiving() as (receiver, base):
        hooks = [
            Webhook(f"{base}/{token}", SECRET),
            Webhook(base.replace("//", f"//me:{password}@"), SECRET),
            Webhook(f"http://127.0.0.1:9/{token}", SECRET),
            Webhook(f"http://a..b/{token}", SECRET, timeout_s=2),
        ]
        for receiver.status in (500, 404, 302):
            said += [str(send(hook)) for hook in hooks]
    said += [repr(hook) for hook in hooks] + [str(hook) for hook in hooks]
    for url, secret in ((f"ftp://{token}", SECRET), ("https://e.org/", "whsec_?" + token)):
        try:
            Webhook(url, secret)
        except ConfigError:
            said.append(traceback.format_exc(limit=0))
    said.append(caplog.text)
    for secret in (token, password, SECRET, SECRET[6:]):
        assert not any(secret in text for text in said)


# -- the others --------------------------------------------------------------------------------


def test_lines_are_json_objects() -> None:
    stream = io.StringIO()
    assert send(StreamMessenger(stream)).state == "sent"
    assert send(StreamMessenger(stream)).state == "sent"
    rows = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert [row["id"] for row in rows] == [message().id] * 2


def test_a_reader_that_went_away_is_no_exception() -> None:
    class Closed(io.StringIO):
        def write(self, text: str) -> int:
            raise BrokenPipeError

    assert send(StreamMessenger(Closed())).state == "gave_up"


def test_the_feed_file_holds_what_the_store_holds(tmp_path: Path) -> None:
    path = tmp_path / "changes.xml"
    for form, start in (("atom", b"<feed"), ("rss", b"<rss")):
        file = FeedFile(path, FeedHeader("t", "k"), lambda: [CHANGE], form == "rss")
        assert send(file).state == "sent"
        assert start in path.read_bytes()
    once = path.read_bytes()
    assert send(file).state == "sent"
    assert path.read_bytes() == once
    nowhere = FeedFile(tmp_path / "no" / "x", FeedHeader("t", "k"), lambda: [CHANGE])
    assert send(nowhere).state == "retry"


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A stand-in for Apprise, with the few names that we use."""
    told: list[dict[str, Any]] = []
    made = SimpleNamespace(told=told, answer=True, format="html", resolve=None)

    class Target:
        def __init__(self) -> None:
            self.urls: list[str] = []

        def add(self, url: str) -> bool:
            self.urls.append(url)
            return "://" in url

        def __getitem__(self, place: int) -> Any:
            if made.resolve:
                return SimpleNamespace(resolve_format=lambda form: made.resolve)
            return SimpleNamespace(notify_format=made.format)

        def notify(self, **values: Any) -> Any:
            if isinstance(made.answer, Exception):
                raise made.answer
            told.append(values)
            return made.answer

    module = ModuleType("apprise")
    module.Apprise = Target  # type: ignore[attr-defined]
    module.__spec__ = SimpleNamespace()  # type: ignore[assignment]
    monkeypatch.setitem(sys.modules, "apprise", module)
    return made


def test_apprise_is_given_the_form_that_its_target_wants(library: Any) -> None:
    for form, mark in (("html", "<ins"), ("markdown", "now:"), ("text", "+ çay")):
        library.format = form
        assert send(AppriseMessenger("mailto://me:secret@example.org")).state == "sent"
        assert mark in library.told[-1]["body"]
        assert library.told[-1]["body_format"] == form
        assert library.told[-1]["title"].startswith("[bees] changed")


def test_a_service_of_apprise_may_choose_among_forms(library: Any) -> None:
    for chosen, mark in (("markdown", "now:"), ("html", "<ins")):
        library.resolve = SimpleNamespace(value=chosen)
        assert send(AppriseMessenger("slack://TOKEN")).state == "sent"
        assert mark in library.told[-1]["body"]


def test_what_apprise_cannot_do_is_tried_later_and_no_secret_told(library: Any) -> None:
    channel = AppriseMessenger("slack://TOKEN")
    library.answer = False
    assert send(channel) == SendOutcome("retry", NOW + 30, "Apprise could not deliver it")
    library.answer = RuntimeError("slack://TOKEN refused")
    outcome = send(channel)
    assert outcome.state == "retry"
    assert "TOKEN" not in f"{outcome} {channel!r}"
    with pytest.raises(ConfigError) as caught:
        AppriseMessenger("TOKEN:without-a-scheme")
    assert "TOKEN" not in str(caught.value)


def test_apprise_itself_logs_nothing(library: Any, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(0)
    AppriseMessenger("slack://TOKEN")
    logging.getLogger("apprise").error("cannot load slack://TOKEN")
    logging.getLogger("urllib3.connectionpool").debug("POST /TOKEN")
    assert "TOKEN" not in caplog.text


def test_without_apprise_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("honeyguide.watch.notify.channels.find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"pip install 'honeyguide\[notify\]'"):
        AppriseMessenger("mailto://me:secret@example.org")

"""Another page in the same browser, on another port of the same machine, tries its luck.

That is the strongest stranger there is: to the browser it is the same site, so that even a strict
cookie is sent along.
"""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest

from tests.browser.served import NEW, Studio

ATTACKS = """
async function attack(studio, topic) {
  const said = {};
  const run = `${studio}/api/c/${topic}/run`;
  const body = JSON.stringify({do: "start"});
  const tried = async (name, make) => {
    try { said[name] = await make(); } catch (error) { said[name] = `failed: ${error.name}`; }
  };
  const read = (address, options) => async () => {
    const answer = await fetch(address, {credentials: "include", ...options});
    return `${answer.type} ${answer.status} ${(await answer.text()).length}`;
  };
  const loads = (tag, address) => () => new Promise((done) => {
    const node = document.createElement(tag);
    node.onload = () => done("loaded");
    node.onerror = () => done("refused");
    node.src = address;
    document.head.append(node);
    setTimeout(() => done("nothing"), 3000);
  });
  await tried("read", read(`${studio}/api/collections`));
  await tried("blind", read(`${studio}/api/collections`, {mode: "no-cors"}));
  const ours = {"Content-Type": "application/json", "X-Honeyguide": "1"};
  await tried("json", read(run, {method: "POST", body, headers: ours}));
  await tried("plain", read(run, {method: "POST", body, mode: "no-cors"}));
  await tried("script", loads("script", `${studio}/static/app.js`));
  await tried("image", loads("img", `${studio}/static/bird.svg`));
  await tried("events", () => new Promise((done) => {
    const source = new EventSource(`${studio}/api/c/${topic}/events`, {withCredentials: true});
    source.onmessage = () => done("heard");
    source.onerror = () => { source.close(); done("refused"); };
    setTimeout(() => done("nothing"), 3000);
  }));
  const frame = document.createElement("iframe");
  frame.name = "target";
  frame.src = studio;
  document.body.append(frame);
  const form = document.createElement("form");
  Object.assign(form, {action: run, method: "post", target: "target", enctype: "text/plain"});
  const field = document.createElement("input");
  Object.assign(field, {name: '{"do":"start","x":"', value: '"}'});
  form.append(field);
  document.body.append(form);
  form.submit();
  await new Promise((done) => setTimeout(done, 1000));
  return said;
}
"""


@contextmanager
def stranger(page: str, cookies: list[str] | None = None, sets: str = "") -> Iterator[str]:
    """A page on a port of its own; the cookies that it was shown, and one that it sets."""

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if cookies is not None:
                cookies.append(self.headers.get("Cookie") or "")
            self.send_response(200)
            if sets:
                self.send_header("Set-Cookie", sets)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(page.encode())

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost"])
def test_a_page_on_another_port_gets_nothing_and_changes_nothing(
    chromium: Any, shown: Studio, name: str
) -> None:
    context = chromium.new_context()
    try:
        page = context.new_page()
        page.goto(shown.address)
        page.get_by_role("heading", name="Topics").wait_for()  # signed in
        answers: list[tuple[str, int]] = []
        with stranger(f"<body><script>{ATTACKS}</script>") as place:
            page.goto(f"http://{place.replace('127.0.0.1', name)}/")
            page.on("response", lambda one: answers.append((one.url, one.status)))
            said = page.evaluate(f"() => attack({json.dumps(shown.origin)}, {json.dumps(NEW)})")
        assert said == {
            "read": "failed: TypeError", "blind": "failed: TypeError", "json": "failed: TypeError",
            "plain": "failed: TypeError", "script": "refused", "image": "refused",
            "events": "refused",
        }  # fmt: skip
        heard = [status for url, status in answers if url.startswith(shown.origin)]
        assert heard
        assert set(heard) <= {401, 403}
        page.goto(shown.origin)  # it is still signed in, and nothing was started
        run = page.evaluate(
            f"() => fetch('/api/c/{NEW}/run', {{headers: {{'X-Honeyguide':"
            " localStorage.getItem('honeyguide-key')}}).then((answer) => answer.json())"
        )
        assert run["state"] == "idle"
    finally:
        context.close()


def test_a_link_from_elsewhere_leads_in(chromium: Any, shown: Studio) -> None:
    """The printed address in a mail, say: also where the browser keeps strict cookies back."""
    context = chromium.new_context()
    try:
        page = context.new_page()
        with stranger(f"<a href='{shown.address}'>studio</a>") as place:
            page.goto(f"http://{place.replace('127.0.0.1', 'localhost')}/")
            page.get_by_text("studio").click()
            page.get_by_role("heading", name="Topics").wait_for()
        assert "token" not in page.url
    finally:
        context.close()


def test_the_cookie_that_every_port_is_shown_opens_nothing(chromium: Any, shown: Studio) -> None:
    context = chromium.new_context()
    try:
        page = context.new_page()
        page.goto(shown.address)
        page.get_by_role("heading", name="Topics").wait_for()
        cookies: list[str] = []
        with stranger("<p>hello", cookies) as place:
            page.goto(f"http://{place}/")
        stolen = next(one for one in cookies if "honeyguide_" in one)
        tried = urllib.request.Request(
            f"{shown.origin}/api/collections", headers={"Cookie": stolen, "X-Honeyguide": "1"}
        )
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(tried, timeout=20)
        refused.value.close()
        assert refused.value.code == 401
    finally:
        context.close()


@pytest.mark.parametrize("sets", ['theme={"dark":true}; Path=/', "path=x; Path=/"])
def test_cookies_of_other_servers_lock_nobody_out(chromium: Any, shown: Studio, sets: str) -> None:
    context = chromium.new_context()
    try:
        page = context.new_page()
        with stranger("<p>hello", sets=sets) as place:
            page.goto(f"http://{place}/")
        page.goto(shown.address)
        page.get_by_role("heading", name="Topics").wait_for()
        assert "no longer signed in" not in page.inner_text("body")
    finally:
        context.close()

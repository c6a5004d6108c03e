"""A visitor of the studio, who notices everything a page must not do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote

from tests.browser.hostile import MARK
from tests.browser.served import Studio

_VIOLATIONS = (
    "window.violations = [];"
    "document.addEventListener('securitypolicyviolation',"
    " (e) => window.violations.push(`${e.violatedDirective} ${e.blockedURI} ${e.sourceFile}`));"
)
_PATIENCE_MS = 30_000


class Looking:
    """One page of the browser."""

    def __init__(self, page: Any, shown: Studio) -> None:
        self.page, self.shown = page, shown
        self.complaints: list[str] = []
        self.allowed: tuple[str, ...] = ()
        """Parts of complaints that a test expects."""
        page.set_default_timeout(_PATIENCE_MS)
        page.on("console", self._heard)
        page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))
        page.on("dialog", self._asked)
        page.on("request", self._went)
        page.on("response", self._answered)
        page.on("popup", lambda _: self.complaints.append("a window was opened"))

    def go(self, name: str, screen: str = "live") -> None:
        """A topic's screen, and everything on it."""
        self.at(f"#/c/{quote(name, safe='')}/{screen}")

    def at(self, address: str) -> None:
        """Wait until the screen stands: its heading is there and nothing is being loaded."""
        self.page.evaluate("address => { location.hash = address; }", address)
        self.settled()

    def settled(self) -> None:
        self.page.wait_for_function(
            "() => document.querySelector('main').dataset.shown === location.hash"
            " && document.querySelector('main h1') && !document.querySelector('main .loading')"
            " && !document.querySelector('main [aria-busy=true], main.waiting')"
        )
        self.page.wait_for_timeout(150)

    @property
    def text(self) -> str:
        return str(self.page.inner_text("main"))

    def wide(self) -> int:
        """How many pixels stand out on the right."""
        return int(
            self.page.evaluate(
                "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"
            )
        )

    def unharmed(self) -> None:
        """No attack ran, here or in a frame, and nothing was refused by the policy."""
        for frame in self.page.frames:
            hit = frame.evaluate(f"() => window.{MARK}")
            assert hit is None, f"an attack ran in {frame.url}"
        broken = self.page.evaluate("() => window.violations")
        assert not broken, broken
        assert self.page.evaluate("() => document.querySelectorAll('main script').length") == 0
        left = [c for c in self.complaints if not any(part in c for part in self.allowed)]
        assert not left, left

    def _heard(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(f"console {message.type}: {message.text}")

    def _asked(self, dialog: Any) -> None:
        self.complaints.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def _went(self, request: Any) -> None:
        if not request.url.startswith((self.shown.origin, "data:", "blob:", "about:")):
            self.complaints.append(f"asked for {request.url}")

    def _answered(self, response: Any) -> None:
        if response.status >= 500:
            self.complaints.append(f"{response.status}: {response.url}")


@contextmanager
def visitors(chromium: Any, *, phone: bool = False) -> Iterator[Any]:
    """Room for visitors with a window of that size."""
    size = {"width": 375, "height": 740} if phone else {"width": 1200, "height": 860}
    context = chromium.new_context(viewport=size, reduced_motion="reduce")
    context.add_init_script(_VIOLATIONS)
    try:
        yield context
    finally:
        context.close()


@contextmanager
def watched(context: Any, shown: Studio) -> Iterator[Looking]:
    """Signed in with the token, and on the list of topics; leaves nothing behind."""
    visitor = Looking(context.new_page(), shown)
    try:
        visitor.page.goto(shown.address)
        visitor.settled()
        yield visitor
        visitor.unharmed()
    finally:
        context.set_offline(False)
        visitor.page.evaluate("() => localStorage.clear()")
        visitor.page.close()

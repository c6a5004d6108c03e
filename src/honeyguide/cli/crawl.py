"""``honeyguide crawl`` and ``honeyguide serve``."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict
from html import escape
from math import inf
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Self
from urllib.parse import quote

import typer

from honeyguide.cli.formatting import count_noun, print_json, safe_text, say, shell_quote
from honeyguide.cli.options import (
    CollectionName,
    JsonOption,
    argument,
    keep_option,
    open_collection,
    option,
)
from honeyguide.cli.status import (
    advice_lines,
    answer_advice,
    ask_advice,
    coverage_summary,
    foreign_summary,
)
from honeyguide.errors import FetchError, HoneyguideError

if TYPE_CHECKING:
    from honeyguide.api.collection import Collection
    from honeyguide.cli.terminal import CrawlDisplay
    from honeyguide.crawl.status import Report
    from honeyguide.run_status import RunStatus

_ADVISED_VISITS = 200
"""Visits of a run after which there is enough to advise on."""
_KEY_S = 20.0
"""Seconds for an answer at the end, on a terminal; nobody may sit there any more."""


def crawl(
    name: CollectionName,
    pages: int | None = option("--pages -n N", "Stop at so many visits in all.", None),
    hours: float | None = option("--hours H", "Stop after so many hours of this run.", None),
    coverage_: float | None = option(
        "--until-coverage SHARE", "Stop when about this share of the topic is found, say 0.9.", None
    ),
    precision: float | None = option(
        "--min-precision SHARE",
        "Stop when fewer of the last 200 visits were relevant, say 0.02.",
        None,
    ),
    keep: str = keep_option("from now on"),
    shards: int | None = option(
        "--shards N", "Crawl in so many processes; later runs do the same. 1: in one.", None
    ),
    cluster: str | None = option(
        "--cluster ADDRESS", "Crawl on the machines of a Ray cluster, say 192.0.2.10:6379.", None
    ),
    vault: str | None = option(
        "--vault PLACE",
        "Storage that these machines share: a folder, or s3://bucket/prefix; remembered.",
        None,
    ),
    without_lost: bool = option(
        "--without-lost-shards", "Restart shards whose folders are gone, from the seeds.", False
    ),
    studio: bool = option("--studio", "Open the studio, and crawl in it.", False),
    quiet: bool = option("--quiet -q", "No progress display.", False),
    as_json: JsonOption = False,
) -> None:
    """Crawl, or continue where the last crawl ended. Ctrl-C stops cleanly.

    Examples:

    `honeyguide crawl birds`

    `honeyguide crawl birds --pages 5000 --hours 8`

    `honeyguide crawl birds --pages 0 --until-coverage 0.9 --min-precision 0.02`

    `honeyguide crawl birds --keep strict`

    `honeyguide crawl birds --shards 4`

    `honeyguide crawl birds --cluster 192.0.2.10:6379 --vault /mnt/shared/crawls`
    """
    from msgspec import structs

    from honeyguide.cli.terminal import CrawlDisplay

    if studio:
        limits = {"--pages": pages, "--hours": hours, "--until-coverage": coverage_,
                 "--min-precision": precision, "--shards": shards, "--cluster": cluster,
                 "--vault": vault, "--keep": keep or None}  # fmt: skip
        options = [f"{key}={value}" for key, value in limits.items() if value is not None]
        options += ["--without-lost-shards"] if without_lost else []
        open_studio(open_collection(name).folder, 0, open_=True, as_json=as_json, crawl=options)
        return
    collection = open_collection(name)
    if keep:
        collection.keep(keep)
    budget = collection.settings.crawl.pages if pages is None else pages
    silent = quiet or as_json
    with (
        CrawlDisplay(collection.name, budget, quiet=silent) as display,
        AdviceOnce(collection, display, budget, asks=not silent) as progress_shown,
    ):
        report = collection.crawl(
            pages=pages,
            hours=hours,
            shards=shards,
            cluster=cluster,
            vault=vault or "",
            without_lost=without_lost,
            until_coverage=coverage_,
            min_precision=precision,
            progress=progress_shown,
            announce=say if cluster is not None else display.print_note,
        )
    progress = report.progress
    for warning in report.warnings:
        say(f"honeyguide: {safe_text(warning)}")
    if as_json:
        facts = structs.asdict(progress) | {
            "harvest": round(progress.harvest, 4),
            "reason": report.reason,
            "seconds": round(report.seconds, 3),
            "next_at": report.next_at,
            "estimate": asdict(report.estimate),
            "kept": report.kept and asdict(report.kept),
        }
        facts["advice"] = [asdict(one) for one in collection.advice()]
        if report.exchanged is not None:
            facts["exchanged"] = report.exchanged._asdict()
        print_json(facts)
    else:
        typer.echo(str(report))
        if progress.foreign:
            typer.echo(f"Set aside by the language filter: {foreign_summary(progress.foreign)}.")
        if report.kept is not None and report.progress.relevant:
            typer.echo(f"{report.kept.summary}.".capitalize())
        if report.estimate.covered:
            typer.echo(f"The topic: {coverage_summary(report.estimate)}.")
        progress_shown.say_again(say)
        if not report.failed:
            say(next_step_hint(shell_quote(collection.folder), budget, report))
    if report.failed:
        raise FetchError("no page could be fetched", report.failed + _offline_hint(collection))


class AdviceOnce:
    """Shows progress, and once in a run, after its first visits, what there is to advise. Near the
    end of its budget it does not: verdicts still move then, and the report says it. If it ``asks``,
    a key is enough to answer, on a terminal; the crawl goes on meanwhile."""

    def __init__(
        self,
        collection: Collection,
        display: CrawlDisplay,
        budget: int = 0,
        *,
        asks: bool = False,
    ) -> None:
        from honeyguide.cli.terminal import can_read_keys

        self._collection = collection
        self._asks = asks and can_read_keys()
        self._over = threading.Event()
        self._thread: threading.Thread | None = None
        self._last = budget - _ADVISED_VISITS if budget else sys.maxsize
        self._display = display
        self._visits: int | None = None
        """From which on it is said; None: not known yet."""

    def __call__(self, now: RunStatus) -> None:
        self._display(now)
        if self._visits is None:
            self._visits = now.visits + _ADVISED_VISITS
        elif 0 < self._visits <= now.visits:
            self._visits = 0
            if now.visits > self._last:
                return
            # Reading pages takes a second or two, for which the crawl does not wait.
            notes = self._display.print_note
            self._thread = threading.Thread(
                target=self._say, args=(notes,), name="advice", daemon=True
            )
            self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """No key is waited for any more, and the terminal is as it was."""
        self._over.set()
        if self._thread is not None:
            self._thread.join()

    def say_again(self, out: Callable[[str], None]) -> None:
        """What there is to advise at the end."""
        self._over.clear()
        self._say(out, _KEY_S)

    def _say(self, out: Callable[[str], None], within_s: float = inf) -> None:
        from honeyguide.cli.terminal import read_key

        with suppress(HoneyguideError):
            found = self._collection.advice()
            for line in advice_lines(self._collection, found):
                out(line)
            one = next((one for one in found if one.is_acceptable), None)
            if one is None or not self._asks or self._over.is_set():
                return
            if answers := ask_advice(one, out, lambda keys: read_key(keys, self._over, within_s)):
                out(answer_advice(self._collection, one, answers))


def next_step_hint(name: str, budget: int, report: Report) -> str:
    """What to type now."""
    next_at, progress = report.next_at, report.progress
    look = f"honeyguide status {name} · honeyguide export {name} --to pages.csv"
    if budget and progress.visits >= budget:
        return f"Next: {look} · honeyguide crawl {name} --pages {2 * progress.visits}"
    if not progress.waiting:
        return f"Next: {look}"
    if "(stop." in report.reason:
        return f"Next: {look}. To continue, pass another limit, or change [stop] in topic.toml"
    if next_at is not None and 60 < next_at - time.time() < 1e9:
        when = time.strftime("%H:%M on %d %b", time.localtime(next_at))
        return (
            f"Hosts may be requested again from {when}; continue then with: honeyguide crawl {name}"
        )
    return f"Continue with: honeyguide crawl {name}"


def _offline_hint(collection: Collection) -> str:
    """A question, where no host at all could be reached."""
    kinds = collection.status(hosts=0).failures
    return "; are you online?" if kinds and set(kinds) <= {"dns", "connect"} else ""


# --------------------------------------------------------------------------------------------------
# ``honeyguide serve``: the studio.
# --------------------------------------------------------------------------------------------------


PortOption = Annotated[int, option("--port N", "Listen there; else any free port.", min=0)]
OpenOption = Annotated[bool, option("--open", "Open the browser.")]


def serve(
    name: Path = argument(
        "[NAME]",
        "A collection, or the folder that holds your collections; else this folder.",
        Path(),
    ),
    port: PortOption = 0,
    open_: OpenOption = False,
    as_json: JsonOption = False,
) -> None:
    """Open the studio: browse, label and control crawls in the browser. Ctrl-C ends it.

    It listens on this machine only, and only the address that it prints gives access. An address
    works for one browser; after it was used, another one is printed. Crawls that were started in
    the studio end with it, cleanly.

    Examples:

    `honeyguide serve`

    `honeyguide serve birds --open`
    """
    open_studio(name, port, open_=open_, as_json=as_json)


def open_studio(
    name: Path, port: int, *, open_: bool, as_json: bool, crawl: Sequence[str] | None = None
) -> None:
    """Serve; first start to crawl with these options, where there are any."""
    from honeyguide.studio.serving import bind_studio

    folder = name.parent if name.name == "topic.toml" else name
    folder = folder.resolve()
    one = (folder / "topic.toml").is_file()
    opened = bind_studio(folder.parent if one else folder, port)
    place = f"/c/{quote(folder.name)}/live" if one else ""
    gate = opened.gate
    address = gate.sign_in_address()

    with redirect_page(gate.ticket_address() + place if open_ else "") as page:

        def on_ready() -> None:
            if as_json:
                facts = {"port": gate.port, "token": gate.token}
                print_json({"address": address + place} | facts)
            else:
                typer.echo(address + place)
                say("The studio is open at this address; keep it to yourself. Ctrl-C ends it.")
            if page is not None:
                open_browser(page.as_uri())
            if crawl is not None:
                opened.runs.start(folder, "crawl", crawl)

        def on_entered() -> None:
            nonlocal address
            if address != gate.sign_in_address() and not as_json:
                address = gate.sign_in_address()
                # The terminal may be gone; that is no reason to turn somebody away.
                with suppress(OSError):
                    say(f"That address has been used. For another browser: {address + place}")

        def on_ending(running: int) -> None:
            say(f"Waiting for {count_noun(running, 'run')} to end …")

        opened.serve(on_ready, on_entered, on_ending)
    say("The studio is closed.")


@contextmanager
def redirect_page(address: str) -> Iterator[Path | None]:
    """A page, for nobody else to read, that leads there; None: nowhere. Everybody on this machine
    sees what a browser is started with, so that must not be the address itself."""
    if not address:
        yield None
        return
    with TemporaryDirectory(prefix="honeyguide-", ignore_cleanup_errors=True) as folder:
        page = Path(folder) / "studio.html"
        target = escape(address)
        page.touch(0o600, exist_ok=False)
        page.write_text(
            "<!doctype html><html lang=en><meta charset=utf-8><title>Honeyguide</title>"
            f'<meta http-equiv=refresh content="0; url={target}">'
            f'<p><a href="{target}">Open the studio</a></p></html>',
            "utf-8",
        )
        yield page


def open_browser(address: str) -> None:
    """In a thread: some browsers come back only when they are closed."""
    import webbrowser

    threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()

"""``honeyguide serve``"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated
from urllib.parse import quote

import typer

from honeyguide.cli.formatting import count_noun, print_json, say
from honeyguide.cli.options import JsonOption, argument, option

PortOption = Annotated[int, option("--port N", "Listen there; else any free port.", min=0)]
OpenOption = Annotated[bool, option("--open", "Open the browser.")]


def serve(
    name: Annotated[
        Path,
        argument(
            "[NAME]", "A collection, or the folder that holds your collections; else this folder."
        ),
    ] = Path(),
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
    told = gate.sign_in_address()

    with redirect_page(gate.ticket_address() + place if open_ else "") as page:

        def on_ready() -> None:
            if as_json:
                said = {"address": told + place, "port": gate.port, "token": gate.token}
                print_json(said)
            else:
                typer.echo(told + place)
                say("The studio is open at this address; keep it to yourself. Ctrl-C ends it.")
            if page is not None:
                open_browser(page.as_uri())
            if crawl is not None:
                opened.runs.start(folder, "crawl", crawl)

        def on_entered() -> None:
            nonlocal told
            if told != gate.sign_in_address() and not as_json:
                told = gate.sign_in_address()
                # The terminal may be gone; that is no reason to turn somebody away.
                with suppress(OSError):
                    say(f"That address has been used. For another browser: {told + place}")

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
        told = escape(address)
        page.touch(0o600, exist_ok=False)
        page.write_text(
            "<!doctype html><html lang=en><meta charset=utf-8><title>Honeyguide</title>"
            f'<meta http-equiv=refresh content="0; url={told}">'
            f'<p><a href="{told}">Open the studio</a></p></html>',
            "utf-8",
        )
        yield page


def open_browser(address: str) -> None:
    """In a thread: some browsers come back only when they are closed."""
    import webbrowser

    threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()

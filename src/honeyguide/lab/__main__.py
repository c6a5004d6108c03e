"""Serve a web in a process of its own: ``python -m honeyguide.lab [--port N] [FILE …]``.

Without files it is the demo web. The address is the one line on standard output; the process
ends when its standard input does, so that it never outlives the program that started it.
"""

from __future__ import annotations

import os
import sys
import threading
from argparse import ArgumentParser
from pathlib import Path

from honeyguide.lab.server import serve_web
from honeyguide.lab.web import RecordedWeb, load_demo_web


def main() -> None:
    parser = ArgumentParser(prog="python -m honeyguide.lab")
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0)
    chosen = parser.parse_args()
    web = RecordedWeb.load(chosen.files) if chosen.files else load_demo_web()
    threading.Thread(target=_exit_with_stdin, daemon=True).start()
    serve_web(web, chosen.host, chosen.port, ready=_print_address)


def _print_address(address: str) -> None:
    sys.stdout.write(address + "\n")
    sys.stdout.flush()


def _exit_with_stdin() -> None:
    while sys.stdin.buffer.read(4096):
        pass
    os._exit(0)  # nothing is kept that would need an orderly end


if __name__ == "__main__":
    main()

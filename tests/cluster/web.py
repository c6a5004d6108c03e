"""A web on one of the machines, which notes who asked what, from when until when.

``python -m tests.cluster.web 198.51.100.1 log.jsonl --hosts 12 --pages 250``: a forward proxy
for a small finite web, or with ``--made PLAN`` for one of the lab's made webs. A crawler only
trusts a lab on its own machine: ``python -m tests.cluster.web --relay 198.51.100.1`` leads there.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import json
import random
import time
from collections import defaultdict
from collections.abc import Iterable
from contextlib import suppress
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import IO, NamedTuple, Protocol

PORT = 8787
SLACK_S = 0.01
"""Clocks are read a moment after things happen."""


class Asked(NamedTuple):
    """A line of the log; times are the server's."""

    began: float
    ended: float
    by: str
    host: str
    path: str
    status: int


class Pages(Protocol):
    hosts: list[str]

    def page(self, host: str, path: str) -> tuple[int, bytes]: ...


class Small:
    """So many pages on each host: each leads to the next, some to others, the first everywhere."""

    def __init__(self, hosts: int, pages: int) -> None:
        self.hosts = [f"h{n}.example" for n in range(hosts)]
        self.pages = pages

    def urls(self) -> set[str]:
        paths = [f"/{n}" if n else "/" for n in range(self.pages)]
        return {f"http://{host}{path}" for host in self.hosts for path in paths}

    def page(self, host: str, path: str) -> tuple[int, bytes]:
        name = path.removeprefix("/") or "0"
        if host not in self.hosts or not name.isdecimal() or int(name) >= self.pages:
            return 404, b"<p>no such page"
        number = int(name)
        dice = random.Random(f"{host}{number}")
        links = [f"/{number + 1}"] if number + 1 < self.pages else []
        if number == 0:
            links += [f"http://{other}/" for other in self.hosts]
        for _ in range(3):
            links.append(f"http://{dice.choice(self.hosts)}/{dice.randrange(1, self.pages)}")
        text = " ".join(f'<a href="{link}">bees and honey</a>' for link in links)
        return 200, f"<title>{host} {number}</title><p>honey {number} {host} {text}".encode()


class Made:
    def __init__(self, plan: str) -> None:
        from honeyguide.lab.responses import LabResponder
        from honeyguide.lab.synthetic.topology import parse_plan
        from honeyguide.lab.synthetic.web import SyntheticWeb

        web = SyntheticWeb(parse_plan(plan))
        self._desk = LabResponder(web)
        self.hosts = sorted(web.hosts)

    def page(self, host: str, path: str) -> tuple[int, bytes]:
        answer = self._desk.respond(f"{host}{path}")
        return answer.status, gzip.decompress(answer.packed) if answer.packed else b""


class Server:
    def __init__(self, pages: Pages, log: IO[str], latency_s: float) -> None:
        self._pages, self._log, self._latency_s = pages, log, latency_s

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        by = writer.get_extra_info("peername")[0]
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                began = time.time()
                _, _, rest = head.split(b" ", 2)[1].decode().partition("//")
                host, _, path = rest.partition("/")
                status, body = await self._answer(host, "/" + path)
                kind = "application/json" if host == "lab.invalid" else "text/html"
                writer.write(
                    f"HTTP/1.1 {status} so\r\nServer: honeyguide-lab\r\n"
                    f"Content-Type: {kind}; charset=utf-8\r\n"
                    f"Content-Length: {len(body)}\r\n\r\n".encode()
                    + body
                )
                try:
                    await writer.drain()
                finally:
                    asked = Asked(began, time.time(), by, host, "/" + path, status)
                    self._log.write(json.dumps(asked) + "\n")
        writer.close()

    async def _answer(self, host: str, path: str) -> tuple[int, bytes]:
        if host == "lab.invalid":
            return 200, json.dumps({"hosts": self._pages.hosts}).encode()
        await asyncio.sleep(self._latency_s)
        if path == "/robots.txt":
            return 404, b""
        return self._pages.page(host, path)


async def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, to: str) -> None:
    """One connection, both ways, to the machine where the web is."""
    with suppress(OSError):
        far_reader, far_writer = await asyncio.open_connection(to, PORT)

        async def pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
            with suppress(OSError):
                while data := await source.read(1 << 16):
                    sink.write(data)
                    await sink.drain()
            sink.close()

        await asyncio.gather(pump(reader, far_writer), pump(far_reader, writer))
    writer.close()


def read(log: Path) -> list[Asked]:
    """What was asked so far, in the order of its beginnings; the lab's own questions left out."""
    lines = log.read_text().splitlines(keepends=True)
    found = [Asked(*json.loads(line)) for line in lines if line.endswith("\n")]
    return sorted(asked for asked in found if asked.host != "lab.invalid")


def offences(log: Iterable[Asked], rest_s: float) -> list[str]:
    """Hosts that were asked by two at once, or again before they had rested."""
    hosts: defaultdict[str, list[Asked]] = defaultdict(list)
    for asked in log:
        hosts[asked.host].append(asked)
    found = []
    for host, all_ in hosts.items():
        for one, next_ in pairwise(all_):
            if next_.began < one.ended - SLACK_S:
                found.append(f"{host}: {one} and {next_} at once")
            elif next_.began - one.began < rest_s - SLACK_S:
                found.append(f"{host}: {next_} came {next_.began - one.began:.3f} s after {one}")
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("address", nargs="?", default="127.0.0.1")
    parser.add_argument("log", type=Path, nargs="?")
    parser.add_argument("--relay", default="")
    parser.add_argument("--hosts", type=int, default=12)
    parser.add_argument("--pages", type=int, default=250)
    parser.add_argument("--made", default="")
    parser.add_argument("--latency", type=float, default=0.02)
    told = parser.parse_args()

    async def serve() -> None:
        if told.relay:
            answer = partial(relay, to=told.relay)
            server = await asyncio.start_server(answer, told.address, PORT)
        else:
            pages: Pages = Made(told.made) if told.made else Small(told.hosts, told.pages)
            log = told.log.open("a", buffering=1)
            server = await asyncio.start_server(
                Server(pages, log, told.latency), told.address, PORT
            )
        print("ready", flush=True)
        await server.serve_forever()

    asyncio.run(serve())


if __name__ == "__main__":
    main()

"""A web of many hosts to crawl with shards: pages of Debian's manuals, linked across hosts.

Texts, sizes and the number of links of each page are a manual's own. Where its links lead is drawn
anew: half of them as on every page of the host (navigation), the others to pages near by; three of
ten lead to other hosts. Every page can be reached, none is missing, and nginx serves them as they
lie on the disk, packed already.
"""

from __future__ import annotations

import gzip
import random
import re
import shutil
import subprocess
import time
from pathlib import Path

from bench.throughput.run import manuals

ABROAD, NAVIGATION, NEAR = 0.3, 0.5, 10
_HREF = re.compile(r"""(\bhref\s*=\s*)(?:"[^"]*"|'[^']*'|[^\s>]+)""", re.I)
_LINK = re.compile(r"<(?:link|base|frame|iframe)\b[^>]*>", re.I)
_PARAGRAPH = re.compile(r"<p\b.*?</p>", re.I | re.S)


def address(number: int) -> str:
    """A host of this machine alone."""
    return f"127.0.{1 + number // 250}.{1 + number % 250}"


def make(folder: Path, pages: int, hosts: int, port: int, seed: int = 1) -> Path:
    """The web's root: a folder a host. Made once."""
    root = folder / f"shards-{pages}-{hosts}-packed"
    if (root / ".done").exists():
        return root
    known = manuals(folder)
    texts = sorted(path for path in known.rglob("*.htm*") if path.stat().st_size > 2_000)
    dice = random.Random(seed)
    shutil.rmtree(root, ignore_errors=True)
    names = [address(number) for number in range(hosts)]
    places = [(names[number % hosts], number // hosts) for number in range(pages)]
    on = {name: [n for host, n in places if host == name] for name in names}
    everywhere = {
        name: [
            (away, dice.choice(on[away]))
            for away in (dice.choice(names) if dice.random() < ABROAD else name for _ in range(20))
        ]
        for name in names
    }
    for number, (host, page) in enumerate(places):
        text = texts[number % len(texts)].read_text("utf-8", "replace")
        part = number // len(texts)
        text = _without(text, part)
        every = iter([(host, (page + 1) % len(on[host])), (names[(number + 1) % hosts], page)])

        def link(
            match: re.Match[str], host: str = host, page: int = page, every: object = every
        ) -> str:
            goal = next(every, None)  # type: ignore[call-overload]
            if goal is None:
                goal = dice.choice(everywhere[host])
                if dice.random() > NAVIGATION:
                    away = dice.choice(names) if dice.random() < ABROAD else host
                    goal = away, (page + dice.randrange(-NEAR, NEAR)) % len(on[away])
            goal_host, goal_page = goal
            if goal_page not in on[goal_host]:
                goal_page = 0
            address = "/" if goal_page == 0 else f"/p{goal_page}.html"
            return (
                f'{match[1]}"{"" if goal_host == host else f"http://{goal_host}:{port}"}{address}"'
            )

        text = _HREF.sub(link, _LINK.sub("", text))
        rest = "".join(
            f"<a href='http://{h}:{port}/{f'p{p}.html' if p else ''}'>on</a> " for h, p in every
        )
        file = root / host / ("index.html" if page == 0 else f"p{page}.html")
        file.parent.mkdir(parents=True, exist_ok=True)
        data = (text + rest).encode()
        file.write_bytes(data)
        # Packed once and for all: the server has the crawler's two cores to share.
        file.with_name(f"{file.name}.gz").write_bytes(gzip.compress(data, 6, mtime=0))
    (root / ".done").touch()
    return root


def _without(text: str, part: int) -> str:
    """The same manual's page once more: without every so many of its paragraphs."""
    if not part:
        return text
    count = iter(range(1_000_000))
    return _PARAGRAPH.sub(lambda m: "" if next(count) % 4 == part % 4 else m[0], text)


def serve(root: Path, folder: Path, port: int) -> tuple[subprocess.Popen[bytes], Path]:
    """nginx for all of them, and its log."""
    listen = " ".join(f"listen {host.name}:{port};" for host in root.iterdir() if host.is_dir())
    log = folder / "shards.log"
    config = folder / "shards.conf"
    config.write_text(
        f"daemon off; worker_processes 1; pid {folder}/shards.pid; error_log {folder}/error.log;\n"
        "events { worker_connections 4096; }\n"
        "http { types { text/html html; } default_type text/plain; gzip_static on;\n"
        "log_format b '$msec $request_time $connection $status $host $request_uri';\n"
        f"access_log {log} b buffer=64k flush=1s;\n"
        f"client_body_temp_path {folder}/t1; proxy_temp_path {folder}/t2;\n"
        f"fastcgi_temp_path {folder}/t3; uwsgi_temp_path {folder}/t4; scgi_temp_path {folder}/t5;\n"
        "keepalive_requests 1000000;\n"
        f"server {{ {listen} root {root}/$host; index index.html; }} }}\n"
    )
    server = subprocess.Popen(["nginx", "-c", str(config), "-p", str(folder)])
    time.sleep(1)
    if server.poll() is not None:
        raise SystemExit(f"nginx did not start; see {folder}/error.log")
    return server, log

"""CPU per page of Honeyguide and its peers, on the same pages, in the same run, interleaved.

    python bench/throughput/run.py [--rounds 3] [--only NAME …] [--folder DIR] [--port N]

Installs what it needs: nginx and documentation packages from Debian, the peers from PyPI into an
environment of their own.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PACKAGES = {
    "sqlite3-doc": "usr/share/doc/sqlite3",
    "postgresql-doc-15": "usr/share/doc/postgresql-doc-15/html",
    "python3.11-doc": "usr/share/doc/python3.11/html",
    "apache2-doc": "usr/share/doc/apache2-doc/manual/en",
    "borgbackup-doc": "usr/share/doc/borgbackup-doc/html",
    "python-django-doc": "usr/share/doc/python-django-doc/html",
    "octave-doc": "usr/share/doc/octave/octave.html",
    "debian-handbook": "usr/share/doc/debian-handbook/html/en-US",
}
PORT = 18080
LIMIT_S = 150
"""A crawler that does not end by itself is stopped; what it fetched and spent until then counts."""
MOST = 400_000
"""Bytes of the largest page kept: one manual's index should not be the whole measurement."""


def sh(*words: str, **more: object) -> None:
    subprocess.run(words, check=True, **more)  # type: ignore[call-overload]


def manuals(folder: Path) -> Path:
    """Documentation, a folder a manual, and nginx; the web's root."""
    if shutil.which("nginx") is None or shutil.which("wget") is None:
        sh("apt-get", "update", "-qq")
        env = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
        sh("apt-get", "install", "-y", "-qq", "--no-install-recommends", "nginx", "wget",
           stdout=subprocess.DEVNULL, env=env)  # fmt: skip
    web = folder / "web"
    if not (web / ".done").exists():
        shutil.rmtree(web, ignore_errors=True)
        for number, (package, path) in enumerate(PACKAGES.items(), 2):
            with tempfile.TemporaryDirectory() as scratch:
                sh("apt-get", "download", "-qq", package, cwd=scratch)
                (deb,) = Path(scratch).glob("*.deb")
                sh("dpkg", "-x", str(deb), scratch)
                source = Path(scratch) / path
                if not source.is_dir():
                    raise SystemExit(f"{package} has no {path}")
                copy(source, web / f"127.0.0.{number}")
        (web / ".done").touch()
    return web


def install(folder: Path) -> tuple[Path, Path]:
    """Documentation and peers; (the web's root, the peers' Python)."""
    web = manuals(folder)
    peers = folder / "peers"
    if not (peers / "bin" / "scrapy").exists():
        sh(sys.executable, "-m", "venv", str(peers))
        uv = Path(sys.executable).parent / "uv"
        sh(str(uv), "pip", "install", "--quiet", "--python", str(peers / "bin" / "python"),
           "scrapy", "crawlee[parsel]")  # fmt: skip
    return web, peers / "bin" / "python"


def copy(source: Path, target: Path) -> None:
    """HTML files only, links followed, none too large."""
    for path in sorted(source.rglob("*.htm*")):
        real = path.resolve()
        if real.is_file() and real.stat().st_size <= MOST:
            place = target / path.relative_to(source)
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(real, place)


def nginx(web: Path, folder: Path, port: int) -> subprocess.Popen[bytes]:
    servers = "".join(
        f"server {{ listen {host.name}:{port}; root {host}; index index.html; }}\n"
        for host in sorted(web.iterdir())
        if host.is_dir()
    )
    config = folder / "nginx.conf"
    config.write_text(
        f"daemon off; worker_processes 1; pid {folder}/nginx.pid; error_log {folder}/error.log;\n"
        "events { worker_connections 1024; }\n"
        "http { types { text/html html htm; } default_type text/plain; gzip on; gzip_comp_level 5;\n"
        f"log_format b '$status $sent_http_content_type $uri'; access_log {folder}/access.log b;\n"
        f"client_body_temp_path {folder}/t1; proxy_temp_path {folder}/t2;\n"
        f"fastcgi_temp_path {folder}/t3; uwsgi_temp_path {folder}/t4; scgi_temp_path {folder}/t5;\n"
        f"keepalive_requests 1000000; {servers} }}\n"
    )
    server = subprocess.Popen(["nginx", "-c", str(config), "-p", str(folder)])
    time.sleep(1)
    if server.poll() is not None:
        raise SystemExit(f"nginx did not start; see {folder}/error.log")
    return server


def pages(log: Path, start: int) -> int:
    """HTML pages served since that byte of the log."""
    with log.open("rb") as file:
        file.seek(start)
        return sum(line.startswith(b"200 text/html") for line in file)


def commands(peers: Path, starts: list[str], scratch: Path) -> dict[str, list[str]]:
    ours, theirs = sys.executable, str(peers)
    return {
        "honeyguide, all on": [ours, str(HERE / "honeyguide_crawl.py"), "full", *starts],
        "honeyguide, breadth": [ours, str(HERE / "honeyguide_crawl.py"), "breadth", *starts],
        "scrapy, strongest": [theirs, str(HERE / "scrapy_spiders.py"), "strongest", *starts],
        "scrapy, plain": [theirs, str(HERE / "scrapy_spiders.py"), "plain", *starts],
        "crawlee": [theirs, str(HERE / "crawlee_spider.py"), *starts],
        "wget": ["wget", "-q", "-r", "-l", "inf", "-H", "-e", "robots=off", "--no-parent",
                 "-P", str(scratch), "-D", ",".join(s.split("/")[2].split(":")[0] for s in starts),
                 *starts],
    }  # fmt: skip


def measure(command: list[str], log: Path, cwd: Path) -> tuple[float, int, float]:
    """(CPU seconds, pages, wall seconds) of one crawl."""
    before, size = resource.getrusage(resource.RUSAGE_CHILDREN), log.stat().st_size
    began = time.monotonic()
    env = os.environ | {"CRAWLEE_STORAGE_DIR": str(cwd / "storage"), "PYTHONWARNINGS": "ignore"}
    # Everybody's code is compiled once and kept, as on a user's machine.
    env.pop("PYTHONDONTWRITEBYTECODE", None)
    try:
        subprocess.run(command, cwd=cwd, env=env, timeout=LIMIT_S, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)  # fmt: skip
    except subprocess.TimeoutExpired:
        print(f"  stopped after {LIMIT_S} s", flush=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    time.sleep(0.5)  # nginx writes its log a moment later
    return cpu, pages(log, size), time.monotonic() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument(
        "--folder", type=Path, default=Path(tempfile.gettempdir()) / "honeyguide-bench"
    )
    parser.add_argument("--port", type=int, default=PORT)
    chosen = parser.parse_args()
    chosen.folder.mkdir(parents=True, exist_ok=True)
    web, peers = install(chosen.folder)
    server = nginx(web, chosen.folder, chosen.port)
    starts = [
        f"http://{host.name}:{chosen.port}/" + _first(host)
        for host in sorted(web.iterdir())
        if host.is_dir()
    ]
    found: dict[str, list[tuple[float, int, float]]] = {}
    for python in (sys.executable, str(peers)):
        # Compile everything before anything is measured.
        env = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
        sh(python, "-c", "import scrapy.crawler, scrapy.spiders, crawlee.crawlers"
           if python == str(peers) else "import honeyguide.api.collection", env=env)  # fmt: skip
    try:
        for round_ in range(chosen.rounds):
            for name in commands(peers, starts, chosen.folder):
                if chosen.only and not any(word in name for word in chosen.only):
                    continue
                with tempfile.TemporaryDirectory() as scratch:
                    command = commands(peers, starts, Path(scratch))[name]
                    result = measure(command, chosen.folder / "access.log", Path(scratch))
                found.setdefault(name, []).append(result)
                cpu, count, wall = result
                print(f"round {round_ + 1}: {name:22} {cpu / max(1, count) * 1000:7.2f} ms CPU/page"
                      f"  {count} pages  {wall:.1f} s", flush=True)  # fmt: skip
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait()
    report(found)


def _first(host: Path) -> str:
    """Where a manual begins."""
    for name in ("index.html", "contents.html", "en-US/index.html"):
        if (host / name).exists():
            return name if name != "index.html" else ""
    return min(p.name for p in host.glob("*.html"))


def report(found: dict[str, list[tuple[float, int, float]]]) -> None:
    out = ROOT / "bench" / "results" / "throughput.json"
    # Whoever was left out this time keeps the figures of the last.
    table = json.loads(out.read_text()) if out.exists() else {}
    table |= {
        name: {
            "cpu_ms_per_page": round(
                statistics.median(c / max(1, n) * 1000 for c, n, _ in runs), 3
            ),
            "pages": int(statistics.median(n for _, n, _ in runs)),
            "pages_per_second": round(statistics.median(n / w for _, n, w in runs), 1),
            "runs": [[round(c, 3), n, round(w, 2)] for c, n, w in runs],
        }
        for name, runs in found.items()
    }
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(table, indent=1) + "\n")
    base = table.get("scrapy, strongest", {}).get("cpu_ms_per_page")
    for name, row in table.items():
        ratio = f"{base / row['cpu_ms_per_page']:.1f}" if base else "-"
        print(f"{name:22} {row['cpu_ms_per_page']:8.2f} ms/page  {row['pages']} pages  "
              f"strongest Scrapy ÷ this: {ratio}")  # fmt: skip


if __name__ == "__main__":
    main()

"""A synthetic web of a million pages, three machines, three faults: what the crawl makes of them.

    sudo .venv/bin/python -m bench.shards.namespaces --minutes 6 --to bench/results/namespaces.json

The machines are namespaces of this one (see ``tests/cluster/machines.py``), so that nothing leaves
it. A machine is killed (-9), one is cut off from the others and reconnected, and the command that
coordinates is killed and started again. Judged from the web server's log: was a host ever asked by
two at once, or again before it had rested? From the vault: had a shard two writers? From the
collection: is everything there that was asked for before the last save?
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from tests.cluster import web
from tests.cluster.crawling import Crawl, one_writer, until
from tests.cluster.machines import Machines, child, end, missing
from tests.cluster.nodes import start_head, start_node

from honeyguide.store.store import Store

PLAN = "seed=7,pages=1000000,hosts=2000"
REST_S = 1.0
SHARDS = 6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=6.0, help="between the faults, in all")
    parser.add_argument("--made", default=PLAN)
    parser.add_argument("--to", type=Path)
    told = parser.parse_args()
    if why := missing():
        sys.exit(why)
    with tempfile.TemporaryDirectory() as folder:
        seen = story(Path(folder), told.made, told.minutes * 60)
    text = json.dumps(seen, indent=1)
    print(text)
    if told.to:
        told.to.write_text(text + "\n")


def story(folder: Path, plan: str, seconds: float) -> dict[str, Any]:
    seen: dict[str, Any] = {"plan": plan, "shards": SHARDS, "rest_s": REST_S}
    with Machines("a", "b", "c") as (a, b, c):
        start_head(a, cpus=2)
        start_node(b, a)
        start_node(c, a)
        crawl = Crawl(a, folder, REST_S, "--made", plan)
        crawl.reach(b)
        crawl.reach(c)
        crawl.make(f"http://{_first(crawl)}/")
        command = crawl.start("--shards", str(SHARDS))
        until(lambda: len(crawl.asked()) > 300, 180, "the crawl does not begin")
        pause = seconds / 5
        time.sleep(pause)

        end(command)
        before = len(crawl.asked())
        time.sleep(10)
        seen["asked_while_the_command_was_dead_10_s"] = len(crawl.asked()) - before
        command = crawl.start()
        time.sleep(max(pause, 20))

        c.kill()
        seen["machine_killed_until_its_shards_saved_again_s"] = round(
            until(lambda: crawl.moved("c"), 180, "c's shards stay lost"), 1
        )
        time.sleep(pause)
        c.boot()
        start_node(c, a)
        crawl.reach(c)

        b.cut()
        seen["machine_cut_off_until_its_shards_saved_again_s"] = round(
            until(lambda: crawl.moved("b"), 180, "b's shards stay lost"), 1
        )
        b.reconnect()
        time.sleep(2 * pause)
        seen["requests_per_s_at_the_end"] = round(_rate(crawl), 1)
        # One Ctrl-C: all stop, save, and come home.
        began = time.monotonic()
        _interrupt(command)
        seen["exit_code"] = command.wait(300)
        seen["ctrl_c_until_home_s"] = round(time.monotonic() - began, 1)
        crawl.close()
    seen |= judged(crawl)
    seen["said"] = [
        line for line in crawl.said.read_text().splitlines() if line.startswith("honeyguide: ")
    ]
    return seen


def judged(crawl: Crawl) -> dict[str, Any]:
    log, heads = crawl.asked(), crawl.heads()
    asked = Counter((each.host, each.path) for each in log if each.path != "/robots.txt")
    with Store.open(crawl.folder, "read") as store:
        rows = list(store.visits.iter_visits())
    came = {row.url.partition("//")[2] for row in rows}
    answered = {f"{each.host}{each.path}" for each in log if each.path != "/robots.txt"}
    return {
        "requests": len(log),
        "offences": web.offences(log, REST_S),
        "two_writers": [n for n, each in heads.items() if not one_writer(each)],
        "owners": {n: [h.by for h in each if h.kind == "claim"] for n, each in heads.items()},
        "visits": len(rows),
        "visits_twice": sum(
            many - 1 for many in Counter(row.url for row in rows if row.status == 200).values()
        ),
        "asked_and_not_in_the_journal": len(answered - came),
        "asked_again": sum(many - 1 for many in asked.values()),
    }


def _first(crawl: Crawl) -> str:
    """A host of the web: what the lab says of itself."""
    code = (
        "import json, urllib.request as u\n"
        f"o = u.build_opener(u.ProxyHandler({{'http': 'http://127.0.0.1:{web.PORT}'}}))\n"
        "print(json.load(o.open('http://lab.invalid/'))['hosts'][0])"
    )
    return crawl.head.run(sys.executable, "-c", code).stdout.strip()


def _rate(crawl: Crawl, seconds: float = 10.0) -> float:
    now = time.time()
    return sum(each.began > now - seconds for each in crawl.asked()) / seconds


def _interrupt(command: Any) -> None:
    """Ctrl-C for what the usher brought in."""
    os.kill(child(command.pid), signal.SIGINT)


if __name__ == "__main__":
    main()

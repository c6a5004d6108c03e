"""What the machines are asked: counters on Ray, one a machine; run on one of them.

``python -m tests.cluster.counter ADDRESS place a b c`` puts one on each machine;
``… ask a --away a --within 40`` counts with it once it lives anywhere but there.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import time

import ray
from ray.exceptions import GetTimeoutError, RayActorError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy


@ray.remote(max_restarts=-1, lifetime="detached", num_cpus=0.1)
class Counter:
    def __init__(self) -> None:
        self.count = 0

    async def add(self) -> tuple[str, int, int]:
        """Which machine this is, which process there, and how often it was asked."""
        self.count += 1
        return socket.gethostname(), os.getpid(), self.count


def place(names: list[str]) -> None:
    """One counter for each machine, there if it can be, elsewhere when that one is gone."""
    nodes = {name: node["NodeID"] for node in ray.nodes() for name in node["Resources"]}
    for name in names:
        home = NodeAffinitySchedulingStrategy(nodes[name], soft=True)
        counter = Counter.options(name=name, scheduling_strategy=home).remote()
        print(json.dumps(ray.get(counter.add.remote(), timeout=60)))


def ask(name: str, away: str, within: float) -> None:
    counter = ray.get_actor(name)
    deadline = time.monotonic() + within
    while True:
        try:
            answer = ray.get(counter.add.remote(), timeout=3)
            if answer[0] != away:
                print(json.dumps(answer))
                return
            why = f"still at {away}"
        except (GetTimeoutError, RayActorError) as error:
            why = str(error)
        if time.monotonic() > deadline:
            raise SystemExit(f"no answer from {name}: {why}")
        time.sleep(0.2)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("address")
    parser.add_argument("what", choices=["place", "ask", "nodes"])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--away", default="")
    parser.add_argument("--within", type=float, default=40)
    told = parser.parse_args()
    ray.init(told.address, namespace="counters", log_to_driver=False, logging_level="error")
    if told.what == "place":
        place(told.names)
    elif told.what == "ask":
        for name in told.names:
            ask(name, told.away, told.within)
    else:
        print(json.dumps(sorted(n["NodeManagerAddress"] for n in ray.nodes() if n["Alive"])))


if __name__ == "__main__":
    main()

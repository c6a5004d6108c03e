"""Shards as Ray actors on the machines of a cluster. The only module that imports Ray.

Each shard is a detached actor: it outlives the command that started it, and Ray starts it again on
another machine when its own is lost. Ray does not prevent two actors of one shard, and nothing
relies on that: the lease in the vault does (:mod:`honeyguide.cluster.shard_log`). Every call has a
time-out, because a call to a machine that is gone would wait for minutes.
"""

from __future__ import annotations

import asyncio
import json
import logging
import socket
import threading
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from math import inf
from pathlib import Path
from secrets import token_hex
from typing import Any

import msgspec

from honeyguide.cluster import messages
from honeyguide.cluster.messages import ShardPlan
from honeyguide.cluster.remote_state import (
    ClusterLocation,
    is_away,
    known_cluster,
    vault_place,
)
from honeyguide.cluster.resharding import prepare_shards
from honeyguide.cluster.runner import MessageHandler
from honeyguide.cluster.shard_node import NOTHING_READ, ShardNode, node_status
from honeyguide.cluster.sharded_crawl import (
    Announce,
    ShardingRequest,
    check_shard_count,
    crawl_with_runner,
)
from honeyguide.config.settings import Settings
from honeyguide.crawl.signals import run_in_loop
from honeyguide.crawl.status import Report
from honeyguide.errors import ClusterError, ConfigError
from honeyguide.run_status import StatusObserver
from honeyguide.store.shards import SPLIT_KEY
from honeyguide.store.store import Store

_CALL_S = 15.0
"""How long a call may take."""
_POLL_S = 1.0
"""How long an actor waits for something to tell."""
_CONNECT_S = 5.0
_START_S = 60.0
_LEAVE_S = 120.0
_RETRY_S = 0.5
_BATCH_BYTES = 8_000_000
"""Bytes of one call."""
_CPUS_PER_SHARD = 0.1
"""What Ray sets aside for a shard: many may live on one machine."""
_CALLS_AT_ONCE = 8
"""Calls to one actor at a time; two of them wait for news."""


def connect_ray(address: str) -> Any:
    """Ray at that address, and nowhere else; the module is what comes back."""
    try:
        import ray
    except ImportError as error:
        raise ClusterError(
            "a crawl on a cluster needs Ray: pip install 'honeyguide[cluster]'"
        ) from error
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal() or "/" in host:
        raise ConfigError(f"a cluster's address is HOST:PORT, such as 192.0.2.10:6379: {address!r}")
    try:
        # Ray itself would try for a quarter of an hour.
        socket.create_connection((host.strip("[]"), int(port)), _CONNECT_S).close()
    except OSError as error:
        raise ClusterError(
            f"there is no answer from {address}: {error}. Is Ray started there? See "
            "how-to/cluster.md"
        ) from error
    try:
        ray.init(
            address,
            log_to_driver=False,
            logging_level=logging.ERROR,
            ignore_reinit_error=True,
        )
    except (ConnectionError, RuntimeError, ValueError, AssertionError) as error:
        raise ClusterError(
            f"cannot connect to Ray at {address}: {error}. This command has to run on one of its "
            "machines, with the same versions of Ray and Python"
        ) from error
    return ray


def count_machines(ray: Any) -> int:
    """Machines that shards can be put on."""
    return sum(node["Alive"] and bool(node["Resources"].get("CPU")) for node in ray.nodes())


def _actor_name(shard: int) -> str:
    return f"shard-{shard}"


class ShardActor:
    """What Ray starts. The shard has a thread and a loop of its own; calls only leave and fetch."""

    def __init__(self, plan: bytes, place: str, namespace: str) -> None:
        self._plan = msgspec.msgpack.decode(plan, type=ShardPlan)
        self._peers = PeerShards(namespace)
        self._host = ShardNode(self._plan, place, self._peers.send_to)
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._run_node, name="shard", daemon=True).start()

    def _run_node(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self._host.run_shard())
        self._loop.run_forever()  # so that what comes yet is taken, and answered by nobody

    def tell(self, encoded: list[bytes]) -> None:
        self._loop.call_soon_threadsafe(self._host.receive_messages, encoded)

    def news(self, reader: str, position: tuple[str, int]) -> tuple[tuple[str, int], list[bytes]]:
        return self._host.news.fetch(reader, (position[0], position[1]), _POLL_S)

    def status(self) -> str:
        return json.dumps(node_status(self._host.news))

    def purpose(self) -> bytes:
        """What it was started for, to tell whether another is wanted."""
        return plan_purpose(self._plan)

    def gone(self) -> bool:
        """Whether it took leave."""
        return self._host.gone

    def over(self) -> bool:
        """Whether nothing more comes of it: it left, was fenced, or broke."""
        return self._host.over


def plan_purpose(plan: ShardPlan) -> bytes:
    """A plan without what the coordinator says anyway: limits, generation and files."""
    crawl = msgspec.to_builtins(plan.settings)
    for key in ("pages", "hours"):
        crawl["crawl"].pop(key, None)
    crawl.pop("stop", None)
    return msgspec.msgpack.encode([plan.shard, plan.shards, crawl])


class PeerShards:
    """From one shard to others, directly. What does not arrive is said again by who cares."""

    def __init__(self, namespace: str) -> None:
        self._namespace = namespace
        self._queues: dict[int, list[bytes]] = {}
        self._woken: dict[int, asyncio.Event] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        # Of its own, so that a call that hangs keeps nobody from saving.
        self._threads = ThreadPoolExecutor(2)

    def send_to(self, to: int, data: bytes) -> None:
        if to not in self._queues:
            self._queues[to], self._woken[to] = [], asyncio.Event()
            self._tasks.add(asyncio.get_running_loop().create_task(self._send_loop(to)))
        self._queues[to].append(data)
        self._woken[to].set()

    async def _send_loop(self, to: int) -> None:
        import ray

        loop, handle = asyncio.get_running_loop(), None
        while True:
            await self._woken[to].wait()
            self._woken[to].clear()
            while batch := _take_batch(self._queues[to]):
                try:
                    if handle is None:
                        find = loop.run_in_executor(
                            self._threads, ray.get_actor, _actor_name(to), self._namespace
                        )
                        handle = await find
                    async with asyncio.timeout(_CALL_S):
                        await handle.tell.remote(batch)
                except (ray.exceptions.RayError, TimeoutError, ValueError):
                    handle = None
                    self._queues[to].clear()
                    await asyncio.sleep(_RETRY_S)


class RayRunner:
    """Implements :class:`honeyguide.cluster.runner.ShardRunner`."""

    def __init__(
        self, ray: Any, place: str, namespace: str, announce: Callable[[str], None]
    ) -> None:
        self.grace_s, self.silence_s = 300.0, inf
        """A machine may be lost at the very end: Ray has to notice, and the next owner to wait."""
        self._ray = ray
        self._place, self._namespace = place, namespace
        self._announce = announce
        self._plans: dict[int, ShardPlan] = {}
        self._actors: dict[int, Any] = {}
        self._queues: dict[int, list[bytes]] = {}
        self._woken: dict[int, asyncio.Event] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._reader = token_hex(8)
        self._threads = ThreadPoolExecutor(4)

    async def start(self, plans: Sequence[ShardPlan], hear: MessageHandler) -> None:
        for plan in plans:
            self._plans[plan.shard] = plan
            self._queues[plan.shard], self._woken[plan.shard] = [], asyncio.Event()
        await asyncio.gather(*(self._find_actor(shard) for shard in self._plans))
        for shard in self._plans:
            self._tasks.append(asyncio.create_task(self._poll_actor(shard, hear)))
            self._tasks.append(asyncio.create_task(self._send_loop(shard)))

    async def _find_actor(self, shard: int) -> None:
        """The actor that a coordinator before us left, if it is of use; else a new one."""
        with suppress(ValueError, TimeoutError, self._ray.exceptions.RayError):
            found = await self._run_in_thread(
                self._ray.get_actor, _actor_name(shard), self._namespace
            )
            async with asyncio.timeout(_CALL_S):
                fit = await found.purpose.remote() == plan_purpose(self._plans[shard])
                over = await found.over.remote()
            if fit and not over:
                self._actors[shard] = found
                return
            if not over:
                await self._stop_actor(found)
            await self._run_in_thread(self._kill_actor, found)
        await self._start_actor(shard)

    async def _start_actor(self, shard: int) -> None:
        plan = msgspec.msgpack.encode(self._plans[shard])
        kind = self._ray.remote(ShardActor).options(
            name=_actor_name(shard),
            namespace=self._namespace,
            lifetime="detached",
            get_if_exists=True,
            max_restarts=-1,
            max_concurrency=_CALLS_AT_ONCE,
            num_cpus=_CPUS_PER_SHARD,
            scheduling_strategy="SPREAD",
        )
        for left in reversed(range(5)):
            try:
                self._actors[shard] = await self._run_in_thread(
                    kind.remote, plan, self._place, self._namespace
                )
                return
            except (ValueError, self._ray.exceptions.RayError) as error:
                # One that was killed a moment ago keeps its name for a while.
                if not left:
                    raise ClusterError(f"shard {shard} cannot be started: {error}") from error
                await asyncio.sleep(1.0)

    def _run_in_thread(self, call: Callable[..., Any], *words: Any) -> Awaitable[Any]:
        """What may take long: never in the loop."""
        loop = asyncio.get_running_loop()
        return asyncio.wait_for(loop.run_in_executor(self._threads, call, *words), _START_S)

    def _kill_actor(self, actor: Any) -> None:
        self._ray.kill(actor, no_restart=True)

    async def _poll_actor(self, shard: int, hear: MessageHandler) -> None:
        position, silent, errors = NOTHING_READ, 0.0, self._ray.exceptions
        loop = asyncio.get_running_loop()
        last = loop.time()
        while True:
            try:
                async with asyncio.timeout(_CALL_S):
                    position, found = await self._actors[shard].news.remote(self._reader, position)
                last, silent = loop.time(), 0.0
                for data in found:
                    message = messages.decode_message(data)
                    if isinstance(message, messages.ToCoordinator):
                        hear(message)
            except errors.ActorUnavailableError:
                await asyncio.sleep(_RETRY_S)
            except errors.ActorDiedError:
                # For good: somebody killed it. Otherwise Ray would start it again.
                await asyncio.sleep(_RETRY_S)
                with suppress(ClusterError, TimeoutError):
                    await self._start_actor(shard)
            except (errors.RayError, TimeoutError):
                await asyncio.sleep(_RETRY_S)
            if loop.time() - last > 30 + silent:
                silent = loop.time() - last
                self._announce(f"shard {shard} has not answered for {silent:.0f} s")

    def send(self, shard: int, message: messages.ToShard) -> None:
        self._queues[shard].append(messages.encode_message(message))
        self._woken[shard].set()

    async def _send_loop(self, shard: int) -> None:
        """Until it arrives: everything may be said twice."""
        queue, woken = self._queues[shard], self._woken[shard]
        while True:
            await woken.wait()
            woken.clear()
            while batch := _take_batch(queue):
                try:
                    async with asyncio.timeout(_CALL_S):
                        await self._actors[shard].tell.remote(batch)
                except (self._ray.exceptions.RayError, TimeoutError):
                    queue[:0] = batch
                    await asyncio.sleep(_RETRY_S)

    async def wait_until_sent(self) -> None:
        await asyncio.sleep(0)

    async def aclose(self) -> None:
        """All of them leave; raises where one did not."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.gather(*(self._stop_actor(actor) for actor in self._actors.values()))
        for actor in self._actors.values():
            await self._run_in_thread(self._kill_actor, actor)

    async def _stop_actor(self, actor: Any) -> None:
        errors = self._ray.exceptions
        farewell = [
            messages.encode_message(messages.StopRequest("it was stopped")),
            messages.encode_message(messages.ExitRequest()),
        ]
        try:
            async with asyncio.timeout(_LEAVE_S):
                while True:
                    with suppress(errors.RayError):
                        await actor.tell.remote(farewell)
                        if await actor.over.remote():
                            break
                    await asyncio.sleep(0.2)
        except TimeoutError:
            raise ClusterError(
                "a shard did not disconnect. Nothing that was saved is lost: run the same command "
                "again"
            ) from None


def _take_batch(queue: list[bytes]) -> list[bytes]:
    """What goes with one call, out of the queue."""
    size = many = 0
    for data in queue:
        if many and size + len(data) > _BATCH_BYTES:
            break
        size, many = size + len(data), many + 1
    batch, queue[:many] = queue[:many], []
    return batch


def ray_shard_statuses(address: str, namespace: str, shards: int) -> list[dict[str, object] | None]:
    """What each shard says of itself; None: it does not answer."""
    ray = connect_ray(address)
    try:
        return _ask_actors(ray, namespace, shards)
    finally:
        ray.shutdown()


def _ask_actors(ray: Any, namespace: str, shards: int) -> list[dict[str, object] | None]:
    calls = {}
    for shard in range(shards):
        with suppress(ValueError):
            calls[shard] = ray.get_actor(_actor_name(shard), namespace).status.remote()
    ray.wait(list(calls.values()), num_returns=max(1, len(calls)), timeout=_CALL_S)
    statuses: list[dict[str, object] | None] = []
    for shard in range(shards):
        try:
            statuses.append(json.loads(ray.get(calls[shard], timeout=0.1)))
        except (KeyError, ray.exceptions.RayError):
            statuses.append(None)
    return statuses


def crawl_on_cluster(
    folder: Path,
    settings: Settings,
    cluster: ClusterLocation,
    shards: int | None = None,
    observer: StatusObserver | None = None,
    announce: Announce = lambda _: None,
) -> Report:
    """Crawl with so many shards on the machines of a cluster; Ctrl-C stops cleanly, and brings
    everything home.

    None: as many as the collection has, or two for each machine.
    """
    with Store.open(folder, "crawl", settings.store) as store:
        cluster = ClusterLocation(cluster.address, cluster.vault or known_cluster(store).vault)
        if not cluster.vault:
            raise ConfigError("a crawl on a cluster needs storage that its machines share: --vault")
        ray = connect_ray(cluster.address)
        try:
            if shards is None and store.shard_count == 1:
                shards = max(2, 2 * count_machines(ray))
            if not is_away(store):
                check_shard_count(store.shard_count if shards is None else shards)
                prepare_shards(store, store.shard_count if shards is None else shards, announce)
            mark = store.get_meta(SPLIT_KEY) or ""
            place = vault_place(store, cluster.vault)
        except BaseException:  # whatever it is, the connection to Ray must not stay open
            ray.shutdown()
            raise
    try:
        runner = RayRunner(ray, place, mark, announce)
        wish = ShardingRequest(shards, announce, cluster=cluster)
        return run_in_loop(crawl_with_runner(folder, settings, wish, runner, observer))
    finally:
        ray.shutdown()

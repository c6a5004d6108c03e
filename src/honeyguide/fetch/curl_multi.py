"""Curl's transfers driven from asyncio, all sockets behind one reader of the event loop.

pycurl brings a driver of its own, which tells the event loop of every socket anew for every
request. Here a selector of our own holds them, and the loop only hears that something in it
is ready: a third of the work, and no timers beyond the nearest.
"""

from __future__ import annotations

import asyncio
from selectors import EVENT_READ, EVENT_WRITE, DefaultSelector
from typing import Any

import pycurl

_ACTIONS = {
    EVENT_READ: pycurl.CSELECT_IN,
    EVENT_WRITE: pycurl.CSELECT_OUT,
    EVENT_READ | EVENT_WRITE: pycurl.CSELECT_IN | pycurl.CSELECT_OUT,
}
_EVENTS = {
    pycurl.POLL_IN: EVENT_READ,
    pycurl.POLL_OUT: EVENT_WRITE,
    pycurl.POLL_INOUT: EVENT_READ | EVENT_WRITE,
}


class Drive:
    """Belongs to the event loop in which its first transfer starts."""

    def __init__(self, connections: int) -> None:
        self.closed = False
        self._multi: Any = pycurl.CurlMulti()
        self._multi.setopt(pycurl.M_MAXCONNECTS, connections)
        self._multi.setopt(pycurl.M_SOCKETFUNCTION, self._watch)
        self._multi.setopt(pycurl.M_TIMERFUNCTION, self._postpone)
        self._selector = DefaultSelector()
        self._watched: set[int] = set()
        """The sockets in it: it answers that itself, but slowly."""
        self._loop: asyncio.AbstractEventLoop | None = None
        self._under_way: dict[Any, asyncio.Future[None]] = {}
        self._timer: asyncio.TimerHandle | asyncio.Handle | None = None
        self._timed = 0.0
        """When the timer rings, which may be too early …"""
        self._due = 0.0
        """… and when curl wants to be called; 0: never."""
        self._beginning = False
        """A transfer is being handed to curl, which is called as soon as it has it."""

    def start(self, curl: Any) -> asyncio.Future[None]:
        """Begin a transfer. The future raises pycurl.error, or whatever it is cancelled with.

        Whoever awaited it calls :meth:`stop`.
        """
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
            self._loop.add_reader(self._selector.fileno(), self._ready)
        self._beginning = True
        try:
            self._multi.add_handle(curl)
        finally:
            self._beginning = False
        future = self._under_way[curl] = self._loop.create_future()
        # Curl wants to be called at once. From here it may be, which saves a turn of the loop.
        self._act(pycurl.SOCKET_TIMEOUT, 0)
        self._settle()
        return future

    def stop(self, curl: Any) -> None:
        """Take a transfer out, if it did not end by itself."""
        if self._under_way.pop(curl, None) is not None:
            self._multi.remove_handle(curl)

    def close(self) -> None:
        if self.closed:
            return
        self.closed = True
        for curl, future in list(self._under_way.items()):
            self.stop(curl)
            future.cancel()
        if self._timer is not None:
            self._timer.cancel()
        if self._loop is not None:
            self._loop.remove_reader(self._selector.fileno())
        self._multi.close()
        self._selector.close()

    def _watch(self, what: int, fd: int, _multi: Any, _data: Any) -> None:
        """Curl says what it waits for at a socket."""
        events = _EVENTS.get(what)
        if events is None:
            if fd in self._watched:
                self._watched.discard(fd)
                self._selector.unregister(fd)
        elif fd in self._watched:
            self._selector.modify(fd, events)
        else:
            self._watched.add(fd)
            self._selector.register(fd, events)

    def _postpone(self, milliseconds: int) -> None:
        """Curl says when it wants to be called at the latest; mostly it is called before."""
        assert self._loop is not None
        if milliseconds < 0 or self.closed or self._beginning:
            self._due = 0.0
            return
        now = self._loop.time()
        self._due = now + milliseconds / 1000
        if self._timer is not None:
            if self._timed <= self._due:
                return
            self._timer.cancel()
        self._set_timer(now)

    def _set_timer(self, now: float) -> None:
        assert self._loop is not None
        self._timed = self._due
        if self._due <= now:
            # Not at once: curl must not be called from within itself.
            self._timer = self._loop.call_soon(self._ring)
        else:
            self._timer = self._loop.call_at(self._due, self._ring)

    def _ring(self) -> None:
        assert self._loop is not None
        self._timer = None
        now = self._loop.time()
        if not self._due:
            return
        if self._due > now:
            self._set_timer(now)
            return
        self._due = 0.0
        self._act(pycurl.SOCKET_TIMEOUT, 0)
        self._settle()

    def _ready(self) -> None:
        for key, events in self._selector.select(0):
            self._act(key.fd, _ACTIONS[events])
        self._settle()

    def _act(self, fd: int, events: int) -> None:
        try:
            self._multi.socket_action(fd, events)
        except pycurl.error as error:
            # Curl has lost its bearings: no transfer will end by itself any more.
            for future in self._under_way.values():
                if not future.done():
                    future.set_exception(error)

    def _settle(self) -> None:
        """Say of transfers that have ended that they have."""
        _, done, failed = self._multi.info_read()
        for curl in done:
            self._end(curl, None)
        for curl, code, message in failed:
            self._end(curl, pycurl.error(code, message))

    def _end(self, curl: Any, error: pycurl.error | None) -> None:
        future = self._under_way.get(curl)
        if future is None:
            return
        self.stop(curl)
        if future.done():
            return
        if error is None:
            future.set_result(None)
        else:
            future.set_exception(error)

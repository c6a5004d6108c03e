"""Headers that a request brings along: they go out, and nowhere else."""

from __future__ import annotations

import re

from honeyguide.errors import ProtocolError
from honeyguide.fetch.http_headers import sendable
from honeyguide.types import Request

_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}").fullmatch


def private_lines(request: Request) -> list[str]:
    """The request's own headers as lines. What cannot be sent is an error that does not show it:
    a request that lacks its key would be another request."""
    for name, value in request.headers:
        if not _NAME(name) or not sendable(value):
            raise ProtocolError(request.url, "one of the request's own headers cannot be sent")
    return [f"{name}: {value}" for name, value in request.headers]


def outgoing(lines: list[str], private: list[str], unsaid: list[str]) -> list[str]:
    """Every header of a request; a private one replaces ours of its name."""
    replaced = {_name(line) for line in private}
    return [*(line for line in lines if _name(line) not in replaced), *private, *unsaid]


def _name(line: str) -> str:
    return line.partition(":")[0].lower()

"""Behaviours below HTTP's meaning: slow, endless, cut, broken framing, no HTTP at all."""

from __future__ import annotations

import random

from tests.site.exchange import Behaviour, Exchange, raw

OK = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
PAGE = b"<title>Page</title><p>" + b"honey " * 80
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"


async def silent(x: Exchange) -> None:
    """Takes the request and never says a word."""
    await x.wait(60)


async def slow_headers(x: Exchange) -> None:
    """Drips its head, a byte every tenth of a second."""
    for byte in OK + b"X-Slow: " + b"y" * 200 + b"\r\nContent-Length: 0\r\n\r\n":
        await x.send(bytes([byte]))
        await x.wait(0.1)


async def slow_body(x: Exchange) -> None:
    """Drips its body, a byte every tenth of a second; never silent for long."""
    await x.send(x.head(headers=[("Content-Length", "280")]))
    for _ in range(280):
        await x.send(b"y")
        await x.wait(0.1)


async def stalled_body(x: Exchange) -> None:
    """Sends half of its body at once and then nothing."""
    await x.send(x.head(headers=[("Content-Length", str(2 * len(PAGE)))]) + PAGE)
    await x.wait(60)


async def late(x: Exchange) -> None:
    """Answers properly after half a second."""
    await x.wait(0.5)
    await x.answer(PAGE)


async def endless_body(x: Exchange) -> None:
    """A body that ends with the connection, which never does."""
    x.close()
    await x.send(x.head())
    while True:
        await x.send(PAGE * 100)


async def endless_chunks(x: Exchange) -> None:
    """A chunked body without a last chunk."""
    await x.send(CHUNKED)
    while True:
        await x.send(b"%x\r\n%s\r\n" % (len(PAGE), PAGE) * 100)


async def tiny_chunks(x: Exchange) -> None:
    """A whole page in chunks of one byte: slow to read, but right."""
    await x.send(CHUNKED + b"".join(b"1\r\n%c\r\n" % byte for byte in PAGE) + b"0\r\n\r\n")


async def endless_headers(x: Exchange) -> None:
    """Headers for ever."""
    await x.send(OK)
    number = 0
    while True:
        number += 1
        await x.send(b"".join(b"X-%d-%d: again\r\n" % (number, i) for i in range(1000)))


async def endless_trailers(x: Exchange) -> None:
    """A chunked body that is finished, and trailers for ever."""
    await x.send(CHUNKED + b"4\r\nbody\r\n0\r\n")
    while True:
        await x.send(b"X-Trailer: again\r\n" * 1000)


async def endless_continue(x: Exchange) -> None:
    """100 Continue for ever."""
    while True:
        await x.send(b"HTTP/1.1 100 Continue\r\n\r\n" * 1000)


async def early_hints(x: Exchange) -> None:
    """Two interim answers, then a page."""
    await x.send(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n")
    await x.answer(PAGE)


async def header_bomb(x: Exchange) -> None:
    """A megabyte of headers, none of them long."""
    lines = b"".join(b"X-%d: %s\r\n" % (i, b"y" * 1000) for i in range(1000))
    await x.send(OK + lines + b"Content-Length: 0\r\n\r\n")


async def header_line(x: Exchange) -> None:
    """A megabyte in one header."""
    await x.send(OK + b"X: " + b"y" * 1_000_000 + b"\r\nContent-Length: 0\r\n\r\n")


async def header_crowd(x: Exchange) -> None:
    """Five thousand small headers."""
    lines = b"".join(b"X-%d: y\r\n" % i for i in range(5000))
    await x.send(OK + lines + b"Content-Length: 0\r\n\r\n")


async def reset_at_once(x: Exchange) -> None:
    """A RST for an answer."""
    x.reset()


async def reset_in_body(x: Exchange) -> None:
    """A RST in the middle of the body."""
    await x.send(x.head(headers=[("Content-Length", str(2 * len(PAGE)))]) + PAGE)
    await x.wait(0.05)
    x.reset()


async def poisoned(x: Exchange) -> None:
    """A whole page, and behind it an answer to the next question, which nobody asked yet."""
    forged = OK + b"Content-Length: 6\r\n\r\nforged"
    await x.send(OK + b"Content-Length: %d\r\n\r\n" % len(PAGE) + PAGE + forged)


async def length_too_short(x: Exchange) -> None:
    """More body than its length says; the connection stays open."""
    await x.send(OK + b"Content-Length: 10\r\n\r\n" + PAGE)


def sized(value: bytes, body: bytes = PAGE) -> Behaviour:
    """A page with this Content-Length, whatever it is; then the connection closes."""
    return raw(OK + b"Content-Length: " + value + b"\r\n\r\n" + body)


WIRE: dict[str, Behaviour] = {
    "/wire/silent": silent,
    "/wire/slow-headers": slow_headers,
    "/wire/slow-body": slow_body,
    "/wire/stalled-body": stalled_body,
    "/wire/late": late,
    "/wire/endless-body": endless_body,
    "/wire/endless-chunks": endless_chunks,
    "/wire/tiny-chunks": tiny_chunks,
    "/wire/endless-headers": endless_headers,
    "/wire/endless-trailers": endless_trailers,
    "/wire/endless-continue": endless_continue,
    "/wire/early-hints": early_hints,
    "/wire/header-bomb": header_bomb,
    "/wire/header-line": header_line,
    "/wire/header-crowd": header_crowd,
    "/wire/header-without-colon": raw(OK + b"nonsense\r\nContent-Length: 0\r\n\r\n"),
    "/wire/header-with-nul": raw(OK + b"X-Nul: a\0b\r\nContent-Length: 0\r\n\r\n"),
    "/wire/header-folded": raw(OK + b"X-Fold: a\r\n b\r\nContent-Length: 4\r\n\r\nbody"),
    "/wire/bare-newlines": raw(b"HTTP/1.1 200 OK\nContent-Type: text/html\n\n" + PAGE),
    "/wire/chunk-size-garbage": raw(CHUNKED + b"zz\r\nbody\r\n0\r\n\r\n"),
    "/wire/chunk-size-huge": raw(CHUNKED + b"F" * 17 + b"\r\nbody\r\n0\r\n\r\n"),
    "/wire/chunk-without-end": raw(CHUNKED + b"4\r\nbodyNO0\r\n\r\n"),
    "/wire/chunks-cut": raw(CHUNKED + b"ff\r\nbody"),
    "/wire/chunks-unfinished": raw(CHUNKED + b"4\r\nbody\r\n"),
    "/wire/length-too-long": sized(b"10000"),
    "/wire/length-too-short": length_too_short,
    "/wire/length-negative": sized(b"-1"),
    "/wire/length-garbage": sized(b"many"),
    "/wire/length-huge": sized(b"9" * 30),
    "/wire/length-twice": sized(b"10\r\nContent-Length: 400"),
    "/wire/length-and-chunks": sized(b"3\r\nTransfer-Encoding: chunked", b"4\r\nbody\r\n0\r\n\r\n"),
    "/wire/closed-at-once": raw(b""),
    "/wire/closed-in-head": raw(OK + b"X-Cut: "),
    "/wire/closed-in-body": sized(b"480", PAGE[:100]),
    "/wire/reset-at-once": reset_at_once,
    "/wire/reset-in-body": reset_in_body,
    "/wire/poisoned": poisoned,
    "/wire/garbage": raw(random.Random(7).randbytes(5000)),
    "/wire/http09": raw(b"<html><title>No status line</title></html>"),
    "/wire/http2-preface": raw(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
    "/wire/status-garbage": raw(b"HTTP/1.1 abc OK\r\nContent-Length: 0\r\n\r\n"),
    "/wire/status-long": raw(b"HTTP/1.1 20000000000000000000 OK\r\nContent-Length: 0\r\n\r\n"),
    "/wire/version-garbage": raw(b"HTTP/9.9 200 OK\r\nContent-Length: 0\r\n\r\n"),
}

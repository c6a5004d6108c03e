"""``/metrics`` for Prometheus, in its text format (version 0.0.4)."""

from __future__ import annotations

import json
from collections.abc import Iterator

from honeyguide.config import load
from honeyguide.crawl.open_store import existing
from honeyguide.crawl.status import Status, status
from honeyguide.errors import HoneyguideError
from honeyguide.studio import name_checks as names
from honeyguide.studio.routes import Here, Raw, Route

_MOST = 50
"""Collections that are told of."""
_GAUGES = {
    "visits_total": ("counter", "Visits made."),
    "pages_total": ("counter", "Visits that brought a page."),
    "relevant_total": ("counter", "Relevant pages found."),
    "failures_total": ("counter", "Visits that failed, by kind."),
    "bytes_total": ("counter", "Bytes of pages received."),
    "labels_total": ("counter", "Labels given by people."),
    "changes_total": ("counter", "Changes that a watch found."),
    "watched_pages": ("gauge", "Pages that a watch comes back to."),
    "frontier_links": ("gauge", "Links that wait."),
    "generation": ("gauge", "The generation that decides."),
    "last_visit_timestamp_seconds": ("gauge", "When the last visit was."),
    "running": ("gauge", "1 while it is crawled or watched."),
}
Sample = tuple[str, dict[str, str], float]


def metrics(here: Here) -> Raw:
    """All collections' counts for Prometheus."""
    samples: dict[str, list[str]] = {name: [] for name in _GAUGES}
    for folder in names.collections(here.root)[:_MOST]:
        found: list[Sample] = []
        try:
            running = here.runs.state(folder).state in ("running", "stopping", "elsewhere")
            found.append(("running", {}, float(running)))
            with existing(folder, "read") as store:
                found += _samples(status(store, load(folder / "topic.toml"), 0))
        except (HoneyguideError, OSError):
            pass  # not crawled yet, or damaged: what was found before is all there is to say
        for name, labels, value in found:
            samples[name].append(_line(name, {"collection": folder.name, **labels}, value))
    lines: list[str] = []
    for name, (kind, about) in _GAUGES.items():
        if samples[name]:
            lines += [f"# HELP honeyguide_{name} {about}", f"# TYPE honeyguide_{name} {kind}"]
            lines += samples[name]
    body = "".join(f"{line}\n" for line in lines)
    return Raw(body.encode(), "text/plain; version=0.0.4; charset=utf-8")


def _samples(found: Status) -> Iterator[Sample]:
    yield "visits_total", {}, found.visits
    yield "pages_total", {}, found.pages
    yield "relevant_total", {}, found.relevant
    yield "bytes_total", {}, found.bytes
    yield "labels_total", {}, found.labels
    yield "changes_total", {}, found.changes
    yield "watched_pages", {}, found.watched
    for kind, count in sorted(found.failures.items()):
        yield "failures_total", {"kind": kind}, count
    if found.waiting is not None:
        yield "frontier_links", {}, found.waiting
    if found.generation is not None:
        yield "generation", {}, found.generation
    if found.last is not None:
        yield "last_visit_timestamp_seconds", {}, found.last


def _line(name: str, labels: dict[str, str], value: float) -> str:
    # JSON escapes what the format wants escaped: backslash, quote and line end.
    said = ",".join(f"{key}={json.dumps(text, ensure_ascii=False)}" for key, text in labels.items())
    return f"honeyguide_{name}{{{said}}} {value:.16g}"


ROUTES = (Route("GET", "/metrics", metrics, returns=Raw),)

"""Topics of a collection: their examples, pages read again from WARC records, and labels by
topic.

Examples are addresses that are fetched first, or files on disk. The store keeps the words of a page
but not its links, which only few strategies learn from; these come from its WARC record.
"""

from __future__ import annotations

import mimetypes
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

from honeyguide.config.settings import FurtherTopic, ScopeSettings, Settings
from honeyguide.errors import ConfigError, FetchError, ParseError, StoreError
from honeyguide.fetch.decode import decode_body
from honeyguide.parse.read import parse_body, parse_page
from honeyguide.store.labels import EffectiveLabels, TopicSelection
from honeyguide.store.visits import VisitRow
from honeyguide.types import Example, Label, Link, Page, Url
from honeyguide.url import canonical_url

if TYPE_CHECKING:
    from honeyguide.store.store import Store

_MAX_EXAMPLE_FILES = 1_000
"""Files of each kind."""
_MAX_EXAMPLE_BYTES = 10_000_000


def example_labels(settings: Settings) -> dict[Url, float]:
    """Addresses that topic.toml names as good (1) or bad (0)."""
    labels: dict[Url, float] = {}
    for value, key in ((1.0, "good"), (0.0, "bad")):
        for text in getattr(settings.topic, key):
            url = canonical_url(text.strip())
            if url is None:
                raise ConfigError(
                    f"topic.{key}: {text!r} is not an http or https address; for files there is "
                    f"topic.{key}_files"
                )
            if labels.setdefault(url, value) != value:
                raise ConfigError(f"{url} is both in topic.good and in topic.bad; say which it is")
    return labels


def load_example_files(folder: Path, settings: Settings) -> list[Example]:
    """The example files of a topic, read as if they had been fetched."""
    found: list[Example] = []
    for value, key in ((1.0, "good_files"), (0.0, "bad_files")):
        for wanted in getattr(settings.topic, key):
            paths = _matching_files(folder, wanted, key)
            if not paths:
                raise ConfigError(f"topic.{key}: there is no file {wanted!r} in {folder}")
            if len(paths) > _MAX_EXAMPLE_FILES:
                raise ConfigError(
                    f"topic.{key}: {wanted!r} means more than {_MAX_EXAMPLE_FILES} files"
                )
            for path in paths:
                page = _read_example(path, f"topic.{key}")
                found.append(Example(Link(page.url, channel="example"), page, value, "seed"))
    return found


def check_example_files(files: Iterable[str], key: str) -> list[Path]:
    """Paths of the user's files, each of which can be read as a page."""
    paths = [Path(file).expanduser() for file in files]
    for path in paths:
        _read_example(path, key)
    return paths


def copy_example_files(folder: Path, files: Sequence[Path], kind: str) -> None:
    """Copy them to where :func:`example_pattern` points."""
    place = folder / "examples" / kind
    try:
        place.parent.mkdir(0o700, parents=True, exist_ok=True)
        place.mkdir(0o700, exist_ok=True)
        for number, path in enumerate(files, 1):
            shutil.copyfile(path, place / f"{number:03d}-{path.name}")
    except OSError as error:
        raise ConfigError(f"the examples cannot be copied to {place}: {error}") from error


def example_pattern(kind: str) -> str:
    return f"examples/{kind}/*"


def _matching_files(folder: Path, wanted: str, key: str) -> list[Path]:
    """Files inside the collection only: a topic.toml may come from a stranger, and what is learned
    from a file is stored where others may read it."""
    inside = not Path(wanted).anchor
    try:
        found = sorted(p for p in folder.glob(wanted) if p.is_file()) if inside else []
    except (ValueError, OSError) as error:
        raise ConfigError(f"topic.{key}: {wanted!r} is not a file pattern: {error}") from error
    home = folder.resolve()
    if not inside or any(home not in path.resolve().parents for path in found):
        raise ConfigError(
            f"topic.{key}: {wanted!r} leads out of {folder}; copy the files into it, as "
            "honeyguide new --good-file does"
        )
    return found


def _read_example(path: Path, key: str) -> Page:
    try:
        with path.open("rb") as file:
            body = file.read(_MAX_EXAMPLE_BYTES)
    except OSError as error:
        raise ConfigError(f"{key}: {path} cannot be read: {error}") from error
    kind = mimetypes.guess_type(path.name)[0] or "text/html"
    url = Url(f"file://localhost{path.resolve().as_posix()}")
    try:
        page = parse_body(body, Link(url), kind)
    except ParseError as error:
        raise ConfigError(f"{key}: {path} holds no text that can be read: {error}") from error
    if not any(text.strip() for text in (page.title, page.text, *page.headings)):
        what = "holds no words" if body.strip() else "is empty"
        raise ConfigError(f"{key}: {path} {what}: nothing can be learned from it; leave it out")
    return page


# --- Pages from WARC records ---


_MAX_RECORD_BYTES = 10_000_000
_MAX_INFLATION = 200.0


def reread_page(store: Store, row: VisitRow, scope: ScopeSettings | None = None) -> Page | None:
    """The page as it was fetched; without links if the record is missing. ``scope``: limits for its
    links."""
    try:
        return _read_record(store, row, scope or ScopeSettings()) or store.visits.latest_page(
            row.url
        )
    except (StoreError, FetchError, ParseError):
        return store.visits.latest_page(row.url)


def _read_record(store: Store, row: VisitRow, scope: ScopeSettings) -> Page | None:
    bare = store.archived_response(row)
    if bare is None:
        return None
    coding = bare.header("content-encoding")
    body = decode_body(row.url, bare.payload, coding, limit=_MAX_RECORD_BYTES, ratio=_MAX_INFLATION)
    bare = bare._replace(body=body)
    return parse_page(bare, row.link, strip_tracking=scope.strip_tracking, outlinks=scope.outlinks)


# --- Several topics ---


def seed_urls(settings: Settings) -> tuple[Url, ...]:
    """The topic's seeds and good examples, in canonical form; a ConfigError names bad ones."""
    found: list[Url] = []
    stated = [("topic.seeds", settings.topic.seeds), ("topic.good", settings.topic.good)]
    stated += [(f"good of {topic.name!r}", topic.good) for topic in settings.topics]
    for key, texts in stated:
        for text in texts:
            url = canonical_url(text.strip())
            if url is None:
                hint = f"; did you mean https://{text.strip()}?" if "://" not in text else ""
                raise ConfigError(f"{key}: {text!r} is not an http or https address{hint}")
            found.append(url)
    if not found and not settings.search.engine:
        raise ConfigError(
            "the topic has no seeds: name an address to start from with --seed (honeyguide new) or "
            "under topic.seeds in topic.toml; or ask a search engine, under [search]"
        )
    return tuple(dict.fromkeys(found))


def topic_names(settings: Settings) -> tuple[str, ...]:
    """Names of all topics in their order; empty with a single topic."""
    if not settings.topics:
        return ()
    return (settings.topic.name, *(topic.name for topic in settings.topics))


def settings_per_topic(settings: Settings) -> Iterator[Settings]:
    """The settings as if each topic were the only one; seeds stay with the first."""
    yield replace(settings, topics=()) if settings.topics else settings
    for further in settings.topics:
        values = {item.name: getattr(further, item.name) for item in fields(FurtherTopic)}
        yield replace(settings, topic=replace(settings.topic, seeds=(), **values), topics=())


def resolve_topic(settings: Settings, topic: str) -> str:
    """The topic as labels store it, '' being the first; ConfigError for an unknown name."""
    known = topic_names(settings)
    if not topic or (known and topic == known[0]) or (not known and topic == settings.topic.name):
        return ""
    if topic in known:
        return topic
    if not known:
        raise ConfigError(
            f"there is no topic {topic!r}: this collection has one only. Others are [[topics]] "
            "tables in topic.toml"
        )
    near = get_close_matches(topic, known, 1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    raise ConfigError(f"there is no topic {topic!r}; {hint}known: {', '.join(known)}")


@contextmanager
def errors_name_topic(settings: Settings, several: bool) -> Iterator[None]:
    """Add the name of the topic to errors, where there are several."""
    try:
        yield
    except ConfigError as error:
        if not several:
            raise
        raise ConfigError(f"the topic {settings.topic.name!r}: {error}") from error


def example_labels_by_topic(settings: Settings) -> dict[Url, dict[str, float]]:
    """Address → topic → good (1) or bad (0), from topic.toml."""
    found: dict[Url, dict[str, float]] = {}
    for one in settings_per_topic(settings):
        with errors_name_topic(one, bool(settings.topics)):
            for url, value in example_labels(one).items():
                found.setdefault(url, {})[one.topic.name] = value
    return found


def best_example_labels(settings: Settings) -> dict[Url, float]:
    """Address → the best of these over all topics."""
    return {
        url: max(by_topic.values()) for url, by_topic in example_labels_by_topic(settings).items()
    }


def load_effective_labels(store: Store, settings: Settings) -> EffectiveLabels:
    """Labels of people, and before these the examples in topic.toml."""
    known, first = topic_names(settings), settings.topic.name
    stated = [
        (0, Label(url, value, topic="" if name == first else name))
        for url, values in example_labels_by_topic(settings).items()
        for name, value in values.items()
    ]
    several = TopicSelection(known, store.threshold) if known else None
    return EffectiveLabels((*stated, *store.labels.effective_after()), several)


def relevant_per_topic(store: Store, settings: Settings) -> dict[str, int]:
    """Relevant pages of each topic; labels have priority."""
    known = topic_names(settings)
    found = store.visits.relevant_by_topic(store.threshold, known[0])
    people = load_effective_labels(store, settings)
    for url in people.labelled_urls():
        for row in store.visits.attempts_at(url):
            for name, more in people.topic_corrections(row).items():
                found[name] = found.get(name, 0) + more
    return {name: max(0, found.get(name, 0)) for name in known}


def likeliest_topic(settings: Settings, store: Store, url: Url) -> str:
    """The topic with the highest score for a page, as labels store it."""
    scores = next(
        (row.topic_scores for row in reversed(store.visits.attempts_at(url)) if row.topic_scores),
        {},
    )
    known = [name for name in topic_names(settings) if name in scores]
    return resolve_topic(settings, max(known, key=scores.__getitem__)) if known else ""


def opposes_examples(settings: Settings, labels: Iterable[Label]) -> Iterator[bool]:
    """Which of the labels contradict topic.toml."""
    examples = example_labels_by_topic(settings)
    for label in labels:
        stated = examples.get(label.url, {}).get(label.topic or settings.topic.name, 0.5)
        yield abs(label.value - stated) > 0.5


def load_all_example_files(folder: Path, settings: Settings) -> list[Example]:
    """The example files of all topics."""
    found: list[Example] = []
    for one in settings_per_topic(settings):
        with errors_name_topic(one, bool(settings.topics)):
            topic = one.topic.name if settings.topics else ""
            found += [replace(e, topic=topic) for e in load_example_files(folder, one)]
    return found

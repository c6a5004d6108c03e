"""Making and editing a topic: choices, trials of seeds, uploaded ontologies, the collection."""

from __future__ import annotations

import asyncio
import errno
import hashlib
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from operator import itemgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from honeyguide import __version__, language_codes
from honeyguide.api import advice, topic_edit
from honeyguide.api.create import (
    OWN_ONTOLOGIES,
    Ontology,
    create,
    lab_address,
    language_hints,
    load_ontology,
    matching_concepts,
)
from honeyguide.api.search import allow_engine
from honeyguide.api.user_urls import parse_seed_url
from honeyguide.config import topic_file
from honeyguide.config.loading import load_settings
from honeyguide.config.settings import FetchSettings
from honeyguide.crawl.from_settings import strategy_choices
from honeyguide.errors import ConfigError, FetchError, HoneyguideError, ParseError
from honeyguide.fetch.http import CurlFetcher, make_user_agent
from honeyguide.learning import topics
from honeyguide.net.polite_fetch import PoliteFetcher, RequestPacer
from honeyguide.net.robots import RobotsCache
from honeyguide.parse.read import parse_page
from honeyguide.search.engines import check_engine
from honeyguide.studio import routes
from honeyguide.types import Link, Url
from honeyguide.url import host_of

_PATIENCE_S = 24.0
"""For all seeds of one request; a browser waits a little longer."""

Address = Annotated[str, Meta(max_length=2_000)]


class SeedTrialQuery(Struct, forbid_unknown_fields=True):
    seeds: Annotated[list[Address], Meta(min_length=1, max_length=10)]
    contact: Annotated[str, Meta(max_length=200)]
    lab: Annotated[str, Meta(max_length=100)] = ""


class SeedTrial(Struct):
    """What came of a seed."""

    seed: str
    ok: bool
    said: str
    """In words: the page's title, or why there is no page."""
    url: str = ""
    """Where it was in the end."""
    words: int = 0
    links: int = 0
    language: str = ""
    seconds: float = 0.0


class SeedTrier:
    """Remembers robots.txt and who was asked when, so that testing again hurries nobody."""

    def __init__(self, _: Path) -> None:
        self._robots = RobotsCache()
        self._pacer = RequestPacer()
        self._lock = Lock()

    def try_seeds(self, seeds: Sequence[str], contact: str, lab: str) -> list[SeedTrial]:
        settings = FetchSettings(
            contact=contact, lab=lab, connect_s=8.0, read_s=10.0, total_s=15.0, cookies=False
        )
        agent = make_user_agent(contact, __version__)
        if not self._lock.acquire(timeout=_PATIENCE_S / 2):
            raise ConfigError("other seeds are being tested; try again in a moment")
        try:
            return asyncio.run(self._try_seeds(seeds, settings, agent))
        finally:
            self._lock.release()

    async def _try_seeds(
        self, seeds: Sequence[str], settings: FetchSettings, agent: str
    ) -> list[SeedTrial]:
        fetcher = CurlFetcher(settings, user_agent=agent, archives=False)
        try:
            if settings.lab:  # its hosts are not those of the web
                visitor = PoliteFetcher(fetcher, lab=True)
            else:
                visitor = PoliteFetcher(fetcher, robots=self._robots, pacer=self._pacer)
            return await try_each_seed(visitor, seeds, lab=bool(settings.lab))
        finally:
            await fetcher.aclose()


async def try_each_seed(
    visitor: PoliteFetcher, seeds: Sequence[str], *, lab: bool = False
) -> list[SeedTrial]:
    """All at once, but those of one host one by one, so that its robots.txt is asked for once."""
    hosts: dict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
    return list(await asyncio.gather(*(_try_seed(visitor, seed, hosts, lab) for seed in seeds)))


async def _try_seed(
    visitor: PoliteFetcher, seed: str, hosts: dict[str, asyncio.Lock], lab: bool
) -> SeedTrial:
    began = time.perf_counter()
    try:
        url = seed_address(seed, lab=lab)
        async with asyncio.timeout(_PATIENCE_S), hosts[host_of(url)]:
            answer = await visitor.fetch_url(url)
            page = parse_page(answer, Link(answer.url))
    except TimeoutError:
        return SeedTrial(seed, False, f"no answer within {_PATIENCE_S:.0f} seconds")
    except FetchError as error:
        return SeedTrial(seed, False, error.detail or str(error))
    except ParseError:
        return SeedTrial(seed, False, "this is not a page: it holds no text")
    except ConfigError as error:
        return SeedTrial(seed, False, str(error))
    title = page.title.strip() or "a page without a title"
    return SeedTrial(
        seed,
        True,
        title[:300],
        page.url,
        len(page.text.split()),
        len(page.links),
        page.language,
        round(time.perf_counter() - began, 2),
    )


def seed_address(text: str, *, lab: bool = False) -> Url:
    """A seed as somebody typed it into the browser: an address, and never a file."""
    text, scheme = text.strip(), "http" if lab else "https"
    return parse_seed_url(text if "://" in text else f"{scheme}://{text}", lab=lab)


def try_new_seeds(context: routes.RequestContext, body: SeedTrialQuery) -> list[SeedTrial]:
    """Ask for each seed once, politely and with regard to robots.txt, and say what came."""
    lab = lab_address(body.lab) if body.lab.strip() else ""
    return context.shared.get(context.root, SeedTrier).try_seeds(body.seeds, body.contact, lab)


# -- Uploaded ontologies --


MAX_UPLOAD_BYTES = 10_000_000
"""Bytes of an uploaded file."""
_MAX_UPLOADS = 8
"""Uploads that are kept at once; the oldest goes."""


class UploadedOntologies:
    """Files in a folder of their own, which goes with the studio. An id is the content's digest."""

    def __init__(self, _: Path) -> None:
        self._folder = TemporaryDirectory(prefix="honeyguide-")
        self._files: dict[str, tuple[Path, Ontology]] = {}
        self._lock = Lock()

    def add_upload(self, name: str, content: bytes) -> tuple[str, Ontology]:
        if len(content) > MAX_UPLOAD_BYTES:
            raise ConfigError(f"{name} is larger than {MAX_UPLOAD_BYTES // 1_000_000} MB")
        plain = routes.safe_upload_name(name, "ontology")
        if plain.endswith(".gz"):
            raise ConfigError(f"{plain}: unpack the file first, then upload it")
        key = hashlib.sha256(plain.encode() + b"\0" + content).hexdigest()[:20]
        with self._lock:
            if key not in self._files:
                place = Path(self._folder.name) / key
                place.mkdir(exist_ok=True)
                path = place / plain
                path.write_bytes(content)
                self._files[key] = (path, _read_ontology(path))
                while len(self._files) > _MAX_UPLOADS:
                    old, _ = self._files.pop(next(iter(self._files)))
                    old.unlink(missing_ok=True)
            return key, self._files[key][1]

    def get_ontology(self, key: str) -> Ontology:
        with self._lock:
            if key in OWN_ONTOLOGIES and key not in self._files:
                self._files[key] = (OWN_ONTOLOGIES[key], load_ontology(key))
            return self._find_upload(key)[1]

    def upload_path(self, key: str) -> Path:
        """The uploaded file itself."""
        with self._lock:
            return self._find_upload(key)[0]

    def _find_upload(self, key: str) -> tuple[Path, Ontology]:
        if key not in self._files:
            raise routes.ResourceMissing("this ontology is no longer stored; upload it again")
        return self._files[key]

    def close(self) -> None:
        self._folder.cleanup()


def _read_ontology(path: Path) -> Ontology:
    try:
        return load_ontology(str(path))
    except ConfigError as error:
        # The person knows the file by its name, and not by where we put it.
        message = str(error).replace(str(path), path.name)
        raise ConfigError(message.replace(str(path.parent), "of the upload")) from error


class UploadedFile(Struct, forbid_unknown_fields=True):
    name: Annotated[str, Meta(min_length=1, max_length=200)]
    content: bytes
    """Base64."""


class OntologyUpload(Struct):
    id: str
    concepts: int
    name: str


class ConceptQuery(Struct):
    source: Annotated[str, Meta(max_length=40, description="cell, mammal, or an upload's id")]
    find: Annotated[str, Meta(max_length=100)] = ""
    most: Annotated[int, Meta(ge=1, le=100)] = 20


class ConceptItem(Struct):
    name: str
    id: str
    synonyms: tuple[str, ...]


def upload_ontology(context: routes.RequestContext, body: UploadedFile) -> OntologyUpload:
    """Bring an ontology (OBO, RDF, CSV, JSON, MeSH) to choose a concept from."""
    uploads = context.shared.get(context.root, UploadedOntologies)
    key, ontology = uploads.add_upload(body.name, body.content)
    return OntologyUpload(key, len(ontology), routes.safe_upload_name(body.name, "ontology"))


def list_concepts(context: routes.RequestContext, query: ConceptQuery) -> list[ConceptItem]:
    """Concepts of an ontology whose names are like what was typed."""
    ontology = context.shared.get(context.root, UploadedOntologies).get_ontology(query.source)
    found = matching_concepts(ontology, query.find, query.most)
    return [ConceptItem(match.name, match.id, match.synonyms) for match in found]


# -- The new collection --
#
# It is made in a folder beside its place and moved there whole, so that a mistake leaves no half of
# it behind.


Word = Annotated[str, Meta(max_length=200)]
Code = Annotated[str, Meta(max_length=10)]


class NewTopic(Struct, forbid_unknown_fields=True):
    """What a person says of a new topic."""

    name: Annotated[str, Meta(min_length=1, max_length=100)]
    contact: Annotated[str, Meta(max_length=200)]
    description: Annotated[str, Meta(max_length=5_000)] = ""
    seeds: Annotated[list[Address], Meta(max_length=2_000)] = []
    keywords: Annotated[list[Word], Meta(max_length=500)] = []
    good: Annotated[list[Address], Meta(max_length=500)] = []
    bad: Annotated[list[Address], Meta(max_length=500)] = []
    good_files: Annotated[list[UploadedFile], Meta(max_length=50)] = []
    bad_files: Annotated[list[UploadedFile], Meta(max_length=50)] = []
    good_texts: Annotated[list[str], Meta(max_length=50)] = []
    """Pasted."""
    bad_texts: Annotated[list[str], Meta(max_length=50)] = []
    ontology: Annotated[str, Meta(max_length=40)] = ""
    """cell, mammal, or an upload's id."""
    concept: Word = ""
    language: Annotated[list[Code], Meta(max_length=20)] = []
    words: Code = ""
    strategy: Annotated[str, Meta(max_length=60)] = ""
    pages: Annotated[int, Meta(ge=0, le=100_000_000)] = 1000
    scope: Literal["everything", "domain", "host", "prefix"] = "everything"
    lab: Annotated[str, Meta(max_length=100)] = ""
    search_engine: Annotated[str, Meta(max_length=60)] = ""
    """searxng, brave, json, or a plug-in's name; '': no search engine is asked."""
    search_url: Annotated[str, Meta(max_length=2_000)] = ""
    queries: Annotated[list[Annotated[str, Meta(max_length=400)]], Meta(max_length=200)] = []
    """What it is asked first."""


class TopicCreated(Struct):
    name: str
    notes: list[str]
    """What is worth knowing, though nothing is wrong."""


def create_topic(context: routes.RequestContext, body: NewTopic) -> TopicCreated:
    """Make a collection of a new topic."""
    name = body.name.strip()
    if why := routes.name_problem(name):
        raise routes.FormError("name", f"{name!r} cannot be the name: {why}")
    place = context.root / name
    if place.exists():
        raise routes.FormError("name", f"there is a folder {name!r} already; choose another name")
    _check_new_topic(body)
    with _sibling_folder(context.root) as folder:
        with routes.errors_in_field():
            found = create(folder / name, **_create_arguments(context, body, folder))
        settings = found.settings
        if body.ontology and body.ontology not in OWN_ONTOLOGIES:
            uploads = context.shared.get(context.root, UploadedOntologies)
            _copy_ontology(uploads.upload_path(body.ontology), folder / name)
        try:
            (folder / name).rename(place)
        except OSError as error:
            taken = error.errno in (errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR)
            why = "is there already" if taken else str(error.strerror)
            raise routes.FormError("name", f"{name!r}: {why}") from error
    notes = list(language_hints(settings.topic))
    try:
        allow_engine(settings, place)  # who types an engine's address wants it asked
    except ConfigError as error:
        notes.append(str(error))
    if settings.crawl.strategy == "breadth" and not body.strategy:
        notes.append(
            "The topic does not say yet what is relevant: every page will count, and links are "
            "followed in order. Add keywords, a description, or examples."
        )
    return TopicCreated(name, notes)


def _check_new_topic(body: NewTopic) -> None:
    """What :func:`create` would tell in the words of the command line."""
    try:
        make_user_agent(body.contact.strip(), "0")
    except ConfigError as error:
        raise routes.FormError(
            "contact",
            "the contact does not say how to reach you: write an e-mail address or a web page "
            "(http://…), so that the owner of a site can complain",
        ) from error
    if body.search_engine:
        try:
            check_engine(body.search_engine, body.search_url.strip())
        except ConfigError as error:
            key, _, message = str(error).partition(": ")
            raise routes.FormError(key.replace(".", "_"), message) from error
    if not any(text.strip() for text in (*body.seeds, *body.good)) and not body.search_engine:
        raise routes.FormError(
            "seeds",
            "there are no seeds: write at least one address to begin with, or choose a search "
            "engine",
        )


def _create_arguments(
    context: routes.RequestContext, body: NewTopic, folder: Path
) -> dict[str, Any]:
    lab = bool(body.lab.strip())
    tables: dict[str, Any] = {"scope": {"rule": body.scope}} if body.scope != "everything" else {}
    if lab:
        with routes.errors_in_field("lab"):
            tables["fetch"] = {"lab": lab_address(body.lab)}
        tables["politeness"] = {"loopback_delay_s": 0.0}
    if body.search_engine:
        search = {"engine": body.search_engine, "url": body.search_url.strip()}
        asked = [text.strip() for text in body.queries if text.strip()]
        tables["search"] = {key: value for key, value in search.items() if value} | (
            {"queries": asked} if asked else {}
        )
        if lab:
            tables["search"]["per_minute"] = 0.0  # nobody there is troubled by haste
    ontology = body.ontology
    if ontology and ontology not in OWN_ONTOLOGIES:
        ontology = str(context.shared.get(context.root, UploadedOntologies).upload_path(ontology))
    addresses = ("seeds", "good", "bad")
    return {
        **{key: complete_addresses(key, getattr(body, key), lab) for key in addresses},
        "good_files": _write_examples(folder, "good", body.good_files, body.good_texts),
        "bad_files": _write_examples(folder, "bad", body.bad_files, body.bad_texts),
        "ontology": ontology,
        **{key: getattr(body, key) for key in _COPIED_FIELDS},
        "keyword_language": body.words,
        **tables,
    }


_COPIED_FIELDS = (
    "contact", "description", "keywords", "concept", "language", "strategy", "pages"
)  # fmt: skip


def complete_addresses(field: str, texts: list[str], lab: bool) -> list[str]:
    """As they were typed, made whole."""
    with routes.errors_in_field(field):
        return [str(seed_address(text, lab=lab)) for text in texts if text.strip()]


def _write_examples(
    parent: Path, kind: str, files: list[UploadedFile], texts: list[str]
) -> list[str]:
    """Uploads and pasted texts as files, from where they are copied into the collection."""
    encoded = (text.encode("utf-8", "replace") for text in texts if text.strip())
    pasted = [UploadedFile("pasted.txt", content) for content in encoded]
    folder = parent / kind
    folder.mkdir()
    paths = []
    for number, file in enumerate((*files, *pasted), 1):
        field = f"{kind}_files" if number <= len(files) else f"{kind}_texts"
        if len(file.content) > MAX_UPLOAD_BYTES:
            raise routes.FormError(
                field, f"{file.name} is larger than {MAX_UPLOAD_BYTES // 1_000_000} MB"
            )
        # Each in a folder of its own: two files may have the same name.
        path = folder / str(number) / routes.safe_upload_name(file.name, "example")
        path.parent.mkdir()
        path.write_bytes(file.content)
        try:
            topics.check_example_files([str(path)], field)
        except ConfigError as error:
            # The person knows the file by its name, and not by where we put it.
            what = file.name if number <= len(files) else "the pasted text"
            why = "holds no text that can be read; give HTML, or plain text"
            raise routes.FormError(field, f"{what} {why}") from error
        paths.append(str(path))
    return paths


def _copy_ontology(ontology: Path, folder: Path) -> None:
    """The ontology into the collection, which then names it by its name: it may be moved."""
    (folder / ontology.name).write_bytes(ontology.read_bytes())
    file = folder / "topic.toml"
    path, name = map(topic_file.to_toml, (str(ontology), ontology.name))
    file.write_text(file.read_text("utf-8").replace(path, name), "utf-8")


@contextmanager
def _sibling_folder(root: Path) -> Iterator[Path]:
    """A folder on the same disk that nobody takes for a collection; gone afterwards."""
    try:
        with TemporaryDirectory(prefix=".new-", dir=root) as folder:
            yield Path(folder)
    except OSError as error:
        raise ConfigError(f"nothing can be written in {root}: {error.strerror}") from error


# -- What a new topic can be made from --


class StrategyItem(Struct):
    name: str
    about: str
    learns: bool
    needs: tuple[str, ...]
    """Any one of these must be given."""


class TopicChoices(Struct):
    """What a new topic can be made from."""

    strategies: list[StrategyItem]
    languages: dict[str, str]
    ontologies: list[str]
    contact: str
    """As it stands in the collection that was changed last."""


def topic_choices(context: routes.RequestContext) -> TopicChoices:
    """Strategies, languages and ontologies to choose from."""
    from honeyguide.languages.detection import COMMON_LANGUAGES

    contact = ""
    for folder in routes.find_collections(context.root)[:5]:
        try:
            contact = contact or load_settings(folder / "topic.toml").fetch.contact
        except HoneyguideError:
            continue
    strategies = [
        StrategyItem(one.name, one.about, one.traits.learns, one.traits.needs)
        for one in strategy_choices({})
    ]
    names = {code: language_codes.language_name(code) for code in COMMON_LANGUAGES}
    languages = dict(sorted(names.items(), key=itemgetter(1)))
    return TopicChoices(strategies, languages, list(OWN_ONTOLOGIES), contact)


# -- Editing the topic --


class TopicInfo(Struct):
    """What the collection is after, as its topic.toml says."""

    description: str
    keywords: tuple[str, ...]
    seeds: tuple[str, ...]
    good: tuple[str, ...]
    bad: tuple[str, ...]
    language: tuple[str, ...]
    ontology: str
    concept: str
    topics: tuple[str, ...]
    """The names of further topics."""
    strategy: str
    learns: bool
    pages: int
    contact: str
    keep: str
    """How strict it is; '': a threshold is set."""
    threshold: float
    kept: str
    """What is kept, and how right that is expected to be, in words; '': nothing is known yet."""


def topic_info(context: routes.RequestContext) -> TopicInfo:
    """What it is after, and within which limits."""
    collection = context.open_collection()
    topic, limits = collection.settings.topic, collection.settings.crawl
    return routes.copy_fields(
        TopicInfo,
        topic,
        good=topic.good + topic.good_files,
        bad=topic.bad + topic.bad_files,
        ontology=Path(topic.ontology).name,
        topics=collection.topics[1:],
        strategy=limits.strategy,
        learns=collection.learns,
        pages=limits.pages,
        contact=collection.settings.fetch.contact,
        kept=collection.relevance_cut().summary if context.has_store else "",
    )


class TopicEdit(Struct, forbid_unknown_fields=True):
    """What is to change; what is not given stays as it is."""

    description: Annotated[str, Meta(max_length=5_000)] | None = None
    keywords: Annotated[list[Word], Meta(max_length=500)] | None = None
    seeds: Annotated[list[Address], Meta(max_length=2_000)] | None = None
    pages: Annotated[int, Meta(ge=0, le=100_000_000)] | None = None
    keep: Annotated[str, Meta(max_length=20)] | None = None


def edit_topic(context: routes.RequestContext, body: TopicEdit) -> TopicInfo:
    """Change what the topic is after; it counts from the next start on, but for ``keep``: at once.

    The rest of topic.toml stays as it is, comments included.
    """
    settings = context.open_collection().settings
    values: dict[str, Any] = {}
    if body.description is not None:
        values["description"] = body.description.strip()
    if body.keywords is not None:
        values["keywords"] = [word for each in body.keywords if (word := each.strip())]
    if body.seeds is not None:
        known, lab = settings.topic.seeds, bool(settings.fetch.lab)
        values["seeds"] = [
            whole
            for text in body.seeds
            for whole in ([text] if text in known else complete_addresses("seeds", [text], lab))
        ]
        if not values["seeds"] and not settings.topic.good and not settings.search.engine:
            raise routes.FormError("seeds", "write at least one address to begin with")
    if body.keep is not None and settings.topic.keep:
        values["keep"] = body.keep
    limits = {} if body.pages is None else {"pages": body.pages}
    with routes.errors_in_field():
        topic_edit.change_topic_file(context.collection_folder, {"topic": values, "crawl": limits})
    return topic_info(context)


# -- Advice --


class AdviceItem(Struct):
    kind: str
    sentence: str
    """What hinders the crawl."""
    proposal: str
    """What mends it."""
    acceptable: bool
    """Whether accepting it is enough; else a person must do it."""
    question: bool
    """Yes or no is the answer, page by page: they are labelled good, or bad."""
    pages: list[str]
    """Pages by which a person can decide."""
    titles: list[str]
    command: str
    """``ask``: labels mend it; '': something else."""


class AdviceAnswer(Struct, forbid_unknown_fields=True):
    proposal: Annotated[str, Meta(max_length=2_000)]


def list_advice(context: routes.RequestContext) -> list[AdviceItem]:
    """What hinders the crawl, the most pressing first; mostly nothing."""
    return [
        routes.copy_fields(
            AdviceItem,
            one,
            acceptable=bool(one.changes),
            pages=list(one.pages),
            titles=list(one.titles),
        )
        for one in context.open_collection().advice()
    ]


def accept_advice(context: routes.RequestContext, body: AdviceAnswer) -> TopicInfo:
    """Do what an advice says: its settings are written, and count from the next start on."""
    settings = context.open_collection().settings
    with routes.errors_in_field():
        advice.accept_advice(context.collection_folder, settings, body.proposal)
    return topic_info(context)


ROUTES = (
    routes.Route("GET", "/api/choices", topic_choices),
    routes.Route("GET", "/api/c/{name}/topic", topic_info),
    routes.Route("PUT", "/api/c/{name}/topic", edit_topic, most_bytes=5_000_000),
    routes.Route("GET", "/api/c/{name}/advice", list_advice),
    routes.Route("POST", "/api/c/{name}/advice", accept_advice),
    routes.Route("POST", "/api/collections", create_topic, most_bytes=15_000_000),
    routes.Route("POST", "/api/seeds", try_new_seeds),
    routes.Route("POST", "/api/ontology", upload_ontology, most_bytes=14_000_000),
    routes.Route("GET", "/api/ontology/concepts", list_concepts),
)

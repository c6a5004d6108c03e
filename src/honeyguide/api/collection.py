"""The Python API: a collection on disk, with everything that the command line can do."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, fields, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from honeyguide import language_codes, registry
from honeyguide.api import check_values
from honeyguide.api.long_calls import ProgressOption, async_twin, blocking, show_progress
from honeyguide.api.tables import HarvestTable, ResultTable, to_datetime
from honeyguide.api.user_urls import resolve_url
from honeyguide.config.loading import check_keep, load_settings
from honeyguide.config.settings import Settings, WatchConfiguration
from honeyguide.errors import ConfigError, HoneyguideError, StoreError
from honeyguide.learning import topics as several
from honeyguide.multi_topic import topic_names
from honeyguide.store.labels import TopicSelection
from honeyguide.store.store import Store, open_existing_store
from honeyguide.store.visits import VisitRow
from honeyguide.types import UNREQUESTED, Label

if TYPE_CHECKING:
    from honeyguide.api.advice import Advice
    from honeyguide.api.explain import Explanation
    from honeyguide.api.generations import GenerationComparison, GenerationSummary, LearnOutcome
    from honeyguide.api.labels import LabelOutcome
    from honeyguide.api.report import CollectionReport
    from honeyguide.api.search import ManualSearch, SearchOverview
    from honeyguide.api.teach import TeacherOverview
    from honeyguide.api.watch import WatchList
    from honeyguide.crawl.rescore import RescoreProgress, RescoreResult
    from honeyguide.crawl.status import CollectionStatus, Report
    from honeyguide.learning.label_queries import AnswerGain, LabelQueries, LabelQueryKind
    from honeyguide.learning.relevance_cut import RelevanceCut
    from honeyguide.run_status import RunStatus, StatusObserver
    from honeyguide.search.query_planner import QuerySuggestions
    from honeyguide.store.change_feed import ChangeRow
    from honeyguide.store.export import ExportResult
    from honeyguide.teacher.model_teacher import TeachingReport
    from honeyguide.watch.watcher import WatchProgress

_PAGE_COLUMNS = ("verdict", "relevant", "label", "title", "url")


class Collection:
    """A folder with a topic and what a crawl found for it.

    The folder may be named by its topic.toml, or by its own name from inside it.

    Calls that take long show a bar where somebody looks on (``progress=True`` or ``False``: always
    or never; a function is called with each value, in the thread that works). They work in
    notebooks as well. Each has a twin for programs with an event loop: ``await crawl_async()``.

    Example::

        birds = honeyguide.Collection("birds")
        birds.crawl(pages=500)
        birds.pages().to_pandas()
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = _resolve_folder(Path(folder))
        if not (self.folder / "topic.toml").exists():
            raise StoreError(
                f"there is no collection {str(folder)!r} here; make it with: "
                f"honeyguide new {shlex.quote(str(folder))}"
            )
        self.settings: Settings = load_settings(self.folder / "topic.toml")

    def __repr__(self) -> str:
        return f"Collection({str(self.folder)!r})"

    @property
    def name(self) -> str:
        """The name of its folder."""
        return self.folder.resolve().name

    @property
    def learns(self) -> bool:
        """Whether its strategy learns from labels."""
        return bool(registry.find_strategy(self.settings.crawl.strategy).traits.learns)

    @property
    def topics(self) -> tuple[str, ...]:
        """The names of its topics in their order; none where there is but one."""
        return several.topic_names(self.settings)

    @blocking
    def crawl(
        self,
        *,
        pages: int | None = None,
        hours: float | None = None,
        shards: int | None = None,
        cluster: str | None = None,
        vault: str = "",
        without_lost: bool = False,
        until_coverage: float | None = None,
        min_precision: float | None = None,
        progress: ProgressOption = None,
        announce: Callable[[str], None] = lambda _: None,
        observer: StatusObserver | None = None,
    ) -> Report:
        """Crawl, or go on where the last crawl ended. Ctrl-C stops cleanly.

        ``pages``: until the collection has so many visits, those of earlier crawls included;
        ``hours``: this crawl ends after so many; 0: no limit. ``shards``: in so many processes, as
        many as before if None; ``without_lost``: those whose folders are gone begin anew.
        ``cluster``: the address of a Ray cluster, whose machines share the storage ``vault``. It
        stops when ``until_coverage`` of the topic is found, or fewer than ``min_precision`` of the
        last visits were relevant. ``announce`` is called before something that takes long;
        ``observer`` is another name for a function given as ``progress``.
        """
        from honeyguide.crawl.stopping import override_stop_rules

        rules = override_stop_rules(
            self.settings.stop, coverage=until_coverage, precision=min_precision
        )
        settings = replace(self.limited_settings(pages, hours), stop=rules)
        check_values.check_shards(shards)
        if vault and cluster is None:
            raise ConfigError("--vault is for a crawl on a cluster: add --cluster ADDRESS")

        def describe_status(now: RunStatus) -> tuple[str, float | None]:
            found = f"{now.relevant} relevant (harvest {now.harvest:.0%})"
            most = settings.crawl.pages
            share = min(1.0, now.visits / most) if most else None
            if now.doing:
                return now.doing, share
            return f"{now.visits} visits, {found}, {now.waiting} links waiting", share

        with show_progress(observer or progress, self.name, describe_status) as show:
            if cluster is not None:
                from honeyguide.cluster.ray_backend import crawl_on_cluster
                from honeyguide.cluster.remote_state import ClusterLocation

                place = ClusterLocation(cluster, vault)
                return crawl_on_cluster(self.folder, settings, place, shards, show, announce)
            if shards != 1 and (shards is not None or self.shards > 1):
                from honeyguide.cluster.sharded_crawl import crawl_in_processes

                check_values.check_processes(shards)
                return crawl_in_processes(
                    self.folder, settings, shards, show, announce, without_lost=without_lost
                )
            if self.shards > 1:
                from honeyguide.cluster.sharded_crawl import unite_shards

                unite_shards(self.folder, settings, announce, without_lost=without_lost)
            from honeyguide.crawl.run import run_crawl
            from honeyguide.crawl.signals import run_in_loop

            return run_in_loop(run_crawl(self.folder, settings, show))

    crawl_async = async_twin(crawl)

    @blocking
    def watch(
        self,
        *,
        once: bool = False,
        hours: float = 0.0,
        configuration: WatchConfiguration | None = None,
        threads: Sequence[int] = (),
        progress: ProgressOption = None,
    ) -> WatchProgress:
        """Come back to the watched pages, keep every version, and tell what changed.

        ``once``: visit every page once, then end; ``hours``: end after so many. Ctrl-C stops
        cleanly. Relevant pages of a crawl enter by themselves; see :attr:`watch_list`.
        ``configuration`` and its ``threads`` are those of Meegahapola et al.; the result tells
        the time per page.
        """
        from honeyguide.api.watch import watch_with_progress

        hours = check_values.check_hours(hours)
        if not self.watch_list.count_watched() and not self.status(hosts=0).relevant:
            raise ConfigError(
                f"{self.name}: nothing is watched yet. Relevant pages of a crawl are added by "
                "themselves: crawl() first, or add pages with watch_list.add(URL)"
            )
        return watch_with_progress(
            self.folder,
            self.settings,
            progress,
            once=once,
            hours=hours,
            configuration=configuration,
            threads=threads,
        )

    watch_async = async_twin(watch)

    @property
    def watch_list(self) -> WatchList:
        """The pages that a watch comes back to: look at them, add, pause, remove, weigh them."""
        from honeyguide.api.watch import WatchList

        return WatchList(self.folder, self.settings)

    def changes(
        self,
        *,
        since: str | float | datetime | None = None,
        kinds: Iterable[str] = (),
        least: float = 0.0,
        host: str = "",
        words: Sequence[str] = (),
        limit: int | None = None,
    ) -> ResultTable[ChangeRow]:
        """What changed on the watched pages, newest first.

        ``since``: a moment, or a span such as "2d"; ``kinds``: such as "content" or "gone";
        ``least``: of this significance, 0 to 1; ``words`` all came or went.
        """
        from honeyguide.api.watch import list_changes

        return list_changes(self.folder, since, kinds, least, host, words, limit)

    @blocking
    def search(self, *queries: str, pages: int = 1, by: str = "user") -> ManualSearch:
        """Ask the search engine now, as many ``pages`` of results; the next crawl fetches them.

        While a crawl runs, the queries are left to it.
        """
        from honeyguide.api.search import run_queries

        return run_queries(self.folder, self.settings, queries, pages, by=by)

    search_async = async_twin(search)

    def suggest_queries(self, count: int = 10) -> QuerySuggestions:
        """Queries worth asking, made from the good and the bad pages that are known so far."""
        from honeyguide.search.query_planner import suggest_queries

        return suggest_queries(self.folder, self.settings, count)

    def queries(self) -> SearchOverview:
        """What the search engine was asked so far, what it brought and what it cost."""
        from honeyguide.api.search import search_overview

        return search_overview(self.folder, self.settings)

    @blocking
    def learn(self, *, progress: ProgressOption = None) -> LearnOutcome:
        """Learn now from the labels that wait; a crawl that runs does so by itself.

        The new generation is tried on labels that were held back, as in a crawl. It ranks the
        links of the next crawl; :meth:`judge` has it judge the pages that are here, and
        :meth:`export` does so first.
        """
        from honeyguide.api.generations import learn_generation
        from honeyguide.crawl.signals import run_in_loop

        with show_progress(progress, self.name, lambda step: (step, None)) as show:
            return run_in_loop(learn_generation(self.folder, self.settings, show))

    learn_async = async_twin(learn)

    @blocking
    def teach(self, count: int = 20, *, progress: ProgressOption = None) -> TeachingReport:
        """Have the language model of ``[teacher]`` judge the pages whose labels would help most."""
        from honeyguide.api.teach import teach_with_model

        def describe_count(step: tuple[int, int]) -> tuple[str, float | None]:
            return f"asking the model: {step[0]} of {step[1]} pages", step[0] / max(1, step[1])

        with show_progress(progress, self.name, describe_count) as show:
            return teach_with_model(
                self.folder, self.settings, count, lambda done, of: show((done, of))
            )

    teach_async = async_twin(teach)

    def teacher_overview(self) -> TeacherOverview | None:
        """What language models were asked so far; None: none was, and none is set."""
        from honeyguide.teacher.model_teacher import JOURNAL_NAME

        if not self.settings.teacher.url and not (self.folder / JOURNAL_NAME).exists():
            return None
        from honeyguide.api.teach import teacher_overview

        return teacher_overview(self.folder, self.settings)

    def learn_waiting(
        self, announce: Callable[[str], None] = lambda _: None
    ) -> LearnOutcome | None:
        """:meth:`learn` if labels wait, else None. If it cannot learn now, ``announce`` is told why
        and nothing is raised."""
        from honeyguide.crawl.live_generation import count_labels
        from honeyguide.learning.unlearned import find_unlearned

        with open_existing_store(self.folder, "read") as store:
            waiting = find_unlearned(store, self.settings).waiting
        if not waiting:
            return None
        announce(f"learning from {count_labels(waiting)} …")
        try:
            outcome = self.learn(progress=False)
        except HoneyguideError as error:
            announce(f"not learned, so verdicts are without {count_labels(waiting)}: {error}")
            return None
        announce(str(outcome))
        return outcome

    def limited_settings(self, pages: int | None, hours: float | None) -> Settings:
        """Its settings, with other limits for one run."""
        limits = check_values.override_limits(self.settings.crawl, pages, hours)
        return replace(self.settings, crawl=limits)

    @property
    def shards(self) -> int:
        """In how many processes it was crawled last; 1 if it was not crawled yet."""
        if not (self.folder / "collection.db").exists():
            return 1
        with open_existing_store(self.folder, "write") as store:
            return store.shard_count

    def status(self, *, hosts: int = 10) -> CollectionStatus:
        """How it stands; also while it is being crawled."""
        from honeyguide.crawl import status as standing

        with self._open_settled() as store:
            found = standing.collection_status(store, self.settings, hosts)
            if not self.topics:
                return found
            return replace(found, topics=several.relevant_per_topic(store, self.settings))

    def report(self, *, span_s: float = 0.0, every: int = 0) -> CollectionReport:
        """What it brought in over time and how right that is, to show to others.

        ``span_s``: the length of a span of time; ``every``: one result in so many is offered for
        judging; 0: as fits. Also while it is being crawled.

        Example::

            birds.report().save("birds.html")
        """
        from honeyguide.api.report import make_report

        every = check_values.check_count("every", every, "one result in so many, or 0")
        self._open_settled().close()
        return make_report(self.folder, self.settings, span_s=float(span_s), every=every)

    def keep(self, wish: str | float) -> None:
        """Turn the dial ``topic.keep``: "strict", "balanced", "generous", or a precision such as
        0.9. It counts at once, in a crawl that runs within a second."""
        if not self.settings.topic.keep:
            raise ConfigError(
                "topic.threshold in topic.toml fixes which pages are kept; remove it to choose by "
                "topic.keep"
            )
        check_keep(str(wish), "keep")
        from honeyguide.api.topic_edit import change_topic_file
        from honeyguide.crawl.rescore import settle_changed_cut

        self.settings = change_topic_file(self.folder, {"topic": {"keep": wish}})
        settle_changed_cut(self.folder, self.settings)

    def relevance_cut(self, wish: str | float = "") -> RelevanceCut:
        """Which verdicts are kept, and how many of these pages are expected to be right; or what
        another wish than ``topic.keep`` would keep."""
        from honeyguide.learning.relevance_cut import read_cut

        if wish:
            check_keep(str(wish), "keep")
        with self._open_settled() as store:
            return read_cut(store, str(wish))

    def _open_settled(self) -> Store:
        """The store to be read, once the dial's last change is in force."""
        from honeyguide.crawl.rescore import settle_changed_cut

        settle_changed_cut(self.folder, self.settings)
        return open_existing_store(self.folder, "read")

    def _selected_topics(self, threshold: float, only: str = "") -> TopicSelection | None:
        return TopicSelection(self.topics, threshold, only) if self.topics else None

    def pages(self, *, relevant: bool | None = True, text: bool = False) -> ResultTable[VisitRow]:
        """The pages found, oldest first; ``text``: frames of them have the pages' texts, too.

        The columns of a frame are those of an export.
        """
        from honeyguide.api.explain import word_rows
        from honeyguide.store.export import EXPORT_COLUMNS, export_rows

        def read_rows() -> Iterator[VisitRow]:
            with self._open_settled() as store:
                yield from store.visits.iter_visits(relevant=relevant, page=True)

        def read_records() -> Iterator[dict[str, Any]]:
            with self._open_settled() as store:
                rows = store.visits.iter_visits(relevant=relevant, page=True)
                topics = self._selected_topics(store.threshold)
                rows = map(word_rows(store, self.settings), rows)
                for row in export_rows(store, rows, text=text, topics=topics):
                    yield row | {"at": datetime.fromisoformat(row["at"]) if row["at"] else None}

        kind = {True: "relevant pages", False: "pages that are not relevant", None: "pages"}
        title = f"{self.name}: {kind[relevant]}"
        return ResultTable(title, read_rows, read_records, EXPORT_COLUMNS, _PAGE_COLUMNS)

    def harvest(self) -> HarvestTable:
        """How many relevant pages were found after so many visits."""
        points: list[tuple[int, int]] = []
        relevant = 0
        with open_existing_store(self.folder, "read") as store:
            for row in store.visits.iter_visits():
                if row.status is not None or row.failure not in UNREQUESTED:
                    relevant += bool(row.relevant)
                    points.append((len(points) + 1, relevant))
        return HarvestTable(self.name, points)

    def plot_harvest(self, to: str | Path | None = None, *, ax: Any = None) -> Any:
        """Draw :meth:`harvest` with matplotlib; the axes. With ``to``: as SVG into that file,
        which needs no library; its path."""
        curve = self.harvest()
        return curve.plot(ax) if to is None else curve.save_svg(Path(to))

    def text(self, row: VisitRow) -> str:
        with open_existing_store(self.folder, "read") as store:
            return store.visits.page_text(row.id)[1]

    def explain(self, url: str) -> Explanation:
        """Why an address was fetched, or why not."""
        with open_existing_store(self.folder, "read") as store:
            meant = resolve_url(store, url, waiting=True)
        from honeyguide.api import explain as explaining

        return explaining.explain_url(self.folder, self.settings, meant, time.time())

    def label(
        self, url: str, value: float, *, by: str = "user", topic: str | None = ""
    ) -> LabelOutcome:
        """A person's judgement of a page, from 0 (not what I want) to 1; also while it crawls."""
        return self.label_all([(url, value)], by=by, topic=topic)

    def label_all(
        self, judged: Iterable[tuple[str, float]], *, by: str = "user", topic: str | None = ""
    ) -> LabelOutcome:
        """Several judgements, all kept or none. Of several topics, they are about the one that is
        named; '': the first; None: each about the one that its page was judged best for."""
        from honeyguide.api import labels as labels_

        return labels_.add_labels(self.folder, self.settings, judged, by, topic)

    def ask(
        self, count: int = 5, *, by: str = "", choice: LabelQueryKind = "mixed"
    ) -> LabelQueries:
        """Pages whose labels would help most, or of the kind that is chosen; not those that this
        person would not judge before."""
        from honeyguide.learning import label_queries

        check_values.check_choice("choice", choice, label_queries.LabelQueryKind)
        count = check_values.check_count("count", count, "a number of pages")
        with open_existing_store(self.folder, "read") as store:
            scope = label_queries.LabelQueryScope(by, choice)
            return label_queries.ask_for_labels(store, self.folder, self.settings, count, scope)

    def answer_gain(self, newest: int = 20) -> AnswerGain | None:
        """What so many of the newest labels brought: pages that came in and that went out."""
        from honeyguide.learning import label_queries

        with open_existing_store(self.folder, "read") as store:
            return label_queries.answer_gain(store, newest)

    def advice(self, *, saved: bool = False) -> list[Advice]:
        """What hinders the crawl and what mends it, the most pressing first; mostly nothing.
        ``saved``: what was found last will do, if the topic has not changed."""
        from honeyguide.api import advice as advice_

        return advice_.find_advice(self.folder, self.settings, saved=saved)

    def accept_advice(self, advice: Advice, *, wanted: bool | Sequence[bool] = True) -> None:
        """Write into topic.toml what this advice changes; it counts from the next crawl on. Where
        it is a question, its pages, all or one by one, are labelled as ``wanted`` or not, which
        counts at once; the file is changed if most are wanted."""
        from honeyguide.api import advice as advice_

        each = [wanted] * len(advice.pages) if isinstance(wanted, bool) else wanted
        if not advice.question or (advice.changes and 2 * sum(each) > len(advice.pages)):
            written = load_settings(self.folder / "topic.toml")
            advice_.accept_advice(self.folder, written, advice.proposal)
            self.settings = load_settings(self.folder / "topic.toml")
        if advice.question:
            self.label_all(zip(advice.pages, map(float, each), strict=False))

    @overload
    def labels(self) -> ResultTable[Label]: ...
    @overload
    def labels(self, url: str) -> dict[str, Label]: ...
    def labels(self, url: str | None = None) -> ResultTable[Label] | dict[str, Label]:
        """All labels that count; or the newest label of a page for each topic, by its name; with
        one topic, under ''."""
        if url is None:
            read = self._read_labels
            records = lambda: (asdict(one) | {"at": to_datetime(one.at)} for one in read())  # noqa: E731
            shown = ("value", "by", "at", "url")
            columns = [field.name for field in fields(Label)]
            return ResultTable(f"{self.name}: labels", read, records, columns, shown)
        with open_existing_store(self.folder, "read") as store:
            said = store.labels.labels_by_topic(resolve_url(store, url))
        first = self.topics[0] if self.topics else ""
        return {label.topic or first: label for label in said.values()}

    def _read_labels(self) -> list[Label]:
        with open_existing_store(self.folder, "read") as store:
            return [label for _, label in store.labels.effective_after()]

    def generations(self) -> list[GenerationSummary]:
        """What the strategy learned, generation by generation."""
        from honeyguide.api import generations as generations_

        with open_existing_store(self.folder, "read") as store:
            return generations_.list_generations(store)

    def compare(self, one: int, other: int) -> GenerationComparison:
        """Two generations on the same pages."""
        from honeyguide.api import generations as generations_

        with open_existing_store(self.folder, "read") as store:
            return generations_.compare_generations(store, one, other)

    def judge(
        self,
        told: RescoreProgress | None = None,
        *,
        progress: ProgressOption = None,
        as_is: bool = False,
        announce: Callable[[str], None] = lambda _: None,
    ) -> RescoreResult:
        """Learn from labels that wait, then judge all pages anew by the generation that decides.

        ``as_is``: without learning; ``announce`` is told what was learned. ``told`` is called
        with the pages done, and of how many; ``progress`` with both in one.
        """
        from honeyguide.crawl import rescore

        def describe_status(done: tuple[int, int]) -> tuple[str, float | None]:
            return f"{done[0]} of {done[1]} pages judged", done[0] / max(1, done[1])

        if not as_is:
            self.learn_waiting(announce)
        show_ = progress if told is None else (lambda done: told(*done))
        with show_progress(show_, self.name, describe_status, interruptible=True) as show:
            return rescore.rescore_pages(
                self.folder, self.settings, lambda done, of: show((done, of))
            )

    judge_async = async_twin(judge)

    def use(self, generation: int) -> None:
        """Go back, or forward, to a generation; also while it crawls."""
        from honeyguide.api import generations as generations_

        with open_existing_store(self.folder, "write") as store:
            if generation in {known.number for known in store.generations.list_all()}:
                found = store.generations.load(generation, registry.find_strategy)
                if topic_names(found) != self.topics:
                    raise ConfigError(
                        f"generation {generation} was trained for other topics than "
                        "those in topic.toml"
                    )
            generations_.use_generation(store, generation, self.settings.crawl.strategy)

    def export(
        self,
        to: str | Path,
        *,
        format: str = "",
        everything: bool = False,
        text: bool = True,
        progress: ProgressOption = None,
        topic: str = "",
        language: str = "",
        as_is: bool = False,
        announce: Callable[[str], None] = lambda _: None,
        keep: str | float = "",
    ) -> ExportResult:
        """Write the relevant pages, or every visit, to a file; its ending says the format.

        Labels that wait are learned first, and all pages judged again if labels were learned since
        they were judged; ``as_is``: not so. ``announce`` is told what is done.

        ``topic``: only pages that are relevant for this one, of several. ``language``: only pages
        in this one, or in ``all``; also where it is not among ``topic.language``. ``keep``: as
        strict as this, instead of ``topic.keep``.
        """
        from honeyguide.api.explain import word_rows
        from honeyguide.store.export import export_collection

        several.resolve_topic(self.settings, topic)
        if language and language != "all":
            language_codes.check_language_code(language, "language")
        if not as_is:
            self._update_verdicts(announce)
        cut = self.relevance_cut(keep).threshold if keep else None
        with (
            self._open_settled() as store,
            show_progress(
                progress, self.name, lambda rows: (f"{rows} rows", None), interruptible=True
            ) as show,
        ):
            return export_collection(
                store,
                Path(to),
                format,
                everything=everything,
                text=text,
                progress=show,
                topics=self._selected_topics(cut or store.threshold, topic),
                language=language,
                cut=cut,
                reword=word_rows(store, self.settings),
            )

    export_async = async_twin(export)

    def _update_verdicts(self, announce: Callable[[str], None]) -> None:
        """Learn what waits, and judge all pages again if they were judged without it."""
        from honeyguide.crawl.live_generation import OUTDATED_KEY

        self.learn_waiting(announce)
        with open_existing_store(self.folder, "read") as store:
            outdated, pages = store.get_meta(OUTDATED_KEY), store.counter.read_counts().pages
        if outdated:
            announce(f"judging {pages} pages again by what the labels taught …")
            try:
                self.judge(as_is=True, progress=False)
            except HoneyguideError as error:
                announce(f"some verdicts are of a time before the newest labels: {error}")


def _resolve_folder(folder: Path) -> Path:
    if folder.name == "topic.toml":
        folder = folder.parent
    if not folder.exists() and Path("topic.toml").is_file() and Path.cwd().name == str(folder):
        return Path()
    return folder

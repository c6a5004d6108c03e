"""Which generation of the strategy decides: chosen on opening, saved and swapped while crawling.

A new generation is always saved. It decides if the validation gate passed it and nobody chose
another one meanwhile.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, fields
from typing import Any, Protocol, cast

from honeyguide import registry
from honeyguide.config.settings import Settings
from honeyguide.errors import ModelError
from honeyguide.learning.generation_builder import LearningResult
from honeyguide.multi_topic import MultiTopicStrategy, topic_names
from honeyguide.protocols import Strategy
from honeyguide.store.generations import forget_lessons
from honeyguide.store.row_checks import parse_decimal
from honeyguide.store.store import Store
from honeyguide.types import Url, Visit

OUTDATED_KEY = "outdated"
"""Set while stored verdicts are of a time before the newest labels were learned."""
_CANCEL_POLL_S = 0.25
_LABELS_KEPT = "Labels are kept, and the crawl trains on all of them again"


def choose_generation(
    store: Store, settings: Settings, made: Strategy, now: float
) -> tuple[Strategy, int, bool, str]:
    """The live generation, unless the topic changed since: then what was made is the next.

    (strategy, its number, whether it is new, a warning.) A generation that cannot be read any
    more is replaced by the newest before it that can, if the topic asked for the same then.
    """
    name = settings.crawl.strategy
    wish, before = _wish_json(name, made), store.get_meta("strategy") or ""
    warning = ""
    if store.generations.live_number() is not None and _is_same_wish(before, name, made):
        found, number, warning = load_readable_generation(
            store,
            topic_names(made),
            name,
            lambda one: _is_same_wish(_wish_json(name, one), name, made),
        )
        if found is not None:
            if number != store.generations.live_number():
                fall_back_to_generation(store, number)
            if before != wish:
                store.set_meta("strategy", wish)  # with parameters that are new in this version
            return found, number, False, warning
    number = store.generations.next_number()
    with store.transaction():
        store.generations.save(number, name, made, "from topic.toml", now)
        store.set_meta("strategy", wish)
        forget_lessons(store)
        store.set_meta("known", "")
    if warning:
        warning = f"{warning}; generation {number}, made from topic.toml, is active. {_LABELS_KEPT}"
    return made, number, True, warning


def load_readable_generation(
    store: Store,
    topics: tuple[str, ...],
    strategy: str = "",
    fits: Callable[[Strategy], bool] = lambda _: True,
) -> tuple[Strategy | None, int, str]:
    """The live generation, or the newest before it that can be read, is one of this strategy (or
    the live one's own), knows these topics and ``fits``; its number, and a warning if the live one
    is damaged. None: there is none.
    """
    damaged, live = "", store.generations.live_number()
    known = {generation.number: generation.name for generation in store.generations.list_all()}
    strategy = strategy or known.get(live or 0, "")
    for number in sorted((n for n in known if live is not None and n <= live), reverse=True):
        if known[number] != strategy:
            continue
        try:
            found: Strategy = store.generations.load(number, registry.find_strategy)
        except ModelError as error:
            damaged = damaged or f"generation {number} could not be read: {error}"
            continue
        if topic_names(found) == topics and (number == live or fits(found)):
            warning = f"{damaged}; generation {number} is active. {_LABELS_KEPT}" if damaged else ""
            return found, number, warning
    return None, 0, damaged


def fall_back_to_generation(store: Store, number: int) -> None:
    """Make this generation live instead of one that cannot be read. It learns from all labels
    again, and the gate does not count them as new."""
    with store.transaction():
        store.generations.set_live(number)
        store.set_meta("known", store.get_meta("taught") or store.get_meta("known") or "")
        forget_lessons(store)


def _wish_json(name: str, made: Strategy) -> str:
    """The parameters that the topic asks for, as JSON."""
    wish = _plain_parameters(made)
    if isinstance(made, MultiTopicStrategy):
        wish = {"names": made.names, "parts": [_plain_parameters(part) for part in made.parts]}
    return json.dumps([name, wish], sort_keys=True, default=asdict)


def _is_same_wish(stored: str, name: str, made: Strategy) -> bool:
    """Whether the topic asked for the same when this was stored, perhaps by an older version."""
    try:
        before = json.loads(stored)
    except (ValueError, RecursionError):
        return False
    match before:
        case [str(same), {"names": list(names), "parts": list(parts)}] if (
            same == name and isinstance(made, MultiTopicStrategy) and names == list(made.names)
        ):
            pairs = zip(parts, made.parts, strict=False)
            return len(parts) == len(names) and all(
                _parameters_match(wish, part) for wish, part in pairs
            )
        case [str(same), dict(wish)] if same == name and not isinstance(made, MultiTopicStrategy):
            return "parts" not in wish and _parameters_match(wish, made)
    return False


def _parameters_match(wish: Any, made: Strategy) -> bool:
    """Whether the stored parameters are those of the strategy now. A new parameter had its default;
    removed parameters and those that learning fills do not count."""
    now = _plain_parameters(made)
    if not (isinstance(wish, dict) and wish.keys() & now.keys()):
        return False
    if halves := _strategy_halves(made):
        return wish.keys() == halves.keys() and all(
            _parameters_match(wish[key], half) for key, half in halves.items()
        )
    defaults = {f.name: f.default for f in fields(cast("Any", made))}
    spoken = json.loads(json.dumps(now, default=asdict))
    return all(
        wish[key] == spoken[key] if key in wish else value == defaults[key]
        for key, value in now.items()
        if key not in made.traits.learned_fields
    )


def _strategy_halves(strategy: Strategy) -> dict[str, Strategy]:
    """The strategies that it is made of, by field; empty: it is not made of any."""
    parts = ((f.name, getattr(strategy, f.name)) for f in fields(cast("Any", strategy)))
    return {key: part for key, part in parts if hasattr(part, "traits")}


def _plain_parameters(strategy: Strategy) -> dict[str, Any]:
    if halves := _strategy_halves(strategy):
        return {key: _plain_parameters(half) for key, half in halves.items()}
    return {
        f.name: value
        for f in fields(cast("Any", strategy))
        if isinstance(value := getattr(strategy, f.name), str | int | float | bool | tuple)
    }


class GenerationSource(Protocol):
    """Where the generations of a crawl loop come from: its own training, or that of all shards."""

    learns: bool
    taught: int
    """The newest label that was learned from."""

    @property
    def warnings(self) -> tuple[str, ...]: ...

    def record_visit(self, visit: Visit) -> None: ...

    def poll_labels(self) -> list[Url]: ...

    def labels_of(self, urls: Iterable[Url]) -> dict[Url, float]: ...

    def take_new_labels(self) -> dict[Url, float]: ...

    def chosen_generation(self, present: int) -> tuple[Strategy, int] | None: ...

    def stop_waiting(self) -> None: ...

    @property
    def waiting(self) -> int:
        """Labels and examples that no training had so far."""

    def is_due(self, *, at_once: bool = False) -> bool:
        """Whether to learn now; ``at_once``: whatever else, if labels wait."""

    def requeue_labels(self) -> None:
        """What came of the newest training was dropped: its labels wait again."""

    async def learn(self, strategy: Strategy) -> LearningResult: ...

    async def aclose(self) -> None: ...


@dataclass
class GenerationUpdater:
    """Runs training in the background, one run after another, and swaps in the result."""

    store: Store
    settings: Settings
    training: GenerationSource
    clock: Callable[[], float]
    get_current: Callable[[], tuple[Strategy, int] | None]
    """The strategy that decides now, and its number; None: an error occurred, save nothing."""
    on_swap: Callable[[Strategy, int], None]
    """Called with a new generation that decides from now on."""
    on_failure: Callable[[BaseException], None]
    commit: Callable[[], None] = lambda: None
    """Writes the visits that a training run may have had, before what came of it is saved."""
    doing: str = ""
    """What somebody waits for now, in words; '': nobody waits."""
    _running: asyncio.Task[LearningResult] | None = None
    """The training run that is under way."""
    _labels: int = 0
    """How many labels it was given."""
    _dropped: bool = False
    _parent: int = 0
    """The generation that the training run started from."""

    def start_if_due(self, *, at_once: bool = False) -> None:
        """Start a training run if one is due; ``at_once``: if labels wait."""
        if (
            self._running is None
            and not self._dropped
            and self.training.is_due(at_once=at_once)
            and (now := self.get_current())
        ):
            strategy, self._parent = now
            self._labels = self.training.waiting
            self._running = asyncio.create_task(self.training.learn(strategy))
            self._running.add_done_callback(self._take_result)

    async def learn_first(self, is_cancelled: Callable[[], bool]) -> None:
        """Before the first verdict of a run: learn from the labels that wait."""
        self.start_if_due(at_once=True)
        if (run := self._running) is not None and self._labels:
            self.doing = f"learning from {count_labels(self._labels)} first …"
            while not (run.done() or is_cancelled()):
                await asyncio.wait((run,), timeout=_CANCEL_POLL_S)
            self.doing = ""

    async def finish_training(self) -> None:
        """At the end of a run: await the training run that is under way, and one more if labels
        wait by then; :meth:`drop_training` ends it."""
        for _ in range(2):
            self.start_if_due(at_once=True)
            if self._running is None:
                break
            what = f" from {count_labels(self._labels)}" if self._labels else ""
            self.doing = f"learning{what} … (Ctrl-C drops it)"
            await asyncio.wait((self._running,))
        self.doing = ""

    def drop_training(self) -> bool:
        """Cancel the training run that is under way, and start no other; whether there was one."""
        self._dropped = True
        return self._running is not None and self._running.cancel()

    async def aclose(self) -> None:
        if self._running is not None:
            self._running.cancel()
            await asyncio.gather(self._running, return_exceptions=True)

    def _take_result(self, task: asyncio.Task[LearningResult]) -> None:
        """A new generation is swapped in whole, unless the gate held it back."""
        self._running = None
        if not task.cancelled():
            self.commit()
        now = self.get_current()
        if task.cancelled() or now is None:
            return
        try:
            result = task.result()
            if now[1] != self._parent:  # somebody chose another generation meanwhile
                self.training.requeue_labels()
                return
            number = save_new_generation(
                self.store, self.settings, result, self._parent, self.clock()
            )
            if number is not None and result.strategy is not None:
                self.on_swap(result.strategy, number)
        except Exception as error:  # noqa: BLE001 - it ends the run and is raised there
            self.on_failure(error)


def count_labels(number: int) -> str:
    return "1 label" if number == 1 else f"{number} labels"


def save_new_generation(
    store: Store, settings: Settings, result: LearningResult, parent: int, now: float
) -> int | None:
    """Save it, and what it learned from; returns its number if it decides from now on, else None.

    ``parent``: the generation it was trained from.
    """
    if store.generations.live_number() != parent or result.mark is None:
        return None
    name, number = settings.crawl.strategy, store.generations.next_number()
    decides = result.strategy is not None and result.live
    with store.transaction():
        result.mark.write_to(store)
        if result.strategy is not None:
            store.generations.save(number, name, result.strategy, result.note, now, live=decides)
        if decides:
            if result.mark.label > (parse_decimal(store.get_meta("taught") or "") or 0):
                store.set_meta(OUTDATED_KEY, "1")
            store.set_meta("taught", str(result.mark.label))
    return number if decides else None

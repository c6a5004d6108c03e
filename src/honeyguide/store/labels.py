"""Labels by people, and what counts of a page when several people labelled it.

Beside the labels are the passes: pages of which a person who was asked would not say.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple, cast, get_args

from honeyguide.errors import StoreError
from honeyguide.store import row_checks
from honeyguide.store.codec import replace_surrogates
from honeyguide.store.database import Database, SqlRow, url_key
from honeyguide.types import MODEL_LABELLER, Label, Url

if TYPE_CHECKING:
    from honeyguide.store.visits import VisitRow, VisitTable

PassReason = Literal["unsure", "skip"]
"""A person looked and cannot say, or did not want to look."""

_LABEL_COLUMNS = "url, value, by, at, topic"
_IN_FORCE, _REPLACED, _TAKEN_BACK = 0, 1, 2
_SAME_LABEL = "fingerprint = ? AND url = ? AND by = ? AND topic = ?"
_NEXT_ID = "(SELECT max(id) + 1 FROM labels)"
_PASS_REASONS = frozenset(get_args(PassReason))


class UndoneLabel(NamedTuple):
    """What was taken back, and what the person says of the page now."""

    was: Label | PassReason
    now: Label | None


class LabelTable:
    """Owns ``labels`` and ``passes``. Labels of topics that the collection does not follow any
    more are left out, except of single pages."""

    def __init__(self, db: Database, visits: VisitTable) -> None:
        self._db = db
        self._visits = visits

    def add(self, labels: Iterable[Label]) -> None:
        with self._db.join_transaction():
            for label in labels:
                if not 0 <= label.value <= 1:
                    raise StoreError(f"a label lies between 0 and 1, not {label.value}")
                hers = (*url_key(label.url), replace_surrogates(label.by), label.topic)
                self._db.execute(
                    f"UPDATE labels SET replaced = 1 WHERE {_SAME_LABEL} AND NOT replaced",  # noqa: S608
                    hers,
                )
                self._db.execute(f"DELETE FROM passes WHERE {_SAME_LABEL}", hers)  # noqa: S608
                self._db.execute(
                    "INSERT INTO labels(fingerprint, url, by, topic, value, at) "
                    "VALUES(?, ?, ?, ?, ?, ?)",
                    (*hers, label.value, label.at),
                )

    def pass_over(self, url: Url, by: str, word: PassReason, at: float, topic: str = "") -> None:
        """This person was asked and gave no label; what they said of it before stays."""
        row = (*url_key(url), replace_surrogates(by), topic, word, at)
        self._db.insert_rows("passes", [row], replace=True)

    def list_passes(self, by: str | None = None) -> list[tuple[Url, str, PassReason]]:
        """(address, person, word) of the pages that were passed over, by one or by anybody."""
        rows = self._db.fetch_all(
            "SELECT url, by, word FROM passes WHERE ?1 IS NULL OR by = ?1",
            (None if by is None else replace_surrogates(by),),
        )
        return [
            (url, row_checks.text_or_empty(who), cast("PassReason", word))
            for url, who, word in rows
            if row_checks.is_http_url(url) and word in _PASS_REASONS
        ]

    def undo_last(self, url: Url, by: str, topic: str = "") -> UndoneLabel | None:
        """Take back this person's last word on a page; what they said before it is in force again.
        None: they said nothing.

        What is taken back or restored gets a new number, by which a crawl that runs hears of it.
        """
        hers = (*url_key(url), replace_surrogates(by), topic)
        with self._db.join_transaction():
            label = self._person_label(hers, _IN_FORCE)
            passed = self._db.fetch_one(f"SELECT word FROM passes WHERE {_SAME_LABEL}", hers)  # noqa: S608
            if passed is not None:
                self._db.execute(f"DELETE FROM passes WHERE {_SAME_LABEL}", hers)  # noqa: S608
                word = passed[0] if passed[0] in _PASS_REASONS else "skip"
                return UndoneLabel(cast("PassReason", word), label and label[1])
            if label is None:
                return None
            self._change_state(label[0], _TAKEN_BACK)
            earlier = self._person_label(hers, _REPLACED)
            if earlier is not None:
                self._change_state(earlier[0], _IN_FORCE)
        return UndoneLabel(label[1], earlier and earlier[1])

    def take_back_all(self, by: str) -> list[Url]:
        """Take back every label by this name, and what it passed over; the pages of the labels."""
        name = replace_surrogates(by)
        with self._db.join_transaction():
            rows = self._db.fetch_all(
                "SELECT id, url FROM labels WHERE by = ? AND replaced = 0 ORDER BY id", (name,)
            )
            for number, _ in rows:
                self._change_state(number, _TAKEN_BACK)
            self._db.execute("DELETE FROM passes WHERE by = ?", (name,))
        return [url for _, url in rows if row_checks.is_http_url(url)]

    def effective_after(self, number: int = 0) -> list[tuple[int, Label]]:
        """What counts of each page and topic of which something was said after that number. A
        changed mind has a new number."""
        rows = self._db.fetch_all(
            f"SELECT id, replaced, {_LABEL_COLUMNS} FROM labels WHERE replaced != 1 AND "  # noqa: S608
            "fingerprint IN (SELECT fingerprint FROM labels WHERE id > ? AND replaced != 1) "
            "ORDER BY id",
            (number,),
        )
        pages: dict[tuple[Url, str], list[Label]] = {}
        newest: dict[tuple[Url, str], int] = {}
        for row in rows:
            if (label := self._followed_label(row[2:])) is not None:
                key = label.url, label.topic
                newest[key] = row[0]
                words = pages.setdefault(key, [])
                if not row[1]:
                    words.append(label)
        found = [(newest[key], majority_label(words)) for key, words in pages.items() if words]
        return sorted((one for one in found if one[0] > number), key=lambda one: one[0])

    def labelled_verdicts(self, most: int = 1_000) -> list[tuple[float, bool]]:
        """Verdicts on pages that people labelled, and whether they called them relevant; newest
        labels."""
        rows = self._db.fetch_all(
            "SELECT verdict, value FROM labels JOIN visits USING(fingerprint, url) "
            "WHERE NOT replaced AND topic = '' AND has_page AND ungated IS NULL "
            "AND verdict BETWEEN 0 AND 1 AND typeof(verdict) = 'real' "
            "AND typeof(value) IN ('real', 'integer') AND substr(by, 1, ?) != ? "
            "ORDER BY labels.id DESC LIMIT ?",
            (len(MODEL_LABELLER), MODEL_LABELLER, most),
        )
        return [(verdict, value >= 0.5) for verdict, value in rows]

    def effective_until(self, number: int) -> list[Label]:
        """What counted of each page and topic when that number was given; without what was taken
        back since."""
        rows = self._db.fetch_all(
            f"SELECT {_LABEL_COLUMNS} FROM labels WHERE id <= ? AND replaced != 2 ORDER BY id",  # noqa: S608
            (number,),
        )
        pages: dict[tuple[Url, str], dict[str, Label]] = {}
        for row in rows:
            if (label := self._followed_label(row)) is not None:
                words = pages.setdefault((label.url, label.topic), {})
                words.pop(label.by, None)  # the newest last
                words[label.by] = label
        return [majority_label(list(words.values())) for words in pages.values()]

    def everyone_after(self, after: int = 0) -> list[tuple[int, Label]]:
        """Everybody's label in force, given after that number."""
        rows = self._db.fetch_all(
            f"SELECT id, {_LABEL_COLUMNS} FROM labels WHERE id > ? AND NOT replaced ORDER BY id",  # noqa: S608
            (after,),
        )
        return [(row[0], label) for row in rows if (label := self._followed_label(row[1:]))]

    def taken_back(self) -> list[Url]:
        """Pages of which somebody took a label back."""
        rows = self._db.fetch_all("SELECT DISTINCT url FROM labels WHERE replaced = 2")
        return [url for (url,) in rows if row_checks.is_http_url(url)]

    def effective_label(self, url: str) -> Label | None:
        """The newest of the labels that count."""
        return max(self.labels_by_topic(url).values(), key=lambda label: label.at, default=None)

    def labels_by_topic(self, url: str) -> dict[str, Label]:
        """The label that counts for each topic."""
        topics: dict[str, list[Label]] = {}
        for label in self._labels_of(url, "NOT replaced"):
            topics.setdefault(label.topic, []).append(label)
        return {topic: majority_label(words) for topic, words in topics.items()}

    def label_history(self, url: str) -> list[Label]:
        """Every label this address was ever given, and that was not taken back, oldest first."""
        return self._labels_of(url, "replaced != 2")

    def _followed_label(self, row: SqlRow) -> Label | None:
        """The label in a row; None if it makes no sense, or is of a topic of former times."""
        values = row_checks.checked_label(row)
        label = None if values is None else Label(*values)
        followed = label is not None and (not label.topic or label.topic in self._visits.topics)
        return label if followed else None

    def _labels_of(self, url: str, which: str) -> list[Label]:
        rows = self._db.fetch_all(
            f"SELECT {_LABEL_COLUMNS} FROM labels WHERE fingerprint = ? AND url = ? AND {which} "  # noqa: S608
            "ORDER BY id",
            url_key(url),
        )
        return [Label(*values) for row in rows if (values := row_checks.checked_label(row))]

    def _person_label(
        self, hers: tuple[int, str, str, str], state: int
    ) -> tuple[int, Label] | None:
        """The newest label of a person in this state."""
        row = self._db.fetch_one(
            f"SELECT id, {_LABEL_COLUMNS} FROM labels WHERE {_SAME_LABEL} AND replaced = ? "  # noqa: S608
            "ORDER BY id DESC LIMIT 1",
            (*hers, state),
        )
        values = None if row is None else row_checks.checked_label(row[1:])
        return None if row is None or values is None else (row[0], Label(*values))

    def _change_state(self, number: int, state: int) -> None:
        self._db.execute(
            f"UPDATE labels SET id = {_NEXT_ID}, replaced = ? WHERE id = ?",  # noqa: S608
            (state, number),
        )


def majority_label(words: Sequence[Label]) -> Label:
    """Of the labels of one page, the oldest first, the one that counts: the newest of those that
    say what most say; the newest of all where as many say the one as the other. Labels of models
    count where no person said anything."""
    words = [word for word in words if not word.by.startswith(MODEL_LABELLER)] or words
    good = sum(label.value >= 0.5 for label in words)
    if 2 * good == len(words):
        return words[-1]
    return next(w for w in reversed(words) if (w.value >= 0.5) == (2 * good > len(words)))


def find_contradictions(
    labels: Sequence[tuple[int, Label]], after: int = 0
) -> list[tuple[Label, Label]]:
    """Labels in force given after that number, each with the newest earlier one, of somebody
    else, that says the opposite of the same page and topic."""
    earlier: dict[tuple[Url, str], list[Label]] = {}
    found = []
    for number, label in labels:
        others = earlier.setdefault((label.url, label.topic), [])
        if number > after:
            for other in reversed(others):
                if other.by != label.by and (other.value >= 0.5) != (label.value >= 0.5):
                    found.append((label, other))
                    break
        others.append(label)
    return found


# -- Labels and verdicts together --


class TopicSelection(NamedTuple):
    """Several topics of one crawl, and which of them is wanted."""

    names: tuple[str, ...]
    """In their order; the first is meant where nobody said which."""
    threshold: float
    only: str = ""
    """One of the names; '': any topic will do."""


class EffectiveLabels:
    """Of one topic, unless ``topics`` are given. ``cut``: the least verdict of a relevant page, if
    not the collection's own."""

    def __init__(
        self,
        labels: Iterable[tuple[int, Label]],
        topics: TopicSelection | None,
        cut: float | None = None,
    ) -> None:
        self._topics, self._cut = topics, cut
        self._labels: dict[Url, dict[str, Label]] = {}
        for _, label in labels:
            name = label.topic or (topics.names[0] if topics else "")
            if name in topics.names if topics else not name:
                # The newest last, so that it is the newest of all topics as well.
                of_page = self._labels.setdefault(label.url, {})
                of_page.pop(name, None)
                of_page[name] = label

    def newest_label(self, url: Url) -> Label | None:
        """The newest label, of the topic that is wanted if one is."""
        by_topic = self._labels.get(url, {})
        if self._topics is not None and self._topics.only:
            return by_topic.get(self._topics.only)
        return next(reversed(by_topic.values()), None)

    def labelled_urls(self) -> list[Url]:
        """Pages of which a person said something."""
        return list(self._labels)

    def topic_corrections(self, row: VisitRow) -> dict[str, int]:
        """Topics for which a person says the opposite of the verdict: 1 if it is relevant."""
        topics, scores = self._topics, self._topic_scores(row)
        if topics is None or not row.has_page:
            return {}
        return {
            name: 1 if _is_positive(label) else -1
            for name, label in self._labels.get(row.url, {}).items()
            if _is_positive(label) != (scores.get(name, 0.0) >= topics.threshold)
        }

    def relevant_urls(self) -> Iterator[Url]:
        """Pages that a person called relevant, for any topic."""
        for url, by_topic in self._labels.items():
            if any(label.value >= 0.5 for label in by_topic.values()):
                yield url

    def is_relevant(self, row: VisitRow) -> bool:
        """For the topic that is wanted, or for any."""
        by_topic = self._labels.get(row.url)
        topics = self._topics
        if topics is None:
            if by_topic:
                return bool(row.has_page) and _is_positive(next(iter(by_topic.values())))
            if self._cut is None:
                return bool(row.relevant)
            return row.is_enough(self._cut)
        scores = self._topic_scores(row)
        return any(
            bool(row.has_page) and _is_positive(by_topic[name])
            if by_topic and name in by_topic
            else row._replace(verdict=scores.get(name)).is_enough(topics.threshold)
            for name in ((topics.only,) if topics.only else topics.names)
        )

    def export_columns(self) -> list[str]:
        """What an export tells beside the usual: each topic's score, and what a person said."""
        names = self._topics.names if self._topics else ()
        return [f"{what}.{name}" for name in names for what in ("topic", "label")]

    def export_cells(self, row: VisitRow) -> dict[str, float | None]:
        if self._topics is None:
            return {}
        by_topic, scores = self._labels.get(row.url, {}), self._topic_scores(row)
        found: dict[str, float | None] = {}
        for name in self._topics.names:
            found[f"topic.{name}"] = scores.get(name)
            found[f"label.{name}"] = by_topic[name].value if name in by_topic else None
        return found

    def _topic_scores(self, row: VisitRow) -> dict[str, float]:
        """A page that was judged when there was but one topic was judged for the first."""
        if self._topics is None:
            return {}
        if row.topic_scores or row.verdict is None:
            return row.topic_scores
        return {self._topics.names[0]: row.verdict}


def _is_positive(label: Label) -> bool:
    return label.value >= 0.5

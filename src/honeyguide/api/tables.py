"""Results as tables: iterate over them, look at them, or take them as a data frame."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from html import escape
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any, Generic, TypeVar

from honeyguide.api.chart import svg_chart
from honeyguide.errors import ConfigError, StoreError

Row = TypeVar("Row")
_SHOWN_ROWS = 10
_SHOWN_CHARS = 60
_CHART_POINTS = 500


class ResultTable(Generic[Row]):
    """Rows that are read anew whenever they are asked for, so that nothing large is held.

    Iterating gives rows as Honeyguide knows them; frames and dictionaries have plain values.

    Example::

        pages = birds.pages()
        pages.to_pandas().groupby("language").size()
    """

    def __init__(
        self,
        title: str,
        rows: Callable[[], Iterable[Row]],
        records: Callable[[], Iterable[dict[str, Any]]],
        columns: Iterable[str],
        shown: Sequence[str],
    ) -> None:
        """``records``: the rows as dictionaries with the keys ``columns`` at least; ``shown``:
        those that a preview shows."""
        self.title = title
        self._rows, self._records = rows, records
        self._columns, self._shown = list(columns), list(shown)
        self._reading: Iterator[Row] | None = None

    def __iter__(self) -> Iterator[Row]:
        return iter(self._rows())

    def __next__(self) -> Row:
        """The next row of one reading, for ``next(birds.pages())``."""
        self._reading = self._reading or iter(self._rows())
        return next(self._reading)

    def to_dicts(self) -> list[dict[str, Any]]:
        return list(self._records())

    def to_pandas(self) -> Any:
        """A pandas DataFrame."""
        found = self.to_dicts()
        return import_extra("pandas").DataFrame(found, columns=None if found else self._columns)

    to_frame = to_pandas

    def to_polars(self) -> Any:
        """A polars DataFrame."""
        found = self.to_dicts()
        schema = None if found else self._columns
        return import_extra("polars").DataFrame(found, schema, infer_schema_length=None)

    def _preview(self) -> tuple[list[list[str]], bool]:
        """The cells of the first rows, and whether there are more."""
        found = list(islice(self._records(), _SHOWN_ROWS + 1))
        rows = [[_show_cell(row[name]) for name in self._shown] for row in found[:_SHOWN_ROWS]]
        return rows, len(found) > _SHOWN_ROWS

    def __repr__(self) -> str:
        rows, more = self._preview()
        if not rows:
            return f"{self.title}: none"
        cells = [self._shown, *rows]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        lines = (
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in cells
        )
        return "\n".join([self.title, *lines, *(["…"] * more)])

    def _repr_html_(self) -> str:
        rows, more = self._preview()
        head = "".join(f"<th>{escape(name)}</th>" for name in self._shown)
        body = "".join(
            f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows
        )
        end = "<p>…</p>" * more
        return f"<p>{escape(self.title)}</p><table><tr>{head}</tr>{body}</table>{end}"


def import_extra(name: str) -> Any:
    """A library that Honeyguide does without; a ConfigError that says how to install it."""
    try:
        return import_module(name)
    except ImportError as error:
        package = name.partition(".")[0]
        raise ConfigError(
            f"this needs {package}; install it with: pip install {package}"
        ) from error


def to_datetime(at: float | None) -> datetime | None:
    """A moment in UTC; None for no time on earth."""
    try:
        return None if at is None else datetime.fromtimestamp(at, UTC)
    except (ValueError, OverflowError, OSError):
        return None


def _show_cell(value: object) -> str:
    """A value from the web on one line of a terminal."""
    if value is None:
        return ""
    text = f"{value:.2f}" if isinstance(value, float) else " ".join(str(value).split())
    if isinstance(value, datetime):
        text = f"{value:%Y-%m-%d %H:%M}"
    clean = "".join(c for c in text if c.isprintable())
    return clean if len(clean) <= _SHOWN_CHARS else f"{clean[: _SHOWN_CHARS - 1]}…"


class HarvestTable(ResultTable[tuple[int, int]]):
    """How many relevant pages were found after so many visits: rows of (visits, relevant)."""

    def __init__(self, name: str, points: Sequence[tuple[int, int]]) -> None:
        visits, relevant = points[-1] if points else (0, 0)
        share = f", harvest rate {relevant / visits:.0%}" if visits else ""
        title = f"{name}: {relevant} relevant pages of {visits} visits{share}"
        super().__init__(
            title,
            lambda: points,
            lambda: ({"visits": x, "relevant": y} for x, y in points),
            ("visits", "relevant"),
            ("visits", "relevant"),
        )
        self.name, self.points = name, points

    def to_svg(self) -> str:
        """The curve as a picture; needs no library."""
        step = max(1, len(self.points) // _CHART_POINTS)
        some = [*self.points[::step], *self.points[-1:]]
        curve = [(0.0, 0.0), *((float(x), float(y)) for x, y in some)]
        return svg_chart(self.title, "pages visited", "relevant pages found", {self.name: curve})

    def save_svg(self, path: Path) -> Path:
        """Write the picture; its folder is made if need be."""
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(self.to_svg(), "utf-8")
        except OSError as error:
            raise StoreError(f"{path} cannot be written: {error}") from error
        return path

    def plot(self, ax: Any = None) -> Any:
        """Draw it with matplotlib, on these axes or on new ones; the axes."""
        if ax is None:
            _, ax = import_extra("matplotlib.pyplot").subplots()
        ax.plot([0, *(x for x, _ in self.points)], [0, *(y for _, y in self.points)])
        ax.set(title=self.title, xlabel="pages visited", ylabel="relevant pages found")
        return ax

    def _repr_html_(self) -> str:
        return self.to_svg()

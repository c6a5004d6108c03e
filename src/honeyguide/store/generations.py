"""Generations of a strategy: frozen dataclasses as bytes, and back, without pickle.

A blob is a checksum, a JSON header with everything plain, and an npz file with the arrays. The
class comes from the registry by the strategy's name, nested classes from the fields' own type
hints: a blob cannot name code to run.
"""

from __future__ import annotations

import io
import json
import struct
import tokenize
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, is_dataclass
from types import NoneType, UnionType
from typing import (
    TYPE_CHECKING,
    Any,
    Literal,
    NamedTuple,
    Self,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

import numpy as np

from honeyguide import registry
from honeyguide.errors import ConfigError, ModelError
from honeyguide.multi_topic import MultiTopicStrategy
from honeyguide.store import row_checks
from honeyguide.store.codec import replace_surrogates
from honeyguide.store.database import Database

if TYPE_CHECKING:
    from honeyguide.store.store import Store

_BLOB_HEAD = struct.Struct("<4sII")
_MAGIC = b"HGS1"
_MAX_DEPTH = 50
_KEPT_WHOLE = 50
"""Generations kept whole, besides the first and the live one."""
_MAX_ARRAY_BYTES = 512_000_000
"""Bytes of all arrays together: a small file can unpack to a huge one."""
_DECODE_ERRORS = (
    ValueError, KeyError, TypeError, AttributeError, EOFError, RuntimeError, MemoryError,
    OverflowError, SyntaxError, struct.error, tokenize.TokenError, zipfile.BadZipFile, zlib.error,
)  # fmt: skip
"""What the libraries say of damaged bytes; RecursionError is a RuntimeError."""

StrategyFinder = Callable[[str], type[Any]]


@dataclass(frozen=True, slots=True)
class GenerationRow:
    number: int
    name: str
    """The strategy's."""
    note: str
    at: float
    size: int


_ROW_CHECKER = row_checks.RowChecker(GenerationRow, {})


class GenerationTable:
    def __init__(self, db: Database) -> None:
        self._db = db

    def save(
        self,
        number: int,
        name: str,
        strategy: Any,
        note: str = "",
        at: float = 0.0,
        *,
        live: bool = True,
    ) -> None:
        """Keep a generation, and let it decide from now on if it is ``live``.

        Of those before the last :data:`_KEPT_WHOLE` only the note stays: a crawl makes thousands.
        """
        data = pack_strategy(name, strategy)
        with self._db.join_transaction():
            row = number, name, replace_surrogates(note), at, data
            self._db.insert_rows("generations", [row], replace=True)
            if live:
                self.set_live(number)
            self._db.execute(
                "UPDATE generations SET data = x'' WHERE number BETWEEN 1 AND ? AND number != ?",
                (number - _KEPT_WHOLE, self.live_number() or 0),
            )

    def set_live(self, number: int) -> None:
        """This generation decides from now on; a crawl that runs will notice."""
        self._load_blob(number)
        self._db.set_meta("live", str(number))

    def live_number(self) -> int | None:
        """The generation that decides; None: there is none yet."""
        if (number := row_checks.parse_decimal(self._db.get_meta("live"))) is not None:
            return number
        number = self._db.fetch_value("SELECT max(number) FROM generations")
        return None if number is None else int(number)

    def next_number(self) -> int:
        return self._db.fetch_number("SELECT max(number) + 1 FROM generations")

    def load(self, number: int, find: StrategyFinder) -> Any:
        data, name = self._load_blob(number)
        return unpack_strategy(data, find, name)

    def _load_blob(self, number: int) -> tuple[bytes, str]:
        """Its bytes and its strategy's name. Raises ModelError if there are none."""
        row = self._db.fetch_one("SELECT data, name FROM generations WHERE number = ?", (number,))
        if row is None:
            raise ModelError(f"there is no generation {number}")
        if not row[0]:
            expired = 1 <= number < self.next_number() - _KEPT_WHOLE
            if expired and number != self.live_number():
                raise ModelError(
                    f"only the note of generation {number} was kept, because it is too old"
                )
            raise ModelError(f"only the note is left of generation {number}: it is damaged")
        return row[0], str(row[1])

    def list_all(self) -> list[GenerationRow]:
        rows = self._db.fetch_all(
            "SELECT number, name, note, at, length(data) FROM generations ORDER BY number"
        )
        return [GenerationRow(*_ROW_CHECKER(row)) for row in rows]


def pack_strategy(name: str, strategy: Any) -> bytes:
    """The strategy registered under that name, as bytes."""
    arrays: dict[str, Any] = {}
    head: dict[str, Any] = {"name": name}
    if isinstance(strategy, MultiTopicStrategy):
        # Of which kind the parts are is known from the registry, again.
        head |= {"kind": strategy.kind, "topics": list(strategy.names)}
        strategy = strategy.parts
    head["strategy"] = _to_plain(strategy, arrays, name, _MAX_DEPTH)
    try:
        header = json.dumps(head, separators=(",", ":")).encode()
        body = io.BytesIO()
        np.savez_compressed(body, allow_pickle=False, **arrays)
    except (ValueError, TypeError) as error:
        raise ModelError(f"{name} cannot be saved: {error}") from error
    rest = header + body.getvalue()
    return _BLOB_HEAD.pack(_MAGIC, len(header), zlib.crc32(rest)) + rest


def unpack_strategy(data: bytes, find: StrategyFinder, expected: str = "") -> Any:
    """The strategy that was packed; ``find`` knows the class of a name."""
    try:
        magic, size, checksum = _BLOB_HEAD.unpack_from(data)
        rest = data[_BLOB_HEAD.size :]
        if magic != _MAGIC or zlib.crc32(rest) != checksum:
            raise ModelError("a saved strategy is damaged, or was saved in another form")
        header = json.loads(rest[:size])
        name, tree = header["name"], header["strategy"]
        arrays = _load_arrays(rest[size:])
    except _DECODE_ERRORS as error:
        raise ModelError("a saved strategy is damaged") from error
    if not isinstance(name, str):
        raise ModelError("a saved strategy is damaged: it has no name")
    if expected and name != expected:
        raise ModelError(f"what was saved is {name[:40]!a} and not {expected[:40]!a}")
    cls = find(name)
    try:
        if "topics" in header:
            return _restore_topics(header, expected, arrays)
        made = _from_plain(tree, cls, arrays, name)
    except RecursionError as error:
        raise ModelError(f"{name}: a saved strategy is nested too deeply") from error
    if not isinstance(made, cls):
        raise ModelError(f"{name}: what was saved is a {type(made).__name__}, and no strategy")
    return made


def _restore_topics(
    header: dict[str, Any], expected: str, arrays: dict[str, Any]
) -> MultiTopicStrategy:
    """The parts, all of one registered kind, each under its topic's name."""
    kind, names = header.get("kind"), header["topics"]
    if not (isinstance(kind, str) and isinstance(names, list) and kind == (expected or kind)):
        raise ModelError("a saved strategy is damaged: it does not name its parts")
    try:
        cls = registry.find_strategy(kind)
    except ConfigError as error:
        raise ModelError(f"a saved strategy is of an unknown kind: {error}") from error
    parts = _from_plain(header["strategy"], cls, arrays, kind)
    if not (isinstance(parts, tuple) and all(type(part) is cls for part in parts)):
        raise ModelError(f"{kind}: a saved strategy is damaged: its parts are not strategies")
    if not all(isinstance(name, str) for name in names):
        raise ModelError(f"{kind}: a saved strategy is damaged: its topics have no names")
    return MultiTopicStrategy(kind, tuple(names), parts)


def _load_arrays(data: bytes) -> dict[str, Any]:
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        if sum(info.file_size for info in file.infolist()) > _MAX_ARRAY_BYTES:
            raise ModelError("a saved strategy is damaged: its arrays are too large to be true")
    with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
        return {key: arrays[key] for key in arrays.files}


def _to_plain(value: Any, arrays: dict[str, Any], where: str, depth: int) -> Any:
    """JSON for everything but arrays, which are set aside under a number."""
    if depth == 0:
        raise ModelError(f"{where} is nested too deeply to be saved")
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, np.generic):
        return _to_plain(value.item(), arrays, where, depth - 1)
    if isinstance(value, np.ndarray):
        key = f"a{len(arrays)}"
        # Objects in an array could only be pickled.
        if value.dtype.hasobject:
            raise ModelError(f"{where} is an array of objects and cannot be saved")
        arrays[key] = value
        return {"array": key}
    if isinstance(value, tuple | list) and not hasattr(value, "_fields"):
        kind = "tuple" if isinstance(value, tuple) else "list"
        return {
            kind: [_to_plain(v, arrays, f"{where}[{i}]", depth - 1) for i, v in enumerate(value)]
        }
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {
            "dict": {
                k: _to_plain(v, arrays, f"{where}[{k!r}]", depth - 1) for k, v in value.items()
            }
        }
    if is_dataclass(value) and not isinstance(value, type):
        inside = {
            field.name: _to_plain(
                getattr(value, field.name), arrays, f"{where}.{field.name}", depth - 1
            )
            for field in fields(value)
            if field.init
        }
        return {"class": type(value).__name__, "fields": inside}
    raise ModelError(f"{where} is a {type(value).__name__} and cannot be saved")


def _from_plain(tree: Any, hint: Any, arrays: dict[str, Any], where: str) -> Any:
    if not isinstance(tree, dict):
        return tree
    match tree:
        case {"array": str(key)} if key in arrays:
            return arrays[key]
        case {"tuple": list(items)}:
            return tuple(_from_plain(item, hint, arrays, where) for item in items)
        case {"list": list(items)}:
            return [_from_plain(item, hint, arrays, where) for item in items]
        case {"dict": dict(items)}:
            return {
                key: _from_plain(item, hint, arrays, f"{where}[{key!r}]")
                for key, item in items.items()
            }
        case {"class": str(name), "fields": dict(inside)}:
            return _make_instance(name, inside, hint, arrays, where)
    raise ModelError(f"{where}: a saved strategy is damaged")


def _make_instance(
    name: str, inside: dict[str, Any], hint: Any, arrays: dict[str, Any], where: str
) -> Any:
    cls = next((c for c in _dataclasses_in(hint) if c.__name__ == name), None)
    if cls is None:
        raise ModelError(f"{where} was saved as a {name}, which this version does not know there")
    known = {field.name for field in fields(cls) if field.init}
    unknown = sorted(inside.keys() - known)
    if unknown:
        raise ModelError(
            f"{where} was saved with {', '.join(unknown)}, which this version of {name} does not "
            "have; use the version that saved it, or start a new generation"
        )
    try:
        hints = get_type_hints(cls)
        values = {
            key: _from_plain(tree, hints[key], arrays, f"{where}.{key}")
            for key, tree in inside.items()
        }
        for key, value in values.items():
            if not _fits_hint(value, hints[key]):
                raise TypeError(f"{key} cannot be a {type(value).__name__}")
        return cls(**values)
    except (TypeError, ValueError, NameError, AttributeError, OverflowError, ConfigError) as error:
        raise ModelError(f"{where} cannot be made again: {error}") from error


def _fits_hint(value: Any, hint: Any) -> bool:
    """Whether a value is of the type its field is said to have, as far as types can tell."""
    kind, inner = get_origin(hint), get_args(hint)
    if kind in (Union, UnionType):
        return any(_fits_hint(value, one) for one in inner)
    if kind is Literal:
        return isinstance(value, tuple(map(type, inner)))
    if kind is tuple:
        parts = inner[:1] * len(value) if inner[1:] == (...,) and type(value) is tuple else inner
        return (
            type(value) is tuple and len(value) == len(parts) and all(map(_fits_hint, value, parts))
        )
    if hint is float:
        return isinstance(value, int | float)
    known = kind is np.ndarray or hint in (str, bool, int, NoneType) or is_dataclass(hint)
    return not known or isinstance(value, kind or hint)


def _dataclasses_in(hint: Any) -> Iterator[type[Any]]:
    """Every dataclass that a type hint mentions."""
    if isinstance(hint, type) and is_dataclass(hint):
        yield hint
    for inner in get_args(hint):
        yield from _dataclasses_in(inner)


# -- What the newest training run had --


_MARK_KEY = "lesson"


class TrainingMark(NamedTuple):
    """What the newest training run was given that ended, whatever came of it."""

    label: int = 0
    """Number of the newest label."""
    visit: int = 0
    """Number of the newest visit."""
    files: int | None = 0
    """Checksum of the example files; None: not known."""
    why: str = ""
    """Why its generation does not decide; '': it does."""

    @classmethod
    def from_store(cls, store: Store) -> Self:
        """That of a collection; collections of earlier versions know the label only."""
        try:
            label, visit, files, why = json.loads(store.get_meta(_MARK_KEY) or "")
            return cls(int(label), int(visit), int(files), str(why))
        except (ValueError, TypeError, OverflowError, RecursionError):
            taught = row_checks.parse_decimal(store.get_meta("taught") or "")
            return cls() if taught is None else cls(taught, store.visits.last_id(), None)

    def write_to(self, store: Store) -> None:
        visit = min(self.visit, store.visits.last_id())  # later ones were lost in a crash
        store.set_meta(_MARK_KEY, json.dumps([self.label, visit, self.files or 0, self.why]))


def forget_lessons(store: Store) -> None:
    """All labels are to be learned again."""
    store.set_meta("taught", "")
    store.set_meta(_MARK_KEY, "")

"""Golden data on disk, and how it is compared."""

from __future__ import annotations

import gzip
import json
import math
import os
import platform
import subprocess
import sys
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
DATA = HERE / "data"
OLD = HERE / "old"
SURFACES = HERE / "surfaces"

STILL = {
    "PYTHONHASHSEED": "0", "COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb", "TZ": "UTC",
    "LC_ALL": "C.UTF-8", "OPENBLAS_NUM_THREADS": "1",
}  # fmt: skip
"""The environment in which everything is recorded and compared."""
_NEAR = 1e-5
"""How far scores may lie apart on another processor: some are of float32, and learning adds up."""


def write(name: str, value: Any, into: Path = DATA) -> None:
    """Keep it as ``NAME.json.gz``; the same value makes the same bytes, and floats are whole."""
    into.mkdir(exist_ok=True)
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    (into / f"{name}.json.gz").write_bytes(gzip.compress(text.encode(), 9, mtime=0))


@cache
def read(name: str, where: Path = DATA) -> Any:
    return json.loads(gzip.decompress((where / f"{name}.json.gz").read_bytes()))


@cache
def machine() -> str:
    """What floats may depend on: numpy and OpenBLAS pick their kernels by the processor."""
    code = (
        "import numpy, scipy, sklearn, threadpoolctl as t, scipy.linalg\n"
        "kernels = {i.get('architecture') for i in t.threadpool_info()}\n"
        "f = numpy._core._multiarray_umath.__cpu_features__\n"
        "print(numpy.__version__, scipy.__version__, sklearn.__version__, "
        "*sorted(map(str, kernels)), *sorted(k for k in f if f[k]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return f"{platform.machine()} {done.stdout.strip()}"


def run_part(part: str, into: Path) -> Path:
    """Let the code that stands here say it again, in a process of its own.

    The order of Python's sets of text follows from PYTHONHASHSEED, and the strategy ``honeyguide``
    adds up floats in the order of a set (text/link_text.py): its seed is fixed.
    """
    root = HERE.parents[1]
    words = [sys.executable, "-m", "tests.golden.record", f"--{part}", "--into", str(into)]
    environment = os.environ | STILL | {"PYTHONPATH": f"{root}{os.pathsep}{root / 'src'}"}
    done = subprocess.run(
        words, capture_output=True, text=True, env=environment, cwd=root, timeout=600
    )
    assert done.returncode == 0, done.stderr
    return into


def recorded(part: str, into: Path) -> Any:
    """What comes of that."""
    return read(part, run_part(part, into))


def other(wanted: dict[str, Any], found: dict[str, Any]) -> str:
    """Names under which something else stands."""
    names = sorted(wanted.keys() | found.keys())
    return ", ".join(name for name in names if wanted.get(name) != found.get(name))


def difference(
    wanted: Sequence[Sequence[Any]],
    found: Sequence[Sequence[Any]],
    names: Iterable[str],
    exact: bool = True,
) -> str:
    """The first row that is another, told to people; '' if there is none."""
    for number, (before, now) in enumerate(zip(wanted, found, strict=False), 1):
        told = [
            f"{name}: {old!r} was, {new!r} is"
            for name, old, new in zip(names, before, now, strict=True)
            if not _same(old, new, exact)
        ]
        if told:
            return f"row {number} of {len(wanted)} ({before[0]}):\n  " + "\n  ".join(told)
    if len(wanted) != len(found):
        return f"{len(wanted)} rows were, {len(found)} are"
    return ""


def _same(old: Any, new: Any, exact: bool) -> bool:
    if exact or not (isinstance(old, float) and isinstance(new, float)):
        return bool(old == new)
    return math.isclose(old, new, rel_tol=_NEAR, abs_tol=_NEAR)

"""Parquet files. The only file that knows pyarrow, an extra of 165 MB."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from honeyguide.errors import ConfigError, StoreError

_GROUP = 5000
"""Rows per row group: what is held in memory at once."""


def write(
    path: Path,
    columns: dict[str, type],
    rows: Iterator[dict[str, Any]],
    progress: Callable[[int], None],
) -> int:
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError as error:
        raise ConfigError("Parquet needs pyarrow; install it with: pip install pyarrow") from error
    kinds = {str: pa.string(), float: pa.float64(), int: pa.int64(), bool: pa.bool_()}
    schema = pa.schema([(name, kinds[kind]) for name, kind in columns.items()])
    count = 0
    try:
        with parquet.ParquetWriter(path, schema, compression="zstd") as writer:
            while group := list(islice(rows, _GROUP)):
                writer.write_table(pa.Table.from_pylist(group, schema), row_group_size=_GROUP)
                count += len(group)
                progress(count)
    except pa.ArrowException as error:
        raise StoreError(f"{path} cannot be written: {error}") from error
    return count

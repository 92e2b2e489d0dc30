"""Files of records and of people, read as text: Parquet and CSV, batch by batch or whole."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import PurePath
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from airflow_anon.expectations.sample import is_drawn
from airflow_anon.expectations.shifted import with_shifted_dates
from airflow_anon.expectations.transformed import with_coded_numbers
from engine import InvalidData

_BATCH_ROWS = 1 << 18


def header_of(file: Mapping[str, Any], what: str) -> list[str]:
    """Return the names of the columns of a file: `path`, `delimiter`, `encoding`.

    Raises
    ------
    InvalidData
        It cannot be read.
    """
    with _readable(file, what):
        if _is_parquet(file):
            return list(pa.parquet.read_schema(file["path"]).names)
        with _csv(file, []) as reader:
            return list(reader.schema.names)


def texts_in(file: Mapping[str, Any], what: str, columns: Sequence[str]) -> Iterator[pd.DataFrame]:
    """Read columns of a file as text, batch by batch; with `sample` the records that its key draws.

    Raises
    ------
    InvalidData
        It cannot be read.
    """
    with _readable(file, what), ExitStack() as stack:
        if _is_parquet(file):
            reader = stack.enter_context(pa.parquet.ParquetFile(file["path"]))
            found = reader.iter_batches(batch_size=_BATCH_ROWS, columns=list(columns))
            batches = (pa.record_batch(_selectable(batch), names=batch.schema.names) for batch in found)
        else:
            batches = stack.enter_context(_csv(file, columns))
        for batch in batches if "sample" not in file else _drawn(batches, file["sample"]):
            texts = [_text(batch[name]) for name in columns]
            yield pa.Table.from_arrays(texts, names=list(columns)).to_pandas(types_mapper=pd.ArrowDtype)


def _drawn(batches: Iterable[pa.RecordBatch], sample: Mapping[str, Any]) -> Iterator[pa.RecordBatch]:
    begin = 0
    for batch in batches:
        places = range(begin, begin + batch.num_rows)
        begin += batch.num_rows
        yield batch.filter(pa.array(is_drawn(places, sample["fraction"], sample["key"]), pa.bool_()))


@contextmanager
def _readable(file: Mapping[str, Any], what: str) -> Iterator[None]:
    try:
        yield
    except (OSError, UnicodeError, pa.ArrowException):  # these messages may quote a line
        raise InvalidData(f"{what} {PurePath(file['path']).name}: cannot be read as a table of text") from None


def read_table(file: Mapping[str, Any], what: str) -> pa.Table:
    """Read a whole file: `path`, `delimiter`, `encoding`.

    With `shift` its dates are shifted, with `coding` its numbers coded.

    Raises
    ------
    InvalidData
        It cannot be read.
    """
    table = _all_columns(file, what)
    table = table if "shift" not in file else with_shifted_dates(table, file["shift"])
    return table if "coding" not in file else with_coded_numbers(table, file["coding"])


def _all_columns(file: Mapping[str, Any], what: str) -> pa.Table:
    with _readable(file, what):
        if _is_parquet(file):
            with pa.parquet.ParquetFile(file["path"]) as reader:
                table = reader.read()
            return pa.table(_selectable(table), names=table.column_names)
        with _csv(file, header_of(file, what)) as reader:
            return reader.read_all()


def texts_of(table: pa.Table, what: str) -> pd.DataFrame:
    """Return all columns of a table as text.

    Raises
    ------
    InvalidData
        A column has no text form.
    """
    try:
        columns = [pa.chunked_array([_text(chunk) for chunk in column.chunks], pa.string()) for column in table.columns]
    except pa.ArrowException:  # its message may quote a value
        raise InvalidData(f"{what}: cannot be read as a table of text") from None
    return pa.Table.from_arrays(columns, names=table.column_names).to_pandas(types_mapper=pd.ArrowDtype)


def _is_parquet(file: Mapping[str, Any]) -> bool:
    return PurePath(file["path"]).suffix.lower() in {".parquet", ".pq"}


def _csv(file: Mapping[str, Any], columns: Sequence[str]) -> pa.csv.CSVStreamingReader:
    """Open a delimited file; without columns, with all of them."""
    parse = pa.csv.ParseOptions(delimiter=file["delimiter"], newlines_in_values=True)
    convert = pa.csv.ConvertOptions(
        column_types=dict.fromkeys(columns, pa.string()), include_columns=list(columns), strings_can_be_null=False
    )
    read = pa.csv.ReadOptions(block_size=1 << 24, encoding=file["encoding"])
    return pa.csv.open_csv(file["path"], read_options=read, parse_options=parse, convert_options=convert)


def _selectable(table: pa.Table | pa.RecordBatch) -> list[Any]:
    """Return the columns so that Arrow can take a selection of them: of a view it takes none, at any depth."""
    return [_without_view(column) for column in table.columns]


def _without_view(column: Any) -> Any:
    if pa.types.is_string_view(column.type):
        return column.cast(pa.string())
    if pa.types.is_binary_view(column.type):
        return column.cast(pa.binary())
    # of what is nested nothing is compared
    return pa.nulls(len(column)) if pa.types.is_nested(column.type) else column


def _text(column: pa.Array) -> pa.Array:
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    # binary columns and lists have no text and are not compared
    opaque = pa.types.is_nested(column.type) or pa.types.is_binary(column.type)
    return pa.nulls(len(column), pa.string()) if opaque else column.cast(pa.string())

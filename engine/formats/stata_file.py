"""The records of a release as Stata's .dta (version 118), and the comparison of such a file with the Parquet file.

In: a Parquet file and the description of its columns. Out: one variable per column, whose label says what was done to
it. The labels of a generalized column are value labels in their order; a column of more labels than the codebook lists
is text. Stata has no whole numbers above 2^53, no infinite ones, no missing texts (they are empty) and no missing dates
but its own: what it cannot hold is refused. pandas writes the file, from the whole table in memory.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet

from engine.codebook.document import DescribedColumn
from engine.codebook.treatment import holds
from engine.errors import InvalidJob
from engine.formats.numbers_only import is_known, is_text, lost_value
from engine.tables.sources.column_types import type_name

if TYPE_CHECKING:
    import pandas as pd

_MOST_ROWS, _MOST_COLUMNS, _LONGEST_NAME, _LONGEST_LABEL = 2**31 - 1, 32_767, 32, 80
_LONGEST_VALUE_LABEL = 32_000
"""Bytes of the text of a value label that Stata and ReadStat, the library of haven and pyreadstat, read."""
_LARGEST = float.fromhex("0x1.fffffffffffffp+1022")
"""The largest double that is no missing value of Stata."""
_LARGEST_FLOAT = float.fromhex("0x1.fffffep+126")
_ENDS = {"i4": (-2_147_483_647, 2_147_483_620), "f4": (-_LARGEST_FLOAT, _LARGEST_FLOAT)}
"""The ends of Stata's long and float, by numpy's type of the same size: what is beyond them is missing, or none."""
_NAME = re.compile(rf"[A-Za-z_][A-Za-z0-9_]{{0,{_LONGEST_NAME - 1}}}")
_WORD = re.compile("_(all|b|coef|cons|n|N|pi|pred|rc|skip)|byte|double|float|if|in|int|long|str([0-9]+|L)|using|with")


def refuse(schema: pa.Schema) -> None:
    """Refuse columns that a .dta file cannot hold.

    Raises
    ------
    InvalidJob
        Names the column and the fix; or pandas, which writes the file, is not installed.
    """
    try:
        import pandas  # noqa: F401, ICN001, PLC0415 (only this format needs it)
    except ImportError:
        raise InvalidJob("output.formats: dta needs pandas; install it, or leave dta out") from None
    if len(schema) > _MOST_COLUMNS:
        raise InvalidJob(f"output.formats: dta holds at most {_MOST_COLUMNS:,} columns; leave dta out")
    for field in schema:
        if not _NAME.fullmatch(field.name) or _WORD.fullmatch(field.name):
            raise InvalidJob(
                f"output.formats: dta cannot name a column {field.name!r}: at most {_LONGEST_NAME} letters, digits and "
                "underscores, no digit first, no word of Stata's own; name it otherwise in the source query, or leave "
                "dta out"
            )
        if not is_known(field.type):
            raise InvalidJob(
                f"output.formats: dta cannot hold column {field.name!r} of type {type_name(field.type)}; convert it "
                "in the source query, or leave dta out"
            )


def write(data: Path, target: Path, columns: Sequence[DescribedColumn]) -> None:
    """Write the records of a Parquet file, in their order.

    Raises
    ------
    InvalidJob
        There are too many of them, or a column has values that Stata cannot hold.
    """
    import pandas as pd  # noqa: PLC0415 (only this format needs it)

    table = pa.parquet.read_table(data)
    if table.num_rows > _MOST_ROWS:
        raise InvalidJob(f"output.formats: dta holds at most {_MOST_ROWS:,} records; leave dta out")
    described = {column["column"]: column for column in columns}
    frame = pd.DataFrame({name: _variable(name, table[name], described.get(name)) for name in table.schema.names})
    days: dict[Hashable, Literal["td", "tc"]] = {
        field.name: "td" for field in table.schema if pa.types.is_date(field.type)
    }
    times: dict[Hashable, Literal["td", "tc"]] = {
        field.name: "tc" for field in table.schema if pa.types.is_timestamp(field.type)
    }
    frame.to_stata(
        target,
        write_index=False,
        version=118,
        convert_dates={**days, **times},
        variable_labels={name: holds(column)[:_LONGEST_LABEL] for name, column in described.items() if name in frame},
    )


def _variable(name: str, column: pa.ChunkedArray, described: DescribedColumn | None) -> Any:
    import pandas as pd  # noqa: PLC0415 (as above)

    _refuse_values(name, column)
    if described is not None and described.get("labels"):
        labels = [one["label"] for one in described["labels"]]
        _refuse_labels(name, labels)
        return pd.Categorical(column.to_pandas(), categories=labels, ordered=described["ordered"])
    found = _plain(column)
    return pd.Series(found, dtype=object if found.dtype == object else None)


def _refuse_values(name: str, column: pa.ChunkedArray) -> None:
    why = lost_value(column, _LARGEST)
    if why is not None:
        raise InvalidJob(
            f"output.formats: column {name!r} has {why}, which dta cannot hold; convert it in the source query, or "
            "leave dta out"
        )


def _refuse_labels(name: str, labels: Sequence[str]) -> None:
    """Refuse labels that haven and pyreadstat would cut, so that two of them may look alike; Stata has no such rule."""
    long = any(len(label.encode()) > _LONGEST_VALUE_LABEL for label in labels)
    why = f"of more than {_LONGEST_VALUE_LABEL:,} bytes" if long else "with a space at the end"
    if long or any(label.endswith(" ") for label in labels):
        raise InvalidJob(
            f"output.formats: column {name!r} has labels {why}, which programs that read dta cut; change them in its "
            "hierarchy or the source query, or leave dta out"
        )


def _plain(column: pa.ChunkedArray) -> np.ndarray[Any, Any]:
    """Return values as Stata has them: texts, numbers or times; a missing text is empty, another one NaN or NaT."""
    if is_text(column.type):
        return np.array(pc.fill_null(column, "").to_pylist(), dtype=object)
    if pa.types.is_date(column.type) or pa.types.is_timestamp(column.type):
        unit = "D" if pa.types.is_date(column.type) else "ms"
        arrow = pa.date32() if unit == "D" else pa.timestamp("ms")
        times: np.ndarray[Any, Any] = column.cast(arrow).to_numpy().astype(f"datetime64[{unit}]")
        return times.astype("datetime64[s]") if unit == "D" else times
    kind = pa.int8() if pa.types.is_boolean(column.type) else column.type
    numbers: np.ndarray[Any, Any] = column.cast(kind).to_numpy()
    return _as_double(numbers)


def _as_double(numbers: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return numbers as doubles where some are none of Stata's long or float, which pandas writes as they are."""
    ends = _ENDS.get(numbers.dtype.str[1:])
    if ends is None or not ((numbers < ends[0]) | (numbers > ends[1])).any():
        return numbers
    return numbers.astype(np.float64)


def differ(data: Path, written: Path, columns: Sequence[DescribedColumn]) -> bool:
    """Return whether a .dta file has other records than a Parquet file, or has them in another order."""
    import pandas as pd  # noqa: PLC0415 (as above)

    labelled = {column["column"] for column in columns if column.get("labels")}
    with pa.parquet.ParquetFile(data) as file:
        try:
            # the last read of an iterator closes the file
            with pd.read_stata(written, iterator=True, order_categoricals=False) as opened:
                reader: Any = opened  # its stubs lack read
                rows = 0
                for batch in file.iter_batches():
                    if not batch.num_rows:
                        continue
                    there = reader.read(batch.num_rows)
                    rows += len(there)
                    if list(there) != batch.schema.names or not _same(batch, there, labelled):
                        return True
                return bool(rows != file.metadata.num_rows) or _has_more(reader)
        except (ValueError, KeyError, StopIteration, UnicodeDecodeError, OverflowError):
            return bool(file.metadata.num_rows > 0)


def _has_more(reader: Any) -> bool:
    try:
        return len(reader.read(1)) > 0
    except StopIteration:
        return False


def _same(batch: pa.RecordBatch, there: pd.DataFrame, labelled: set[str]) -> bool:
    return len(there) == batch.num_rows and all(
        _equal(batch[name], there[name], is_labelled=name in labelled) for name in batch.schema.names
    )


def _equal(column: pa.Array, there: pd.Series, *, is_labelled: bool) -> bool:
    if is_labelled:
        texts = [None if text != text else text for text in there.astype(object)]  # noqa: PLR0124 (NaN)
        known: list[Any] = column.to_pylist()
        return texts == known
    expected = _plain(pa.chunked_array([column]))
    if expected.dtype == object:
        return bool((there.to_numpy(dtype=object) == expected).all())
    if expected.dtype.kind == "M":
        found = there.to_numpy().astype(expected.dtype)
        return bool(np.array_equal(found, expected, equal_nan=True))
    return bool(np.array_equal(there.to_numpy(np.float64), expected.astype(np.float64), equal_nan=True))

"""The records of a release as SPSS's .sav, and the comparison of such a file with the Parquet file.

In: a Parquet file and the description of its columns. Out: one variable per column, whose label says what was done to
it. The labels of a generalized column are value labels of the numbers 1, 2, ..., in their order; a column of more
labels than the codebook lists is text. SPSS has no whole numbers above 2^53, no infinite ones, no missing texts (they
are empty), and takes spaces at the end of a text for none: what it cannot hold is refused. pyreadstat writes the file
and reads it, as a table in memory.
"""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Mapping, Sequence
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
    from numpy.typing import NDArray

_LONGEST_NAME, _LONGEST_LABEL, _LONGEST_VALUE_LABEL, _LONGEST_TEXT = 64, 256, 120, 32_767
"""In bytes of UTF-8."""
_LARGEST = float.fromhex("0x1.ffffffffffffep+1023")
"""The largest double but one: the last ones stand for missing, lowest and highest in SPSS."""
_NAME = re.compile(rf"[A-Za-z][A-Za-z0-9_]{{0,{_LONGEST_NAME - 1}}}")
_WORDS = {"ALL", "AND", "BY", "EQ", "GE", "GT", "LE", "LT", "NE", "NOT", "OR", "TO", "WITH"}
_EPOCH = 141_428
"""Days from 14 October 1582, from which SPSS counts seconds, to 1970."""
_DAY = 86_400
_MILLISECONDS = 1_000
_FIRST_DAY = -_EPOCH


def refuse(schema: pa.Schema) -> None:
    """Refuse columns that a .sav file cannot hold.

    Raises
    ------
    InvalidJob
        Names the column and the fix; or pyreadstat or pandas, which write the file, are not installed.
    """
    if not all(importlib.util.find_spec(name) for name in ("pyreadstat", "pandas")):
        raise InvalidJob(
            "output.formats: sav needs pyreadstat and pandas; pip install airflow-anon[spss], or leave sav out"
        )
    for position, field in enumerate(schema):
        if not _NAME.fullmatch(field.name) or field.name.upper() in _WORDS:
            raise InvalidJob(
                f"output.formats: sav cannot name a column {field.name!r}: at most {_LONGEST_NAME} letters, digits and "
                "underscores, a letter first, no word of SPSS's own; name it otherwise in the source query, or leave "
                "sav out"
            )
        same = [name for name in schema.names[:position] if name.upper() == field.name.upper()]
        if same:
            raise InvalidJob(
                f"output.formats: sav holds the columns {same[0]!r} and {field.name!r} for the same one, since it does "
                "not tell letter case; name one otherwise in the source query, or leave sav out"
            )
        if not is_known(field.type):
            raise InvalidJob(
                f"output.formats: sav cannot hold column {field.name!r} of type {type_name(field.type)}; convert it "
                "in the source query, or leave sav out"
            )


def write(data: Path, target: Path, columns: Sequence[DescribedColumn]) -> None:
    """Write the records of a Parquet file, in their order.

    Raises
    ------
    InvalidJob
        A column has values or labels that SPSS cannot hold.
    """
    import pandas as pd  # noqa: PLC0415 (only this format needs it)
    import pyreadstat  # noqa: PLC0415 (as above)

    table = pa.parquet.read_table(data)
    described = {column["column"]: column for column in columns if column["column"] in table.schema.names}
    codes = {name: _codes(name, column) for name, column in described.items() if "labels" in column}
    for name in table.schema.names:
        _refuse_values(name, table[name])
    pyreadstat.write_sav(
        pd.DataFrame({name: _variable(table[name], codes.get(name)) for name in table.schema.names}),
        str(target),
        column_labels={name: _cut(holds(column), _LONGEST_LABEL) for name, column in described.items()},
        variable_value_labels={name: {code: text for text, code in own.items()} for name, own in codes.items()},
        variable_measure={name: _measure(described.get(name)) for name in codes},
        variable_format={
            field.name: form
            for field in table.schema
            if (form := _form(field.type, is_labelled=field.name in codes)) is not None
        },
    )


def _codes(name: str, described: DescribedColumn) -> Mapping[str, float]:
    """Return the number of each label, in their order."""
    labels = [one["label"] for one in described["labels"]]
    if any(len(label.encode()) > _LONGEST_VALUE_LABEL for label in labels):
        raise InvalidJob(
            f"output.formats: column {name!r} has labels of more than {_LONGEST_VALUE_LABEL} bytes, which sav would "
            "cut; shorten them in its hierarchy, or leave sav out"
        )
    return {label: float(code) for code, label in enumerate(labels, 1)}


def _measure(described: DescribedColumn | None) -> Literal["ordinal", "nominal"]:
    return "ordinal" if described is not None and described.get("ordered") else "nominal"


def _form(kind: pa.DataType, *, is_labelled: bool) -> str | None:
    """Return how SPSS shows the values of a column; None as it does by itself, such as texts."""
    if is_labelled:
        return "F8.0"
    if pa.types.is_date(kind):
        return "DATE11"
    if pa.types.is_timestamp(kind):
        return "DATETIME23.3"
    return "F17.0" if pa.types.is_integer(kind) else None


def _cut(text: str, most: int) -> str:
    return text.encode()[:most].decode(errors="ignore")


def _refuse_values(name: str, column: pa.ChunkedArray) -> None:
    why = lost_value(column, _LARGEST)
    if why is None and is_text(column.type):
        if pc.any(pc.ends_with(column, " ")).as_py():
            why = "texts with a space at the end"
        elif (pc.max(pc.binary_length(column)).as_py() or 0) > _LONGEST_TEXT:
            why = f"texts of more than {_LONGEST_TEXT:,} bytes"
    elif why is None and (pa.types.is_date(column.type) or pa.types.is_timestamp(column.type)):
        first = pc.min(column.cast(pa.timestamp("ms")).cast(pa.int64())).as_py()
        if first is not None and first < _FIRST_DAY * _DAY * _MILLISECONDS:
            why = "days before 14 October 1582"
    if why is not None:
        raise InvalidJob(
            f"output.formats: column {name!r} has {why}, which sav cannot hold; convert it in the source query, or "
            "leave sav out"
        )


def _variable(column: pa.ChunkedArray, codes: Mapping[str, float] | None) -> NDArray[Any]:
    """Return values as SPSS has them: texts, of which a missing one is empty, or doubles, of which NaN is missing."""
    if codes is not None:
        return np.array([codes.get(text, np.nan) for text in column.to_pylist()], dtype=np.float64)
    if is_text(column.type):
        return np.array(pc.fill_null(column, "").to_pylist(), dtype=object)
    if pa.types.is_date(column.type) or pa.types.is_timestamp(column.type):
        moments = column.cast(pa.timestamp("ms")).cast(pa.int64())
        seconds = pc.divide(moments.cast(pa.float64()), float(_MILLISECONDS))
        return np.asarray(pc.add(seconds, float(_EPOCH * _DAY)).to_numpy(), dtype=np.float64)
    kind = pa.int8() if pa.types.is_boolean(column.type) else column.type
    return np.asarray(column.cast(kind).to_numpy(), dtype=np.float64)


def differ(data: Path, written: Path, columns: Sequence[DescribedColumn]) -> bool:
    """Return whether a .sav file has other records than a Parquet file, or has them in another order."""
    import pyreadstat  # noqa: PLC0415 (as above)

    table = pa.parquet.read_table(data)
    try:
        found, about = pyreadstat.read_sav(str(written), disable_datetime_conversion=True, output_format="dict")
    except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError, UnicodeDecodeError):
        return True
    if list(found) != table.schema.names:
        return True
    labelled = {column["column"] for column in columns if "labels" in column}
    texts = about.variable_value_labels
    return not all(
        _has_labels(table[name], found[name], texts.get(name, {}))
        if name in labelled
        else _has_values(table[name], found[name])
        for name in table.schema.names
    )


def _has_labels(column: pa.ChunkedArray, there: Sequence[Any], texts: Mapping[float, str]) -> bool:
    known: list[Any] = column.to_pylist()
    return [None if _is_missing(code) else texts.get(code, code) for code in there] == known


def _is_missing(code: Any) -> bool:
    return code is None or code != code  # noqa: PLR0124 (NaN)


def _has_values(column: pa.ChunkedArray, there: Sequence[Any]) -> bool:
    expected = _variable(column, None)
    if len(there) != len(expected):
        return False
    if expected.dtype == object:
        return bool(list(there) == expected.tolist())
    try:
        numbers = np.array([np.nan if value is None else value for value in there], dtype=np.float64)
    except (ValueError, TypeError):  # texts
        return False
    return bool(np.array_equal(numbers, expected, equal_nan=True))

"""A release as a pandas DataFrame, as its codebook describes it.

In: a release folder. Out: one column per released column; generalized ones as categoricals with the labels in their
order, so that tables and plots have them in it. Nothing is read of a folder that is not as it was released.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from engine.codebook.document import FORM, LINKED_FORM, Codebook, DescribedColumn
from engine.errors import InvalidData, VerificationFailed
from engine.hierarchy.builder import SUPPRESSED
from engine.json_document import strict_json
from engine.pipeline.release import check_manifest
from engine.tables.release_files import CODEBOOK, CURRENT, DATA, MANIFEST

if TYPE_CHECKING:
    import pandas as pd


_WHOLE = re.compile(r"-?(0|[1-9][0-9]{0,17})")
_DECIMAL = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


def read_release(
    folder: str | Path, *, ends: bool = False, numbers: bool = False, table: str | None = None
) -> pd.DataFrame:
    """Read a release folder.

    Parameters
    ----------
    folder : path
        As a run made it, or its name in a share, such as `current`.
    ends : bool
        Add after each column of intervals two, `NAME_begin` and `NAME_below`, with the smallest value of a record's
        label and the first one above all of its values: numbers or dates. Of a label that is a single value both are
        that value; an end that a label does not have is missing.
    numbers : bool
        Give columns that have the values of the source, and all of whose values are numbers or dates, as these: Int64,
        Float64 or datetime. Suppressed records are missing there; a last column `suppressed` says which they are, if
        the file has any. Codes that are no numbers, such as 007, stay categories.
    table : str, optional
        Which one to read, of a release of several tables.

    Returns
    -------
    DataFrame
        One row per record, in the order of the file. Generalized columns are categoricals, `*` one of their
        categories, the last one. A column of times of day with parts of a microsecond is text.

    Raises
    ------
    VerificationFailed
        The folder was changed since it was written, or its codebook is not of its file.
    InvalidData
        It is no folder of a release; or it has no codebook, or one of a later version; or it has several tables, and
        none of them is named, or has one.
    """
    folder = Path(folder)
    _refuse_other_place(folder)
    check_manifest(folder)
    codebook = _codebook(folder)
    file, columns = _part(codebook, folder, table)
    frame: pd.DataFrame = _with_whole_times(pq.read_table(folder / file)).to_pandas()
    described = [column["column"] for column in columns if "level" in column or column["what"] == "mixed"]
    if numbers and codebook["suppressed"]:
        if "suppressed" in frame:
            raise InvalidData(f"release {folder}: has a column 'suppressed' of its own; read it without numbers")
        suppressed = (frame[described] == SUPPRESSED).all(axis="columns")
    for place, column in reversed(list(enumerate(columns))):
        typed = _typed(frame[column["column"]]) if numbers and column["what"] == "exact" else None
        if typed is not None:
            frame[column["column"]] = typed
        elif "labels" in column:
            _refuse_others(folder, frame[column["column"]], column)
            _apply(frame, place, column, ends=ends)
    if numbers and codebook["suppressed"]:
        frame["suppressed"] = suppressed
    return frame


def _refuse_other_place(folder: Path) -> None:
    """Refuse a path beside, above or inside of a release, with the one that is meant."""
    if folder.is_file():
        raise InvalidData(f"release {folder}: is a file; name the folder that it is in")
    if not folder.is_dir() and folder.name == CURRENT and folder.parent.is_dir():
        raise InvalidData(
            f"release {folder}: is not there, so no release of the job is current; it may have been recalled: ask "
            "those who release it"
        )
    if not folder.is_dir():
        raise InvalidData(
            f"release {folder}: not found; a relative path belongs to the working directory, here {Path.cwd()}"
        )
    if not (folder / MANIFEST).exists() and (folder / CURRENT / MANIFEST).is_file():
        raise InvalidData(f"release {folder}: is the folder of all releases of a job; name {folder / CURRENT}")


def _with_whole_times(table: pa.Table) -> pa.Table:
    """Return a table with texts in place of times of day that have parts of a microsecond: Python has none."""
    for place, field in enumerate(table.schema):
        if field.type == pa.time64("ns"):
            parts = table.column(place).cast(pa.int64())
            if pc.any(pc.not_equal(pc.multiply(pc.divide(parts, 1000), 1000), parts)).as_py():
                table = table.set_column(place, field.name, table.column(place).cast(pa.string()))
    return table


def _typed(texts: pd.Series) -> pd.Series | None:
    """Return the values of a column as whole numbers, numbers or dates; None if some are none."""
    import pandas as pd  # noqa: PLC0415 (it takes a third of a second, and only readers need it)

    values = texts.where(texts != SUPPRESSED)
    distinct = values.dropna().unique()
    kinds: tuple[tuple[re.Pattern[str], Any], ...] = ((_WHOLE, pd.Int64Dtype()), (_DECIMAL, pd.Float64Dtype()))
    for form, kind in kinds:
        if len(distinct) and all(form.fullmatch(text) for text in distinct):
            return pd.to_numeric(values).astype(kind)
    if len(distinct) and all(_DATE.fullmatch(text) for text in distinct):
        return pd.to_datetime(values, format="%Y-%m-%d", errors="coerce")
    return None


def _codebook(folder: Path) -> Codebook:
    try:
        found: Codebook = strict_json((folder / CODEBOOK).read_bytes())
    except ValueError:
        raise VerificationFailed(f"release {folder}: {CODEBOOK} cannot be read; the folder was changed") from None
    except FileNotFoundError:
        raise InvalidData(
            f"release {folder}: has no {CODEBOOK}: it was made by an earlier version; read {DATA} itself"
        ) from None
    if found["form"] > (LINKED_FORM if found.get("tables") else FORM):
        raise InvalidData(f"release {folder}: was made by a later version; install that one to read it")
    return found


def _part(codebook: Codebook, folder: Path, table: str | None) -> tuple[str, Sequence[DescribedColumn]]:
    """Return the file of a table and its columns."""
    tables = {one["table"]: one for one in codebook.get("tables", [])}
    if not tables and table is None:
        return DATA, codebook["columns"]
    if table not in tables:
        has = f"the tables {', '.join(tables)}: name one of them" if tables else "one table: leave out table"
        raise InvalidData(f"release {folder}: has {has}")
    return tables[table]["file"], tables[table]["columns"]


def _refuse_others(folder: Path, values: pd.Series, column: DescribedColumn) -> None:
    """Refuse labels that the codebook lacks: pandas would take their records for ones without a value."""
    if not values.dropna().isin([described["label"] for described in column["labels"]]).all():
        raise VerificationFailed(
            f"release {folder}: column {column['column']!r} has labels that {CODEBOOK} does not list; one of them was "
            "changed after it was written"
        )


def _apply(frame: pd.DataFrame, place: int, column: DescribedColumn, *, ends: bool) -> None:
    import pandas as pd  # noqa: PLC0415 (it takes a third of a second, and only readers need it)

    name = column["column"]
    labels = [described["label"] for described in column["labels"]]
    values = pd.Categorical(frame[name], categories=labels, ordered=column["ordered"])
    frame[name] = values
    if not ends or not any("begin" in one or "below" in one for one in column["labels"]):
        return
    for offset, key in enumerate(("begin", "below"), start=1):
        of_label: list[Any] = [_end(one.get(key, one.get("value"))) for one in column["labels"]]
        places = values.codes
        found = pd.Series([*of_label, None]).take(places).to_numpy()
        frame.insert(place + offset, f"{name}_{key}", found)


def _end(text: Any) -> Any:
    return dt.date.fromisoformat(text) if isinstance(text, str) else text

"""A release as a pandas DataFrame, as its codebook describes it.

In: a release folder. Out: one column per released column; generalized ones as categoricals with the labels in their
order, so that tables and plots have them in it. Nothing is read of a folder that is not as it was released.
"""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq

from engine.codebook.document import FORM, Codebook, DescribedColumn
from engine.errors import InvalidData
from engine.pipeline.release import CODEBOOK, check_manifest
from engine.tables.released import DATA

if TYPE_CHECKING:
    import pandas as pd


def read_release(folder: str | Path, *, ends: bool = False) -> pd.DataFrame:
    """Read a release folder.

    Parameters
    ----------
    folder : path
        As a run made it, or its name in a share, such as `current`.
    ends : bool
        Add after each column of intervals two, `NAME_begin` and `NAME_below`, with the smallest value of a record's
        label and the first one above all of its values: numbers or dates. Of a label that is a single value both are
        that value; an end that a label does not have is missing.

    Returns
    -------
    DataFrame
        One row per record, in the order of the file. Generalized columns are categoricals, `*` one of their
        categories, the last one.

    Raises
    ------
    VerificationFailed
        The folder was changed since it was written.
    InvalidData
        It has no codebook, or one of a later version.
    """
    folder = Path(folder)
    check_manifest(folder)
    codebook = _codebook(folder)
    frame: pd.DataFrame = pq.read_table(folder / DATA).to_pandas()
    for place, column in reversed(list(enumerate(codebook["columns"]))):
        if "labels" in column:
            _apply(frame, place, column, ends=ends)
    return frame


def _codebook(folder: Path) -> Codebook:
    try:
        found: Codebook = json.loads((folder / CODEBOOK).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InvalidData(
            f"release {folder}: has no {CODEBOOK}: it was made by an earlier version; read data.parquet itself"
        ) from None
    if found["form"] > FORM:
        raise InvalidData(f"release {folder}: was made by a later version; install that one to read it")
    return found


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

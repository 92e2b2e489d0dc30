"""The population of a job inside a validation: people by labels, and people listed for release.

Read and counted with pandas, so it shares nothing with the engine's verification except the rows of hierarchies.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal, InvalidOperation
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from airflow_anon.expectations.labels import hierarchy_of
from engine import Count, InvalidData, Message

if TYPE_CHECKING:
    from engine import Job

READ = ("role", "hierarchy", "missing", "unseen")
PERSONS = "persons"
"""The column of a population file with the number of persons per row."""


def population_of(
    job: Job, attributes: Mapping[str, Mapping[str, Any]], levels: Mapping[str, int], source: str | None
) -> dict[str, Any]:
    """Return where the population of a job is and how its values are read; empty for a job without one.

    Parameters
    ----------
    attributes : mapping of quasi-identifier to its entry of the job file
    levels : mapping of quasi-identifier to int
        Those of the release.
    source : str, optional
        Path of the extracted table, which is the population if a subset of it is released.
    """
    if job.subset is None and job.population is None:
        return {}
    return _read_as(job, attributes, levels, source if job.subset is not None else job.population)


def source_of(
    job: Job, attributes: Mapping[str, Mapping[str, Any]], levels: Mapping[str, int], source: str | None
) -> dict[str, Any]:
    """Return where the source of a job is and how its values are read, in the form of `population_of`."""
    return _read_as(job, attributes, levels, source)


def _read_as(
    job: Job, attributes: Mapping[str, Mapping[str, Any]], levels: Mapping[str, int], path: str | None
) -> dict[str, Any]:
    delimiter = "," if job.source is None else job.source.delimiter
    return {
        "people": {"path": path, "delimiter": delimiter},
        "subset": {} if job.subset is None else {"path": job.subset, "delimiter": delimiter},
        "attributes": {name: {key: entry[key] for key in READ if key in entry} for name, entry in attributes.items()},
        "levels": dict(levels),
    }


def public_population(population: Mapping[str, Any]) -> dict[str, Any]:
    """Return its published part: names of files, without folders and hierarchies."""
    if not population:
        return {}
    if population["subset"]:
        return {"people": "source", "subset": PurePath(population["subset"]["path"]).name}
    return {"people": PurePath(population["people"]["path"]).name}


def people_by_labels(population: Mapping[str, Any]) -> pa.Table | None:
    """Count the people by their labels.

    Returns
    -------
    pyarrow Table or None
        One text column for each quasi-identifier, in their order; `people` and `released`, int64. None for a job
        without a population.

    Raises
    ------
    InvalidData
        A file cannot be read, or values have no entry in the hierarchy.
    """
    if not population:
        return None
    if population["people"]["path"] is None:
        raise InvalidData("the extracted source is compared with the release and is not given; give its path as source")
    people = _texts(population["people"], "population")
    persons = _persons(population, people)
    people, persons = people[persons > 0], persons[persons > 0]
    released = pd.Series(0, index=people.index)
    if population["subset"]:
        released = _released(people, _texts(population["subset"], "subset"))
    names = list(population["attributes"])
    lacking = [name for name in names if name not in people.columns]
    if lacking:
        raise InvalidData(f"population: lacks the columns {', '.join(lacking)}; give the one the release was made of")
    labels = {
        str(place): labels_of(name, people[name], population["attributes"][name], population["levels"][name])
        for place, name in enumerate(names)
    }
    frame = pd.DataFrame({place: found for place, (found, _) in labels.items()})
    frame = frame.assign(people=persons, released=released.astype("int64"))
    for _, refused in labels.values():
        frame = frame[~refused.loc[frame.index]]
    counted = frame.groupby(list(labels), dropna=False, sort=False)[["people", "released"]].sum().reset_index()
    columns = [pa.array([None if pd.isna(v) else v for v in counted[place]], pa.string()) for place in labels]
    counts = [pa.array(counted[name].to_numpy(), pa.int64()) for name in ("people", "released")]
    return pa.Table.from_arrays([*columns, *counts], names=[*labels, "people", "released"])


def _persons(population: Mapping[str, Any], people: pd.DataFrame) -> pd.Series:
    """Return the number of persons of each row; each record of a source is one person.

    Raises
    ------
    InvalidData
        The column `persons` has values other than whole numbers from 0.
    """
    weighted = not population["subset"] and PERSONS in people.columns and PERSONS not in population["attributes"]
    if not weighted:
        return pd.Series(1, index=people.index)
    numbers = {text: _whole(text) for text in people[PERSONS].unique()}
    if None in numbers.values():
        raise InvalidData(
            f"population: the column {PERSONS!r} says how many persons a row stands for, and holds something else than "
            "whole numbers from 0; give the file that the release was made of"
        )
    return people[PERSONS].map(numbers).astype("int64")


def _whole(text: Any) -> int | None:
    """Return a text such as `3`, or `3.00` from a column of decimals, as a whole number from 0; else None."""
    try:
        number = Decimal(text)
    except (InvalidOperation, TypeError):
        return None
    return int(number) if number.is_finite() and number >= 0 and number == int(number) else None


def listed_rows(population: Mapping[str, Any]) -> int | None:
    """Return the rows of the subset's file, None if no subset is released."""
    return len(_texts(population["subset"], "subset")) if population and population["subset"] else None


def _texts(file: Mapping[str, Any], what: str) -> pd.DataFrame:
    """Read all columns of a file as text."""
    return texts_of(read_table(file, what), what)


def read_table(file: Mapping[str, Any], what: str) -> pa.Table:
    """Read a file, `path` and `delimiter`.

    Raises
    ------
    InvalidData
        It cannot be read.
    """
    path = PurePath(file["path"])
    try:
        is_parquet = path.suffix.lower() in {".parquet", ".pq"}
        return pa.parquet.ParquetFile(path).read() if is_parquet else _csv(file)
    except (OSError, UnicodeDecodeError, pa.ArrowException):  # these messages may quote a line
        raise InvalidData(f"{what} {path.name}: cannot be read as a table of text") from None


def texts_of(table: pa.Table, what: str) -> pd.DataFrame:
    """Return all columns of a table as text.

    Raises
    ------
    InvalidData
        A column has no text form.
    """
    try:
        columns = [_text(column) for column in table.columns]
    except pa.ArrowException:  # its message may quote a value
        raise InvalidData(f"{what}: cannot be read as a table of text") from None
    return pa.Table.from_arrays(columns, names=table.column_names).to_pandas(types_mapper=pd.ArrowDtype)


def _csv(file: Mapping[str, Any]) -> pa.Table:
    parse = pa.csv.ParseOptions(delimiter=file["delimiter"], newlines_in_values=True)
    with pa.csv.open_csv(file["path"], parse_options=parse) as reader:
        names = reader.schema.names
    convert = pa.csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False)
    return pa.csv.read_csv(file["path"], parse_options=parse, convert_options=convert)


def _text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    # binary columns and lists have no text and are not compared
    opaque = pa.types.is_nested(column.type) or pa.types.is_binary(column.type)
    return pa.chunked_array([pa.nulls(len(column), pa.string())]) if opaque else column.cast(pa.string())


def _released(people: pd.DataFrame, subset: pd.DataFrame) -> pd.Series:
    """Return which people are listed: of people with equal values in the file's columns as many as it has rows.

    Raises
    ------
    InvalidData
        The file has columns or rows that the population does not have.
    """
    keys = list(subset.columns)
    if not set(keys) <= set(people.columns):
        raise InvalidData("subset: has columns that the extracted source lacks; check its header and the delimiter")
    alike = people[keys].fillna("")
    place = alike.groupby(keys, sort=False).cumcount()
    wanted = subset.fillna("").groupby(keys, sort=False).size().rename("wanted").reset_index()
    released = place < alike.merge(wanted, on=keys, how="left")["wanted"].fillna(0).to_numpy()
    if int(released.sum()) != len(subset):
        unmatched = Count(len(subset) - int(released.sum()))
        raise InvalidData(
            Message.of("subset: {unmatched} of its rows are no records of the source", unmatched=unmatched)
        )
    return released


def labels_of(name: str, values: pd.Series, attribute: Mapping[str, Any], level: int) -> tuple[pd.Series, pd.Series]:
    """Return the label of each value, and whether it suppresses its record."""
    hierarchy = hierarchy_of(attribute)
    codes, distinct = pd.factorize(values, use_na_sentinel=False)
    missing = set(attribute.get("missing", ()))
    plain = [None if pd.isna(value) or value in missing else value for value in distinct]
    rows = hierarchy.rows(sorted({value for value in plain if value is not None}))
    entries = {row[0]: row for row in rows}
    roots = {row[-1] for row in rows}
    root = roots.pop() if len(roots) == 1 else None
    unseen = [value is not None and value not in entries for value in plain]
    policy = attribute.get("unseen", "error")
    if any(unseen) and (policy == "error" or root is None):
        raise InvalidData(
            Message.of(
                "column {name!r}: {unseen} distinct values of the population have no hierarchy entry",
                name=name,
                unseen=Count(sum(unseen)),
            )
        )
    joined = root if level == hierarchy.level_count - 1 and level > 0 else None
    labels = [joined if v is None else root if new else entries[v][level] for v, new in zip(plain, unseen, strict=True)]
    refused = [new and policy == "suppress" for new in unseen]
    return _taken(labels, codes, values.index), _taken(refused, codes, values.index).astype(bool)


def _taken(values: Sequence[Any], codes: Any, index: pd.Index) -> pd.Series:
    return pd.Series(values, dtype=object).take(codes).set_axis(index)

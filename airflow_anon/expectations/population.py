"""The population of a job inside a validation: people by labels, and people listed for release.

Read batch by batch and counted with pandas, so it shares nothing with the engine's verification except the rows of
hierarchies.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from decimal import Decimal, InvalidOperation
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from numpy.typing import NDArray

from airflow_anon.expectations.labels import hierarchy_of
from airflow_anon.expectations.sample import is_drawn
from airflow_anon.expectations.shifted import with_shifted_dates
from airflow_anon.expectations.transformed import coding_settings, with_coded_numbers
from engine import TABLE_COLUMN, Count, InvalidData, Message

if TYPE_CHECKING:
    from engine import Job

READ = ("role", "hierarchy", "missing", "unseen")
PERSONS = "persons"
"""The column of a population file with the number of persons per row."""
_COUNTS = ("people", "released")
_TEXT = pd.ArrowDtype(pa.string())
_BATCH_ROWS = 1 << 18
_WAITING = 1 << 20
"""Tuples of batches that wait until they are added up; more where there are more distinct ones."""


def population_of(
    job: Job,
    attributes: Mapping[str, Mapping[str, Any]],
    levels: Mapping[str, int],
    source: str | None,
    allowed: Mapping[str, Sequence[int]] | None = None,
) -> dict[str, Any]:
    """Return where the population of a job is and how its values are read; empty for a job without one.

    Parameters
    ----------
    attributes : mapping of quasi-identifier to its entry of the job file
    levels : mapping of quasi-identifier to int
        Those of the release; empty of a local recoding.
    source : str, optional
        Path of the extracted table, which is the population if a subset of it is released.
    allowed : mapping of quasi-identifier to its levels, optional
        Of a local recoding, whose labels are of any of them.
    """
    if job.subset is None and job.population is None:
        return {}
    found = _read_as(job, attributes, levels, source if job.subset is not None else job.population)
    own_levels = None if allowed is None else {name: list(own) for name, own in allowed.items()}
    return {**found, "allowed": own_levels, "weighted": job.subset is None}


def source_of(
    job: Job,
    attributes: Mapping[str, Mapping[str, Any]],
    levels: Mapping[str, int],
    source: str | None,
    shift: Mapping[str, Any] | None = None,
    sample: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return where the source of a job is and how its values are read, in the form of `population_of`.

    Parameters
    ----------
    shift : mapping, optional
        As of `shift_settings`: `read_table` then gives the dates as they were shifted.
    sample : mapping, optional
        `fraction` and `key` (hexadecimal): `people_by_labels` then counts the records that the key draws.
    """
    found = _read_as(job, attributes, levels, source)
    changed = {} if shift is None else {"shift": dict(shift)}
    changed |= {"coding": coding_settings(job)} if job.coded else {}
    changed |= {} if sample is None else {"sample": dict(sample)}
    return {**found, "people": {**found["people"], **changed}}


def _read_as(
    job: Job, attributes: Mapping[str, Mapping[str, Any]], levels: Mapping[str, int], path: str | None
) -> dict[str, Any]:
    form = job.csv_form._asdict()
    return {
        "people": {"path": path, **form},
        "subset": {} if job.subset is None else {"path": job.subset, **form},
        "attributes": {name: {key: entry[key] for key in READ if key in entry} for name, entry in attributes.items()},
        "levels": dict(levels),
        "having": having_tables(job),
    }


def having_tables(job: Job) -> dict[str, list[str]]:
    """Return, of each column that one of several linked tables lacks, those that have it; empty for a job of one."""
    found = {
        name: [table for table, columns in job.columns_of_tables.items() if name in columns]
        for name in job.attributes
        if name != TABLE_COLUMN
    }
    return {name: having for name, having in found.items() if 0 < len(having) < len(job.columns_of_tables)}


def in_their_tables(name: str, labels: pd.Series, source: Mapping[str, Any], texts: pd.DataFrame) -> pd.Series:
    """Return labels of the records of linked tables: missing where the table of a record lacks the column."""
    return labels if name not in source.get("having", {}) else labels.where(in_having_tables(name, source, texts), None)


def in_having_tables(name: str, source: Mapping[str, Any], texts: pd.DataFrame) -> pd.Series:
    """Tell of which records the table has a column; all of them if there is one table, or each of several has it."""
    having = source.get("having", {}).get(name)
    return pd.Series(True, index=texts.index) if having is None else texts[TABLE_COLUMN].isin(having)


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
    places = [str(place) for place in range(len(population["attributes"]))]
    return _by_labels(population, distinct_people(population), places)


def distinct_people(population: Mapping[str, Any]) -> pd.DataFrame:
    """Return the distinct tuples of values of a population, with `people` and `released` beside them.

    Raises
    ------
    InvalidData
        A file cannot be read.
    """
    if population["people"]["path"] is None:
        raise InvalidData("the extracted source is compared with the release and is not given; give its path as source")
    names = list(population["attributes"])
    places = [str(place) for place in range(len(names))]
    listed = _Listed(population["subset"]) if population["subset"] else None
    header = _header(population["people"], "population")
    if listed is not None and not set(listed.columns) <= set(header):
        raise InvalidData("subset: has columns that the extracted source lacks; check its header and the delimiter")
    lacking = [name for name in names if name not in header]
    if lacking:
        raise InvalidData(f"population: lacks the columns {', '.join(lacking)}; give the one the release was made of")
    wanted = dict.fromkeys(
        [*names, *([PERSONS] if PERSONS in header else []), *([] if listed is None else listed.columns)]
    )
    tuples = _Tuples(places)
    for people in _texts(population["people"], "population", list(wanted)):
        persons = _persons(population, people)
        released = np.zeros(len(people), np.int64) if listed is None else listed.released(people)
        part = pd.DataFrame({place: people[name] for place, name in zip(places, names, strict=True)})
        part = part.assign(people=persons, released=released)
        tuples.add(part[persons > 0])
    if listed is not None:
        listed.check_complete()
    return tuples.summed()


def _by_labels(population: Mapping[str, Any], found: pd.DataFrame, places: Sequence[str]) -> pa.Table:
    labels = {
        place: labels_of(name, found[place], attribute, population["levels"][name])
        for place, (name, attribute) in zip(places, population["attributes"].items(), strict=True)
    }
    frame = pd.DataFrame({place: label for place, (label, _) in labels.items()}, index=found.index)
    frame = frame.assign(**{name: found[name] for name in _COUNTS})
    for _, refused in labels.values():
        frame = frame[~refused.loc[frame.index]]
    counted = frame.groupby(list(places), dropna=False, sort=False)[list(_COUNTS)].sum().reset_index()
    columns = [pa.array([None if pd.isna(v) else v for v in counted[place]], pa.string()) for place in places]
    counts = [pa.array(counted[name].to_numpy(np.int64), pa.int64()) for name in _COUNTS]
    return pa.Table.from_arrays([*columns, *counts], names=[*places, *_COUNTS])


class _Tuples:
    """Distinct tuples of values with their people, added up from time to time: memory grows with the tuples alone."""

    def __init__(self, places: Sequence[str]) -> None:
        self._places = list(places)
        self._found = [pd.DataFrame({place: pd.Series(dtype=_TEXT) for place in places}).assign(people=0, released=0)]
        self._waits = 0

    def add(self, people: pd.DataFrame) -> None:
        """Add the people of a batch."""
        part = self._sum(people)
        self._found.append(part)
        self._waits += len(part)
        if self._waits > max(_WAITING, len(self._found[0])):
            self.summed()

    def summed(self) -> pd.DataFrame:
        """Return every tuple once, with the sums of `people` and `released`."""
        self._found, self._waits = [self._sum(pd.concat(self._found, ignore_index=True))], 0
        return self._found[0]

    def _sum(self, people: pd.DataFrame) -> pd.DataFrame:
        counts = people.groupby(self._places, dropna=False, sort=False)[list(_COUNTS)].sum()
        return counts.astype("int64").reset_index()


def _persons(population: Mapping[str, Any], people: pd.DataFrame) -> pd.Series:
    """Return the number of persons of each row; each record of a source is one person.

    Raises
    ------
    InvalidData
        The column `persons` has values other than whole numbers from 0.
    """
    weighted = population.get("weighted", False) and PERSONS not in population["attributes"]
    if not weighted or PERSONS not in people.columns:
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
    if not population or not population["subset"]:
        return None
    columns = _header(population["subset"], "subset")
    return sum(len(rows) for rows in _texts(population["subset"], "subset", columns))


def _header(file: Mapping[str, Any], what: str) -> list[str]:
    with _readable(file, what):
        if _is_parquet(file):
            return list(pa.parquet.read_schema(file["path"]).names)
        with _csv(file, []) as reader:
            return list(reader.schema.names)


def _texts(file: Mapping[str, Any], what: str, columns: Sequence[str]) -> Iterator[pd.DataFrame]:
    """Read columns of a file as text, batch by batch."""
    with _readable(file, what), ExitStack() as stack:
        if _is_parquet(file):
            reader = stack.enter_context(pa.parquet.ParquetFile(file["path"]))
            batches = reader.iter_batches(batch_size=_BATCH_ROWS, columns=list(columns))
        else:
            batches = stack.enter_context(_csv(file, columns))
        for batch in batches if "sample" not in file else _drawn(batches, file["sample"]):
            texts = [_text(batch.column(name)) for name in columns]
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
                return reader.read()
        with _csv(file, _header(file, what)) as reader:
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


def _text(column: pa.Array) -> pa.Array:
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    # binary columns and lists have no text and are not compared
    opaque = pa.types.is_nested(column.type) or pa.types.is_binary(column.type)
    return pa.nulls(len(column), pa.string()) if opaque else column.cast(pa.string())


class _Listed:
    """The rows of a subset's file, by their values: how many people like each are released, and are not found yet."""

    def __init__(self, file: Mapping[str, Any]) -> None:
        self.columns = _header(file, "subset")
        parts = [
            rows.fillna("").groupby(self.columns, sort=False).size() for rows in _texts(file, "subset", self.columns)
        ]
        wanted = pd.concat(parts).groupby(self.columns, sort=False).sum() if parts else pd.Series(dtype="int64")
        self._keys = _keys(wanted.reset_index()[self.columns]) if parts else pd.MultiIndex.from_arrays([[]])
        self._left = wanted.to_numpy(np.int64).copy()

    def released(self, people: pd.DataFrame) -> NDArray[np.int64]:
        """Tell the people of a batch who are listed, 1 or 0: of those with equal values the first, as many as rows."""
        if not self._left.size:
            return np.zeros(len(people), np.int64)
        row = self._keys.get_indexer(_keys(people[self.columns].fillna("")))
        place = pd.Series(row).groupby(row).cumcount().to_numpy()
        released = (row >= 0) & (place < self._left[row])
        self._left -= np.bincount(row[released], minlength=self._left.size)
        return released.astype(np.int64)

    def check_complete(self) -> None:
        """Refuse rows that are like no record.

        Raises
        ------
        InvalidData
            There are some.
        """
        unmatched = int(self._left.sum())
        if unmatched:
            text = "subset: {unmatched} of its rows are no records of the source"
            raise InvalidData(Message.of(text, unmatched=Count(unmatched)))


def _keys(rows: pd.DataFrame) -> pd.MultiIndex:
    return pd.MultiIndex.from_arrays([rows[name].to_numpy(object) for name in rows])


def labels_of(name: str, values: pd.Series, attribute: Mapping[str, Any], level: int) -> tuple[pd.Series, pd.Series]:
    """Return the label of each value, and whether it suppresses its record.

    Raises
    ------
    InvalidData
        The hierarchy has no such level, or a value has no entry in it.
    """
    hierarchy = hierarchy_of(attribute)
    if level >= hierarchy.level_count:
        raise InvalidData(
            f"column {name!r}: the report gives it level {level}, and its hierarchy has 0 to "
            f"{hierarchy.level_count - 1}; run deidentify again"
        )
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

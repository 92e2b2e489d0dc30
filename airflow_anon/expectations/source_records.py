"""The records of a staged source with their persons, generalized to the levels of a report with pandas.

In: the settings of the expectation and the release. Out: the cell, the person and the sensitive values of each record,
and the same of the release, so that the two can be compared.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

import pandas as pd
import pyarrow as pa

from airflow_anon.expectations.class_table import MARK
from airflow_anon.expectations.file_texts import read_table, texts_of
from airflow_anon.expectations.labels_of_values import labels_of
from airflow_anon.expectations.lacked_columns import in_having_tables, in_their_tables
from airflow_anon.expectations.people_in_database import BEYOND, PERSON, STAYS
from airflow_anon.expectations.persons_named import persons_named
from engine import InvalidData

if TYPE_CHECKING:
    from airflow_anon.expectations.class_table import ClassTable

CELL = "\0cell"
"""Its column, which stands beside that of a sensitive attribute of any name."""
PERSONS_OF_ROW = "\0persons"
"""The column that says how many persons a row stands for."""
LEVEL = "\0level "
"""Before the name of a quasi-identifier: the column of a source that has the level of each record, of mixed levels."""


class Asked(Protocol):
    """What is asked of persons: the parameters of `ExpectPersonsInEachClass` that say how they are counted."""

    subject: str
    minimum: int
    quasi_identifiers: list[str]
    models: list[dict[str, Any]]
    attributes: dict[str, Any]
    source: dict[str, Any]
    suppressed: Literal["star", "drop"]
    max_rows: int
    rows_key: str
    knows: Literal["any-row", "all-rows", "some-rows"]
    known_rows: int
    reported_suppressed: int


@dataclass(frozen=True)
class SourceRecords:
    """The records of a source that may be released.

    Attributes
    ----------
    records : DataFrame
        `CELL` and `person` of each, whether it is `refused`, and each sensitive attribute as a code, with whether the
        record has it: of linked tables, only those of tables with this column.
    number : int
        Distinct persons.
    values : dict of attribute to pyarrow Array
        The value of each code.
    left_out : int or None
        Rows beyond the `max_rows` of a person; None without.
    released : Series
        Cell of each class of the release.
    star : int
        The cell that is `*` throughout.
    stated : dict of column to Counted
        Of each sensitive attribute, what the release has.
    sizes : Series
        Records of each cell of the release.
    """

    records: pd.DataFrame
    number: int
    values: dict[str, pa.Array]
    left_out: int | None
    released: pd.Series
    star: int
    stated: dict[str, Counted]
    sizes: pd.Series

    def agree(self, records: pd.DataFrame) -> bool:
        """Tell whether the release has exactly these records: each cell, and each cell and value, as often."""
        same = _same(records.groupby(CELL).size(), self.sizes)
        for column, one in self.stated.items():
            counted = pd.Series(one.records).groupby([one.cells, one.codes]).sum()
            same = same and _same(records.groupby([CELL, column]).size(), counted)
        return same


class Counted(NamedTuple):
    """Pairs of a cell and the code of a value in the release, with their records, shape (P,) each."""

    cells: Any
    codes: Any
    records: Any


def source_records(of: Asked, release: ClassTable) -> SourceRecords:
    """Generalize the staged source.

    Raises
    ------
    InvalidData
        The source is not given, or cannot be read, or lacks a column or a person.
    """
    inside = release.people is not None
    table, persons, number, left_out = _counted_people(of, release.people) if inside else _extracted_people(of)
    texts = texts_of(table.select(of.quasi_identifiers), "source")
    released = release.text().to_pandas(types_mapper=pd.ArrowDtype)
    columns, refused = [], pd.Series(False, index=texts.index)
    for place, name in enumerate(of.quasi_identifiers):
        labels, refuses = _labels(of, name, texts[name], table)
        labels = in_their_tables(name, labels, of.source, texts)
        refused |= refuses
        both = pd.concat(
            [labels.astype(object), released[str(place)].astype(object), pd.Series([MARK])], ignore_index=True
        )
        columns.append(pd.factorize(both.where(both.notna(), None), use_na_sentinel=False)[0])
    cells = pd.DataFrame(dict(enumerate(columns))).groupby(list(range(len(columns))), sort=False).ngroup()
    own, others, star = cells[: len(texts)], cells[len(texts) : -1].reset_index(drop=True), int(cells.iloc[-1])
    records = pd.DataFrame({CELL: own, "person": persons, "refused": refused})
    values, stated = {}, {}
    for name, entry in of.attributes.items():
        tuples = release.tuples(name)
        codes, values[name] = _coded(table[name], tuples["value"], entry)
        records[value_of(name)] = codes[: len(texts)]
        records[has_of(name)] = in_having_tables(name, of.source, texts)
        cells_of = _cells_of(tuples.select(released.columns), release, others)
        stated[value_of(name)] = Counted(cells_of, codes[len(texts) :], tuples["records"].to_numpy())
    sizes = pd.Series(release.sizes).groupby(others.to_numpy()).sum()
    return SourceRecords(records, number, values, left_out, others, star, stated, sizes)


def _labels(of: Asked, name: str, texts: pd.Series, table: pa.Table) -> tuple[pd.Series, pd.Series]:
    """Return the label of each record's value, and whether it suppresses its record.

    Raises
    ------
    InvalidData
        Neither report nor source say at which level it is.
    """
    attribute, level = of.source["attributes"][name], of.source["levels"].get(name)
    if level is not None:
        return labels_of(name, texts, attribute, level)
    if f"{LEVEL}{name}" not in table.column_names:
        raise InvalidData("neither report nor vault say at which levels records are released; run deidentify again")
    levels = pd.Series(table[f"{LEVEL}{name}"].to_numpy(), index=texts.index)
    labels, refuses = pd.Series(None, texts.index, object), pd.Series(False, texts.index)
    for one in levels.unique().tolist():
        # what a builder makes of a value may depend on the others, so each level is looked up for all of them
        shown, refuses = labels_of(name, texts, attribute, one)
        labels = labels.where(levels != one, shown.astype(object))
    return labels, refuses


def _extracted_people(of: Asked) -> tuple[pa.Table, Any, int, int | None]:
    """Return the records that stay, the person of each, the number of persons, and the rows beyond, if they are."""
    if of.source["people"]["path"] is None:
        raise InvalidData("only the extracted source says whose the records are, and it is not given; give its path")
    table = read_table(of.source["people"], "source")
    wanted = [*of.quasi_identifiers, *of.attributes, of.subject]
    if not set(wanted) <= set(table.column_names):
        raise InvalidData("source: lacks columns that say what is counted and whose it is; give the extracted one")
    persons, number = _numbered(table, of.subject)
    if not of.max_rows:
        return table, persons, number, None
    stays = _staying(persons, of.max_rows, of.rows_key)
    return table.filter(pa.array(stays)), persons[stays], number, int((~stays).sum())


def _counted_people(of: Asked, people: pa.Table) -> tuple[pa.Table, Any, int, int | None]:
    """Return the same of a source that a database counted: each combination as often as it has records that stay.

    Raises
    ------
    InvalidData
        Somebody has other rows than the most that may stay.
    """
    names = [*of.quasi_identifiers, *of.attributes]
    counts = people.select([PERSON, STAYS, BEYOND]).to_pandas()
    by_person = counts.groupby(PERSON)[[STAYS, BEYOND]].sum()
    everybody = by_person.sum(axis=1)
    most = of.max_rows or everybody.max()
    if not by_person[STAYS].eq(everybody.clip(upper=most)).all():
        raise InvalidData("other rows of a person stay than max_rows says; run deidentify again")
    rows = counts.index.repeat(counts[STAYS])
    table = people.select([str(place) for place in range(len(names))]).rename_columns(names).take(rows.to_numpy())
    persons, _ = pd.factorize(counts[PERSON].to_numpy()[rows])
    return table, persons, len(by_person), int(by_person[BEYOND].sum()) if of.max_rows else None


def value_of(attribute: str) -> str:
    """Return the column of records that has the codes of a sensitive attribute."""
    return f"value {attribute}"


def has_of(attribute: str) -> str:
    """Return the column of records that says whether a record has a sensitive attribute."""
    return f"has {attribute}"


def _same(one: pd.Series, other: pd.Series) -> bool:
    """Tell whether two counts have the same keys with the same numbers."""
    first, second = (dict(zip(found.index.tolist(), found.tolist(), strict=True)) for found in (one, other))
    return first == second


def _cells_of(places: pa.Table, release: ClassTable, cells: pd.Series) -> Any:
    """Return the cell of each row of the places of labels, shape (P,)."""
    names = places.column_names
    classes = release.places.to_pandas().assign(**{CELL: cells.to_numpy()})
    return places.to_pandas().merge(classes, on=names, how="left")[CELL].to_numpy()


def staying_rows(source: Mapping[str, Any], subject: str, most: int) -> int:
    """Return how many rows of a source stay if each person has at most so many.

    Raises
    ------
    InvalidData
        The source cannot be read, or lacks the column.
    """
    if source["people"]["path"] is None:
        raise InvalidData("only the extracted source says whose the records are, and it is not given; give its path")
    table = read_table(source["people"], "source")
    if subject not in table.column_names:
        raise InvalidData("source: lacks the column that says whose a record is; give the extracted one")
    persons, _ = _numbered(table, subject)
    return int(pd.Series(persons).value_counts().clip(upper=most).sum())


def _staying(persons: Any, most: int, key: str) -> Any:
    """Tell which rows stay: of each person those whose place has the smallest keyed hashes, bool, shape (rows,).

    Raises
    ------
    InvalidData
        The key is not given.
    """
    if not key:
        raise InvalidData("the key by which rows of persons were left out is not given; run deidentify again")
    secret = bytes.fromhex(key)
    rows = pd.DataFrame({"person": persons})
    crowded = rows.groupby("person")["person"].transform("size") > most
    rows["hash"] = [
        hashlib.blake2b(place.to_bytes(8, "big"), key=secret, digest_size=8).hexdigest() if many else ""
        for place, many in enumerate(crowded.tolist())
    ]
    rank = rows.sort_values("hash", kind="stable").groupby("person").cumcount().sort_index()
    return (rank < most).to_numpy()


def _numbered(table: pa.Table, subject: str) -> tuple[Any, int]:
    """Return a number for each record's person; case and blanks tell nobody apart."""
    column = texts_of(persons_named(table.select([subject]), subject), "source")[subject]
    plain = column.astype(object).where(column.notna(), "").map(lambda text: "".join(text.split()).lower())
    if plain.eq("").any():
        raise InvalidData(f"subject {subject!r}: a record of the source has no value; fill it in the source")
    codes, distinct = pd.factorize(plain)
    return codes, len(distinct)


def _coded(source: pa.ChunkedArray, released: pa.ChunkedArray, entry: Mapping[str, Any]) -> tuple[Any, pa.Array]:
    """Return a code for each value of a sensitive column in source and release, and the values of the codes.

    Raises
    ------
    InvalidData
        The column has another type in the source than in the release.
    """
    kind = released.type.value_type if pa.types.is_dictionary(released.type) else released.type
    try:
        chunks = [chunk for column in (source, released) for chunk in column.cast(kind).chunks]
        values = pa.chunked_array(chunks, kind).combine_chunks()
        texts = values.cast(pa.string()).to_pandas().astype(object)
    except pa.ArrowException:  # its message may quote a value
        raise InvalidData("a sensitive column has another type in the source than in the release") from None
    missing = texts.isna() | texts.isin(entry.get("missing", ()))
    codes, distinct = pd.factorize(texts.where(~missing, None), use_na_sentinel=False)
    first = pd.Series(codes).drop_duplicates()
    by_code = values.take(pa.array(first.sort_values().index.to_numpy()))
    absent = pd.isna(distinct)
    return codes, pa.array([None if gone else one for gone, one in zip(absent, by_code.to_pylist(), strict=True)], kind)

"""A release of a job that counts persons, recounted with the persons of the staged source.

Read, generalized and counted with pandas, so it shares nothing with the engine's verification except the rows of
hierarchies and the recount of each model on what was counted here.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import zip_longest
from statistics import median
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

import pandas as pd
import pyarrow as pa

from airflow_anon.expectations.attribute_inference import inference_shares
from airflow_anon.expectations.base import ReleaseExpectation
from airflow_anon.expectations.class_sizes import size_bins
from airflow_anon.expectations.class_table import MARK
from airflow_anon.expectations.margin import margin
from airflow_anon.expectations.population import labels_of, read_table, texts_of
from airflow_anon.expectations.records import Marked
from engine import Count, Finding, InvalidData, Message, recount

if TYPE_CHECKING:
    from airflow_anon.expectations.class_table import ClassTable

PERSONS = ("persons", "persons_suppressed_share")
"""Keys of the report of such a job, beside those of others."""
FURTHER = "further_rows"
"""The same, of a job with `max_rows`."""
_SMALL = 11
_CELL = "cell"


class ExpectPersonsInEachClass(ReleaseExpectation):
    """Every class of the release, that of suppressed records included, satisfies each privacy model in persons.

    The release has no persons: the source is generalized to the levels of the report, its records must be those of the
    release as often as there, by cell and by each sensitive value that models read, and with them their persons are
    counted. Every figure of the report is recounted as well.

    Parameters
    ----------
    subject : str
        The column of the source that says whose a record is.
    minimum : int
        Distinct persons that each class must have.
    minimum_class_size : int
        Records that the models together demand of a class.
    quasi_identifiers : list of str
    models : list of dict
        The privacy models of the job, in its order.
    attributes : dict
        `order`, `missing` and `hierarchy` of each sensitive attribute that a model names, as far as the job has them.
    sensitive : list of str
        All sensitive columns.
    source : dict
        Where the extracted table is, and how its values are read: as of `source_of`.
    suppressed : {"star", "drop"}
        Whether suppressed records are in the release, or left out.
    marked : {"none", "some", "all"}
        How many records of the release are suppressed ones, by its report.
    figures : dict
        The parts of the report that are recounted.
    threshold : float
        Probability of being found from which on a person is at risk.
    max_rows : int
        Rows of a person that stay, 0 for all.
    rows_key : str
        The key by which they were chosen, hexadecimal; it is not published.
    """

    subject: str
    minimum: int
    minimum_class_size: int
    quasi_identifiers: list[str]
    models: list[dict[str, Any]]
    attributes: dict[str, Any]
    sensitive: list[str]
    source: dict[str, Any]
    suppressed: Literal["star", "drop"]
    marked: Marked
    figures: dict[str, Any]
    threshold: float
    max_rows: int
    rows_key: str

    success_keys: ClassVar[tuple[str, ...]] = (
        "subject",
        "minimum",
        "quasi_identifiers",
        "models",
        "suppressed",
        "max_rows",
    )
    template: ClassVar[str] = (
        "Every equivalence class over $quasi_identifiers must have records of at least $minimum distinct persons by "
        "$subject, and satisfy in persons: $models."
    )

    def read_columns(self) -> list[str]:
        """Quasi-identifiers and sensitive attributes."""
        return [*self.quasi_identifiers, *dict.fromkeys([*self.attributes, *self.sensitive])]

    def judge(self, release: ClassTable) -> Finding:
        """Count the persons of each class, and recount every figure."""
        file = _persons_of(self, release)
        if file is None:
            return self._told("the records are not those of the staged source at the levels of the report", None, False)
        persons = file.sizes()["persons"]
        smallest = int(persons.min()) if len(persons) else None
        wrong = [*self._failing(file), *self._disagreements(file, release)]
        below = int((persons < self.minimum).sum())
        counted = Message.of(
            "{below} of {classes} equivalence classes have fewer than {minimum} persons",
            below=Count(below),
            classes=Count(len(persons)),
            minimum=self.minimum,
        )
        text = Message(counted, f"; not as counted: {', '.join(wrong)}" if wrong else "")
        return self._told(text, smallest, not below and not wrong)

    def _told(self, message: Any, observed: float | None, holds: bool) -> Finding:
        return Finding(self.expectation_type, holds, observed, self.minimum, None, message)

    def _failing(self, file: _File) -> Iterator[str]:
        """Name the models that a class fails, the class of suppressed records included."""
        for model in self.models:
            judged = [self._recount(file, model, kept=True)]
            judged += [self._recount(file, model, kept=False)] if self.marked != "none" else []
            if not all(found.holds for found in judged):
                yield str(model["model"])

    def _recount(self, file: _File, model: Mapping[str, Any], *, kept: bool) -> Finding:
        name = model.get("attribute")
        table, classes = file.counted(name, kept=kept)
        return recount(table, [_CELL], model, attribute=self.attributes.get(name or ""), kept=classes)

    def _disagreements(self, file: _File, release: ClassTable) -> Iterator[str]:
        """Name the figures of the report that are others here."""
        sizes = file.sizes()
        persons: list[int] = sizes["persons"].tolist()
        classes = {**_classes(persons), "distribution": size_bins(persons, self.minimum, sizes["records"].tolist())}
        inferred = {name: inference_shares(release, name, self.minimum_class_size) for name in self.sensitive}
        counted: dict[str, Any] = {"classes": classes, "risk": self._risk(file)}
        if self.figures.get("attribute_inference") is not None:
            counted["attribute_inference"] = inferred
        yield from (part for part, found in counted.items() if not _equal(self.figures.get(part), found))
        share = file.persons_without_kept / file.number
        for key, found in zip(PERSONS, (file.number, share), strict=True):
            if self.figures.get(key) is not None and not _equal(self.figures[key], found):
                yield key
        if not _same_further_rows(self.figures.get(FURTHER), file):
            yield FURTHER
        yield from self._other_judgements(file)

    def _other_judgements(self, file: _File) -> Iterator[str]:
        stated = self.figures.get("privacy")
        stated = stated if isinstance(stated, list) else []
        for position, (model, entry) in enumerate(zip_longest(self.models, stated)):
            if model is None or not isinstance(entry, Mapping) or not self._as_found(file, model, entry):
                yield f"privacy.{position}"
        margins = [entry.get("margin") for entry in stated if isinstance(entry, Mapping)]
        known = [left for left in margins if isinstance(left, int | float) and not isinstance(left, bool)]
        if not _equal(self.figures.get("privacy_margin"), min(known, default=None)):
            yield "privacy_margin"

    def _as_found(self, file: _File, model: Mapping[str, Any], stated: Mapping[str, Any]) -> bool:
        found = self._recount(file, model, kept=True)
        if found.required is None or found.sense is None:
            return False
        left = margin(found.required, found.sense, found.observed, holds=found.holds)
        counted = {"holds": found.holds, "observed": found.observed, "required": found.required, "margin": left}
        return stated.get("sense") == found.sense and all(_equal(stated.get(key), one) for key, one in counted.items())

    def _risk(self, file: _File) -> dict[str, float]:
        smallest: list[int] = file.smallest_classes().tolist()
        limit = Fraction(str(self.threshold))
        below = sum(size < _SMALL for size in smallest)
        highest = 1 / min(smallest, default=math.inf)
        found = sum(Fraction(1, size) >= limit for size in smallest)
        return {
            "prosecutor": highest,
            "journalist": highest,
            "marketer": _share(math.fsum(1 / size for size in smallest), smallest),
            "threshold": self.threshold,
            "prosecutor_records_at_risk": _share(found, smallest),
            "journalist_records_at_risk": _share(found, smallest),
            "records_below_11": below,
            "share_below_11": _share(below, smallest),
            "sample_uniqueness": _share(smallest.count(1), smallest),
        }


@dataclass(frozen=True)
class _File:
    """The records of a release: `cell`, `person`, whether it is `kept`, and each sensitive attribute as a code.

    Attributes
    ----------
    number : int
        Distinct persons of the source.
    values : dict of attribute to pyarrow Array
        The value of each code.
    left_out : int or None
        Rows beyond the `max_rows` of a person; None without.
    rows : int
        Records to release, the suppressed ones included.
    """

    records: pd.DataFrame
    number: int
    values: dict[str, pa.Array]
    left_out: int | None
    rows: int

    def sizes(self) -> pd.DataFrame:
        """Return `persons` and `records` of each class."""
        by_class = self.records.groupby(_CELL)["person"]
        return pd.DataFrame({"persons": by_class.nunique(), "records": by_class.size()})

    def smallest_classes(self) -> pd.Series:
        """Return the persons of the smallest class of each person."""
        sizes = self.records[_CELL].map(self.sizes()["persons"])
        return sizes.groupby(self.records["person"]).min()

    @property
    def persons_without_kept(self) -> int:
        """Persons of whom no record is kept."""
        return self.number - int(self.records.loc[self.records["kept"], "person"].nunique())

    def counted(self, attribute: str | None, *, kept: bool) -> tuple[pa.Table, pa.Table]:
        """Return the persons once for each value in the release, and once for each value in each class."""
        chosen = self.records[self.records["kept"]] if kept else self.records
        if attribute is None:
            classes = self._table(chosen[[_CELL, "person"]].drop_duplicates(), None)
            return classes, classes
        column = f"value {attribute}"
        whole = self.records[["person", column]].drop_duplicates().assign(**{_CELL: 0})
        return self._table(whole, attribute), self._table(
            chosen[[_CELL, "person", column]].drop_duplicates(), attribute
        )

    def _table(self, rows: pd.DataFrame, attribute: str | None) -> pa.Table:
        cells = pa.array(rows[_CELL].to_numpy()).cast(pa.string())
        if attribute is None:
            return pa.table({_CELL: cells})
        return pa.table({_CELL: cells, attribute: self.values[attribute].take(pa.array(rows[f"value {attribute}"]))})


def _persons_of(of: ExpectPersonsInEachClass, release: ClassTable) -> _File | None:
    """Give the records of a release their persons; None if they are not those of the source.

    Raises
    ------
    InvalidData
        The source is not given, or cannot be read, or lacks a column or a person.
    """
    if of.source["people"]["path"] is None:
        raise InvalidData("only the extracted source says whose the records are, and it is not given; give its path")
    table = read_table(of.source["people"], "source")
    wanted = [*of.quasi_identifiers, *of.attributes, of.subject]
    if not set(wanted) <= set(table.column_names):
        raise InvalidData("source: lacks columns that say what is counted and whose it is; give the extracted one")
    persons, number = _numbered(texts_of(table.select([of.subject]), "source")[of.subject], of.subject)
    left_out = None
    if of.max_rows:
        stays = _staying(persons, of.max_rows, of.rows_key)
        left_out, table, persons = int((~stays).sum()), table.filter(pa.array(stays)), persons[stays]
    texts = texts_of(table.select(of.quasi_identifiers), "source")
    released = release.text().to_pandas(types_mapper=pd.ArrowDtype)
    columns, refused = [], pd.Series(False, index=texts.index)
    for place, name in enumerate(of.quasi_identifiers):
        labels, refuses = labels_of(name, texts[name], of.source["attributes"][name], of.source["levels"][name])
        refused |= refuses
        both = pd.concat(
            [labels.astype(object), released[str(place)].astype(object), pd.Series([MARK])], ignore_index=True
        )
        columns.append(pd.factorize(both.where(both.notna(), None), use_na_sentinel=False)[0])
    cells = pd.DataFrame(dict(enumerate(columns))).groupby(list(range(len(columns))), sort=False).ngroup()
    own, others, star = cells[: len(texts)], cells[len(texts) : -1].reset_index(drop=True), int(cells.iloc[-1])
    kept = own.isin(set(others)) & ~refused
    file = pd.DataFrame({_CELL: own.where(kept, star), "person": persons, "kept": kept})
    values, found = {}, {}
    for name, entry in of.attributes.items():
        tuples = release.tuples(name)
        codes, values[name] = _coded(table[name], tuples["value"], entry)
        file[f"value {name}"] = codes[: len(texts)]
        cells_of = _cells_of(tuples.select(released.columns), release, others)
        found[f"value {name}"] = _Counted(cells_of, codes[len(texts) :], tuples["records"].to_numpy())
    file = file[kept] if of.suppressed == "drop" else file
    same = _same(file.groupby(_CELL).size(), pd.Series(release.sizes).groupby(others.to_numpy()).sum())
    for column, one in found.items():
        stated = pd.Series(one.records).groupby([one.cells, one.codes]).sum()
        same = same and _same(file.groupby([_CELL, column]).size(), stated)
    return _File(file, number, values, left_out, len(texts)) if same else None


class _Counted(NamedTuple):
    """Pairs of a cell and the code of a value in the release, with their records, shape (P,) each."""

    cells: Any
    codes: Any
    records: Any


def _same(one: pd.Series, other: pd.Series) -> bool:
    """Tell whether two counts have the same keys with the same numbers."""
    first, second = (dict(zip(found.index.tolist(), found.tolist(), strict=True)) for found in (one, other))
    return first == second


def _cells_of(places: pa.Table, release: ClassTable, cells: pd.Series) -> Any:
    """Return the cell of each row of the places of labels, shape (P,)."""
    names = places.column_names
    classes = release.places.to_pandas().assign(cell=cells.to_numpy())
    return places.to_pandas().merge(classes, on=names, how="left")["cell"].to_numpy()


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
    persons, _ = _numbered(texts_of(table.select([subject]), "source")[subject], subject)
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


def _same_further_rows(stated: Any, file: _File) -> bool:
    """Tell whether a report states the rows that were left out, or withholds how few they are."""
    if file.left_out is None or not isinstance(stated, Mapping):
        return file.left_out is None and stated is None
    if stated.get("left_out") is None:
        return stated.get("share") is None
    return _equal(stated, {"left_out": file.left_out, "share": file.left_out / (file.left_out + file.rows)})


def _numbered(column: pd.Series, subject: str) -> tuple[Any, int]:
    """Return a number for each record's person; case and blanks tell nobody apart."""
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
    absent = [text is None for text in distinct]
    return codes, pa.array([None if gone else one for gone, one in zip(absent, by_code.to_pylist(), strict=True)], kind)


def _classes(sizes: Sequence[int]) -> dict[str, float | None]:
    if not sizes:
        return {"number": 0, "smallest": None, "median": None, "largest": None}
    return {"number": len(sizes), "smallest": min(sizes), "median": median(sizes), "largest": max(sizes)}


def _share(part: float, persons: Sequence[int]) -> float:
    return part / len(persons) if persons else 0.0


def _equal(stated: Any, counted: Any) -> bool:
    """Compare figures, and mappings of them, which must have the same keys; true is no number."""
    if isinstance(counted, Mapping):
        same = isinstance(stated, Mapping) and set(stated) == set(counted)
        return same and all(_equal(stated[key], one) for key, one in counted.items())
    if isinstance(counted, list):
        # as text neither true nor 1.0 is 1
        return json.dumps(stated, sort_keys=True) == json.dumps(counted, sort_keys=True)
    if isinstance(counted, bool) or isinstance(stated, bool):
        return stated is counted
    if not isinstance(stated, int | float) or counted is None:
        return stated is None and counted is None
    return math.isclose(stated, counted, rel_tol=1e-9, abs_tol=1e-12)

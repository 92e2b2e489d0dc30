"""A release of a job that counts persons, recounted with the persons of the staged source.

Read, generalized and counted with pandas (`source_records`, `pictures`, `persons_of_file`), so it shares nothing with
the engine's verification except the rows of hierarchies and the recount of each model on what was counted here.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import zip_longest
from statistics import median
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import pandas as pd

from airflow_anon.expectations.attribute_inference import inference_shares
from airflow_anon.expectations.base import ReleaseExpectation
from airflow_anon.expectations.class_sizes import size_bins
from airflow_anon.expectations.margin import margin
from airflow_anon.expectations.persons_of_file import persons_of
from airflow_anon.expectations.records import Marked
from airflow_anon.expectations.source_records import CELL
from airflow_anon.expectations.stated import is_figure, is_least_margin, names_model
from engine import TABLE_COLUMN, Count, Finding, Message, recount

if TYPE_CHECKING:
    from airflow_anon.expectations.class_table import ClassTable
    from airflow_anon.expectations.persons_of_file import PersonsOfFile

PERSONS = ("persons", "persons_suppressed_share")
"""Keys of the report of such a job, beside those of others."""
KNOWS = "knows"
"""The attacker, which reports of earlier versions do not name: they are of any one row."""
FURTHER = "further_rows"
"""The same, of a job with `max_rows`."""
TABLES = "tables"
"""The same, of a job with tables."""
_SMALL = 11


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
    knows : {"any-row", "all-rows", "some-rows"}
        What attackers know of a person; beyond any one row, whole persons are left out of the release.
    known_rows : int
        How many rows they know, if some; else 0.
    tables : dict of str to list of str
        The released columns of each of several linked tables; empty for one table.
    below : int
        Where the report withholds how few persons' records were left out: more than these persons; else 0.
    reported_suppressed : int
        Suppressed records by the report; 0 where it withholds how many.
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
    knows: Literal["any-row", "all-rows", "some-rows"]
    known_rows: int
    tables: dict[str, list[str]]
    below: int
    reported_suppressed: int

    success_keys: ClassVar[tuple[str, ...]] = (
        "subject",
        "minimum",
        "quasi_identifiers",
        "models",
        "suppressed",
        "max_rows",
        "knows",
        "known_rows",
    )
    template: ClassVar[str] = (
        "Every equivalence class over $quasi_identifiers must have records of at least $minimum distinct persons by "
        "$subject, and satisfy in persons: $models."
    )

    def read_columns(self) -> list[str]:
        """Quasi-identifiers and sensitive attributes."""
        return [*self.quasi_identifiers, *dict.fromkeys([*self.attributes, *self.sensitive])]

    def people_columns(self) -> list[str]:
        """Columns whose values are read with the persons of the source: quasi-identifiers, and those of models."""
        return [*self.quasi_identifiers, *self.attributes]

    def judge(self, release: ClassTable) -> Finding:
        """Count the persons of each class, and recount every figure."""
        file = persons_of(self, release)
        if file is None:
            return self._told("the records are not those of the staged source at the levels of the report", None, False)
        persons = file.sizes()["persons"] if file.parts is None else file.parts
        smallest = int(persons.min()) if len(persons) else None
        wrong = [*self._failing(file), *self._disagreements(file, release)]
        below = int((persons < self.minimum).sum())
        counted = Message.of(
            "equivalence classes with fewer than {minimum} persons: {below} of {classes}",
            below=Count(below),
            classes=Count(len(persons)),
            minimum=self.minimum,
        )
        text = Message(counted, f"; not as counted: {', '.join(wrong)}" if wrong else "")
        return self._told(text, smallest, not below and not wrong)

    def _told(self, message: Any, observed: float | None, holds: bool) -> Finding:
        return Finding(self.expectation_type, holds, observed, self.minimum, None, message)

    def _failing(self, file: PersonsOfFile) -> Iterator[str]:
        """Name the models that a class fails, the class of suppressed records included."""
        for model in self.models:
            judged = [self._recount(file, model, kept=True)]
            judged += [self._recount(file, model, kept=False)] if self.marked != "none" else []
            if not all(found.holds for found in judged):
                yield str(model["model"])

    def _recount(self, file: PersonsOfFile, model: Mapping[str, Any], *, kept: bool) -> Finding:
        name = model.get("attribute")
        if file.parts is not None:
            return self._parts_shared(model, file.shared[self.models.index(dict(model))])
        table, classes = file.counted(name, kept=kept)
        return recount(table, [CELL], model, attribute=self.attributes.get(name or ""), kept=classes)

    def _parts_shared(self, model: Mapping[str, Any], shared: pd.Series) -> Finding:
        """Judge a model of an attacker who knows some rows: of the persons who share a part, or of their values."""
        name = model.get("attribute")
        required = model["k"] if name is None else model["l"]
        few = int((shared < required).sum())
        message = Message.of(
            "persons who share {rows} of their rows with fewer than {required} {what}: {few} of {persons}",
            few=Count(few),
            persons=Count(len(shared)),
            rows=self.known_rows,
            required=required,
            what="persons" if name is None else f"values of {name}",
        )
        smallest = int(shared.min()) if len(shared) else None
        return Finding(str(model["model"]), few == 0, smallest, required, name, message, "at-least")

    def _disagreements(self, file: PersonsOfFile, release: ClassTable) -> Iterator[str]:
        """Name the figures of the report that are others here."""
        sizes = file.sizes()
        persons: list[int] = sizes["persons"].tolist()
        classes = {**_classes(persons), "distribution": size_bins(persons, self.minimum, sizes["records"].tolist())}
        having = self.source.get("having", {})
        inferred = {
            name: inference_shares(release, name, self.minimum_class_size, having.get(name)) for name in self.sensitive
        }
        counted: dict[str, Any] = {"classes": classes, "risk": self._risk(file)}
        if self.figures.get("attribute_inference") is not None:
            counted["attribute_inference"] = inferred
        yield from (part for part, found in counted.items() if not _equal(self.figures.get(part), found))
        share = file.persons_without_kept / file.number
        for key, found in zip(PERSONS, (file.number, share), strict=True):
            if self.figures.get(key) is not None and not _equal(self.figures[key], found):
                yield key
        knows = self.figures.get(KNOWS)
        own = {"rows": self.known_rows} if self.known_rows else self.knows
        if ("any-row" if knows is None else knows) != own:
            yield KNOWS
        if not _same_further_rows(self.figures.get(FURTHER), file):
            yield FURTHER
        if self.tables and self.figures.get(TABLES) != self._tables_of(release):
            yield TABLES
        yield from self._other_judgements(file)

    def _tables_of(self, release: ClassTable) -> dict[str, Any]:
        """Count the records of each of the linked tables."""
        names = pd.Series(release.labels[TABLE_COLUMN].to_pylist()).take(release.codes(TABLE_COLUMN))
        records = pd.Series(release.sizes).groupby(names.to_numpy()).sum()
        return {
            name: {"released": int(records.get(name, 0)), "columns": columns} for name, columns in self.tables.items()
        }

    def _other_judgements(self, file: PersonsOfFile) -> Iterator[str]:
        stated = self.figures.get("privacy")
        stated = stated if isinstance(stated, list) else []
        for position, (model, entry) in enumerate(zip_longest(self.models, stated)):
            if model is None or not isinstance(entry, Mapping) or not self._as_found(file, model, entry):
                yield f"privacy.{position}"
        if not is_least_margin(self.figures.get("privacy_margin"), stated):
            yield "privacy_margin"

    def _as_found(self, file: PersonsOfFile, model: Mapping[str, Any], stated: Mapping[str, Any]) -> bool:
        found = self._recount(file, model, kept=True)
        if found.required is None or found.sense is None or not names_model(stated, model):
            return False
        left = margin(found.required, found.sense, found.observed, holds=found.holds)
        counted = {"holds": found.holds, "observed": found.observed, "required": found.required, "margin": left}
        return stated.get("sense") == found.sense and all(_equal(stated.get(key), one) for key, one in counted.items())

    def _risk(self, file: PersonsOfFile) -> dict[str, float]:
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


def _same_further_rows(stated: Any, file: PersonsOfFile) -> bool:
    """Tell whether a report states the rows that were left out and their share, or withholds both."""
    if file.left_out is None or not isinstance(stated, Mapping):
        return file.left_out is None and stated is None
    if stated.get("left_out") is None:
        return stated.get("share") is None
    return _equal(stated, {"left_out": file.left_out, "share": file.left_out / (file.left_out + file.rows)})


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
    return is_figure(stated, counted)

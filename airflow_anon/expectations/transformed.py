"""Coded and aggregated columns of a release, and the staged source with coded numbers, for the second judge."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from airflow_anon.expectations.base import ReleaseExpectation
from airflow_anon.expectations.class_table import GROUPS
from engine import Count, Finding, InvalidData, Message

if TYPE_CHECKING:
    from airflow_anon.expectations.class_table import ClassTable
    from engine import Job


class ExpectCodedNumbers(ReleaseExpectation):
    """The numbers of a column are within the ends of its coding, and multiples of its step between them.

    Parameters
    ----------
    column : str
    coding : dict of str to number
        Those of `bottom`, `top` and `round_to` that the job names.
    aggregate : str
        Of a microaggregated column how; empty of others. Means are between the ends, and no multiples.
    quasi_identifiers : list of str
    """

    column: str
    coding: dict[str, Any]
    aggregate: str
    quasi_identifiers: list[str]

    success_keys: ClassVar[tuple[str, ...]] = ("column", "coding", "aggregate", "quasi_identifiers")
    template: ClassVar[str] = "The numbers of $column must be coded: $coding."

    def read_columns(self) -> list[str]:
        """Quasi-identifiers and the column."""
        return [*self.quasi_identifiers, self.column]

    def judge(self, release: ClassTable) -> Finding:
        """Code each distinct number again."""
        values = pc.unique(release.tuples(self.column)["value"]).drop_null()
        texts = values.cast(pa.string()).to_pylist()
        if self.aggregate == "interval":
            texts = [end for text in texts for end in text.removeprefix("[").removesuffix("]").split(", ")]
        elif not is_number(values.type):
            return self._result(None, Message(f"the column is {values.type}, and coded numbers are numbers"))
        wrong = sum(not self._has_form(text) for text in texts)
        return self._result(wrong, Message.of("distinct numbers that are not coded so: {wrong}", wrong=Count(wrong)))

    def _has_form(self, text: str) -> bool:
        ends = {key: end for key, end in self.coding.items() if key != "round_to"}
        again = coded(text, ends if self.aggregate in {"mean", "mdav"} else self.coding)
        return again is not None and float(again) == float(text)

    def _result(self, wrong: int | None, message: Message) -> Finding:
        return Finding(
            self.expectation_type, holds=wrong == 0, observed=wrong, required=0, column=self.column, message=message
        )


class ExpectOneAggregatePerClass(ReleaseExpectation):
    """All records of an equivalence class have the same value in a microaggregated column; suppressed ones have none.

    So the column tells nothing apart that the quasi-identifiers do not.

    Parameters
    ----------
    column : str
    quasi_identifiers : list of str
    """

    column: str
    quasi_identifiers: list[str]

    success_keys: ClassVar[tuple[str, ...]] = ("column", "quasi_identifiers")
    template: ClassVar[str] = (
        "All records with the same $quasi_identifiers must have one value of $column, and suppressed ones none."
    )

    def read_columns(self) -> list[str]:
        """Quasi-identifiers and the column."""
        return [*self.quasi_identifiers, self.column]

    def judge(self, release: ClassTable) -> Finding:
        """Count the classes with several values, and suppressed records with one."""
        several = release.tuples(self.column).num_rows - release.sizes.size
        everything, kept = release.counted(self.column), release.counted(self.column, starred=False)
        shown = [len(table) - table[self.column].null_count for table in (everything, kept)]
        wrong = several + int(np.subtract(*shown))
        message = Message.of("values too many: {wrong}", wrong=Count(wrong))
        return Finding(
            self.expectation_type, holds=wrong == 0, observed=wrong, required=0, column=self.column, message=message
        )


class ExpectGroupsOfAlikeRecords(ReleaseExpectation):
    """Records with equal labels and equal means in all grouped columns are as many as a class must have.

    So who knows the values of these columns too finds no fewer records than the criteria promise. Suppressed records
    have no means.

    Parameters
    ----------
    grouped : list of str
        Columns whose values are means of groups within a class.
    fewest : int
    quasi_identifiers : list of str
    """

    grouped: list[str]
    fewest: int
    quasi_identifiers: list[str]

    success_keys: ClassVar[tuple[str, ...]] = ("grouped", "fewest", "quasi_identifiers")
    template: ClassVar[str] = (
        "Records with the same $quasi_identifiers and the same $grouped must be at least $fewest, and suppressed ones "
        "have no $grouped."
    )

    def read_columns(self) -> list[str]:
        """Quasi-identifiers and the columns."""
        return [*self.quasi_identifiers, *self.grouped]

    def judge(self, release: ClassTable) -> Finding:
        """Count the groups that are too small, and suppressed records with a mean."""
        kept = release.counted(GROUPS, starred=False)
        wrong = int((kept[release.count].to_numpy() < self.fewest).sum())
        for name in self.grouped:
            if not is_number(release.schema.field(name).type):
                return self._result(None, Message(f"{name!r} holds no numbers, and means are numbers"))
            everything, own = release.counted(name), release.counted(name, starred=False)
            shown = [len(table) - table[name].null_count for table in (everything, own)]
            wrong += int(np.subtract(*shown))
        return self._result(wrong, Message.of("groups that are too small or suppressed: {wrong}", wrong=Count(wrong)))

    def _result(self, wrong: int | None, message: Message) -> Finding:
        return Finding(
            self.expectation_type, holds=wrong == 0, observed=wrong, required=0, column=None, message=message
        )


def is_number(kind: pa.DataType) -> bool:
    """Tell whether a type is one of those that coded numbers have."""
    return bool(kind in {pa.int64(), pa.float64()} or pa.types.is_decimal(kind))


def coded(text: str, coding: Mapping[str, Any]) -> Decimal | None:
    """Return the number that a text is, coded: the end that it reaches, else rounded; None if it is none."""
    try:
        number = Decimal(text)
    except InvalidOperation:
        return None
    low, high = (Decimal(str(coding.get(key, end))) for key, end in (("bottom", "-inf"), ("top", "inf")))
    if "round_to" in coding and low < number < high:
        number = _rounded(number, Decimal(str(coding["round_to"])))
    return max(low, min(high, number)) or Decimal(0)  # there is no -0, of an end neither


def _rounded(number: Decimal, step: Decimal) -> Decimal:
    """Return the nearest multiple of a step, from the middle to the even one, by whole numbers alone."""
    scale = 10 ** max(0, *(-int(one.as_tuple().exponent) for one in (number, step)))
    whole, width = int(number * scale), int(step * scale)
    below, rest = divmod(whole, width)
    up = 2 * rest > width or (2 * rest == width and below % 2 == 1)
    return Decimal((below + up) * width) / scale


def released_types(job: Job, source_types: Mapping[str, str]) -> dict[str, str]:
    """Return the types of released columns by those of the source, as text, where the job changes them."""
    found = dict(source_types)
    for name in job.coded:
        if name in found:
            found[name] = _number_type(found[name], job.attributes[name].order)
    for name in job.perturbed:
        if name in found and job.attributes[name].noise is not None:
            found[name] = _number_type(found[name], job.attributes[name].order)
    for name in job.aggregated:
        how = job.attributes[name].microaggregation
        if how in {"mean", "mdav", "interval"}:
            found[name] = "string" if how == "interval" else "double"
        elif how == "median" and name in found:
            found[name] = _number_type(found[name], job.attributes[name].order)
    return found


def _number_type(kind: str, order: str | None) -> str:
    if kind.startswith("decimal"):
        return kind
    whole = order == "integer" if "string" in kind else "int" in kind
    return "int64" if whole else "double"


def coding_settings(job: Job) -> dict[str, Any]:
    """Return how the columns of a source are coded, by name."""
    return {
        name: {
            "coding": (job.attributes[name].coding or {}).model_dump(exclude_none=True),
            "missing": list(job.attributes[name].missing),
            "order": job.attributes[name].order,
        }
        for name in job.coded
    }


def with_coded_numbers(table: pa.Table, coding: Mapping[str, Any]) -> pa.Table:
    """Return a table with its numbers coded, of the types that they have in the release.

    Raises
    ------
    InvalidData
        A value is no number.
    """
    for name, settings in coding.items():
        if name not in table.column_names:
            continue
        column = table[name].combine_chunks()
        column = column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
        kind = _number_type(str(column.type), settings["order"])
        texts = column.cast(pa.string()).dictionary_encode(null_encoding="encode")
        numbers = [
            None if text is None or text in settings["missing"] else coded(text, settings["coding"])
            for text in texts.dictionary.to_pylist()
        ]
        try:
            made = {"int64": int, "double": float}.get(kind, Decimal)
            typed = pa.array(
                [None if number is None else made(number) for number in numbers],
                column.type if kind.startswith("decimal") else {"int64": pa.int64(), "double": pa.float64()}[kind],
            )
        except (pa.ArrowException, OverflowError, ValueError):  # a message may quote a value
            raise InvalidData("source: a coded number does not fit the type of its column") from None
        table = table.set_column(table.column_names.index(name), name, typed.take(texts.indices))
    return table

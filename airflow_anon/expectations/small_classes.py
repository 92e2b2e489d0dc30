"""Suppression of small classes alone: all classes of the source, at the levels of the release, are accounted for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from airflow_anon.expectations.base import ReleaseExpectation
from airflow_anon.expectations.class_table import MARK
from airflow_anon.expectations.population import people_by_labels
from engine import Finding

if TYPE_CHECKING:
    from airflow_anon.expectations.class_table import ClassTable


def large_classes(source: Mapping[str, Any], minimum: int) -> Counter[tuple[str | None, ...]]:
    """Count the records of a source by their labels, in classes of at least so many.

    Parameters
    ----------
    source : mapping
        As of `source_of`.
    """
    people = people_by_labels(source)
    assert people is not None  # noqa: S101 (the suite gives a source)
    sizes = people["released" if source["subset"] else "people"].to_pylist()
    keys = zip(*(column.to_pylist() for column in people.columns[: len(source["attributes"])]), strict=True)
    return Counter({key: size for key, size in zip(keys, sizes, strict=True) if size >= minimum})


class ExpectOnlySmallClassesSuppressed(ReleaseExpectation):
    """Every class of the source with the records that the models demand is released whole, and no other class is.

    Of a differentially private job it is every class of the records that were drawn.

    Parameters
    ----------
    minimum : int
        Records that the models demand of a class.
    source : dict
        Where the extracted table is, and how its values are read: as of `source_of`.
    suppressed : {"star", "drop"}
        Whether suppressed records are in the release, or left out.
    reported_suppressed : int
        Suppressed records of the release, by the report.
    quasi_identifiers : list of str
    """

    minimum: int
    source: dict[str, Any]
    suppressed: Literal["star", "drop"]
    reported_suppressed: int
    quasi_identifiers: list[str]

    success_keys: ClassVar[tuple[str, ...]] = ("minimum", "suppressed", "quasi_identifiers")
    template: ClassVar[str] = "Only classes of fewer than $minimum records of the source may be suppressed."

    def read_columns(self) -> list[str]:
        """Quasi-identifiers."""
        return self.quasi_identifiers

    def judge(self, release: ClassTable) -> Finding:
        """Count the classes of the source and of the release."""
        expected = large_classes(self.source, self.minimum)
        if self.suppressed == "star":
            expected[(MARK,) * len(self.quasi_identifiers)] += self.reported_suppressed
        labels = zip(*(column.to_pylist() for column in release.text().columns), strict=True)
        released = Counter(dict(zip(labels, release.sizes.tolist(), strict=True)))
        holds = +expected == released
        text = "exactly the classes below the size demanded are suppressed"
        return Finding(
            self.expectation_type,
            holds=holds,
            observed=None,
            required=None,
            column=None,
            message=text if holds else f"not {text}",
        )

"""The values of a quasi-identifier: labels of the chosen level, or of a local recoding of any level allowed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from airflow_anon.expectations.base import ReleaseExpectation
from airflow_anon.expectations.records import Marked, kept_classes
from airflow_anon.run.job_sections import sections
from engine import Count, Finding, Message

if TYPE_CHECKING:
    from airflow_anon.expectations.class_table import ClassTable

PUBLIC = ("minimum_level", "maximum_level", "nulls", "unseen")


class ExpectColumnValuesToBeLabels(ReleaseExpectation):
    """Every kept record has a label of the chosen level; only suppressed records have `*` in all quasi-identifiers.

    Parameters
    ----------
    column : str
    level : int or str
        Level that the report says was chosen; of a local recoding the levels that the job allows, in words: a record
        may have a label of any of them.
    attribute : dict
        The column's entry of the job file: hierarchy, bounds of the level, the reading of missing values, the treatment
        of values without an entry. The hierarchy is not published, because it may list values.
    quasi_identifiers : list of str
    marked : {"none", "some", "all"}
        How many records of the release are suppressed ones, by its report.
    """

    column: str
    level: int | str
    attribute: dict[str, Any]
    quasi_identifiers: list[str]
    marked: Marked

    success_keys: ClassVar[tuple[str, ...]] = ("column", "level", "attribute", "quasi_identifiers", "marked")
    template: ClassVar[str] = (
        "Values of $column must be labels of level $level, but where all of $quasi_identifiers are suppressed."
    )

    def public_kwargs(self) -> dict[str, Any]:
        """Leave the hierarchy out, except the name of its builder."""
        settings = {key: self.attribute[key] for key in PUBLIC if key in self.attribute}
        return {
            **super().public_kwargs(),
            "attribute": {"builder": self.attribute["hierarchy"]["builder"], **settings},
        }

    def read_columns(self) -> list[str]:
        """Quasi-identifiers."""
        return [*self.quasi_identifiers, *([] if self.column in self.quasi_identifiers else [self.column])]

    def judge(self, release: ClassTable) -> Finding:
        """Count the records, and the distinct values, that are not labels of the level."""
        hierarchy = hierarchy_of(self.attribute)
        if isinstance(self.level, int) and self.level not in self._allowed(hierarchy.level_count - 1):
            return self._result(None, Message(f"level {self.level} is outside the job's limits"))
        levels = self._levels(hierarchy.level_count - 1)
        wrong = [
            count
            for value, count in self._counts(release)
            if not any(is_label(self.attribute, hierarchy, value, level) for level in levels)
        ]
        message = Message.of(
            "distinct values that are not labels of level {level}: {values}, in records: {records}",
            records=Count(sum(wrong)),
            values=Count(len(wrong)),
            level=self.level,
        )
        return self._result(sum(wrong), message)

    def _result(self, wrong: int | None, message: Message) -> Finding:
        return Finding(
            self.expectation_type, holds=wrong == 0, observed=wrong, required=0, column=self.column, message=message
        )

    def _levels(self, highest: int) -> Iterable[int]:
        return [self.level] if isinstance(self.level, int) else self._allowed(highest)

    def _allowed(self, highest: int) -> range:
        return allowed_levels(self.attribute, highest)

    def _counts(self, release: ClassTable) -> Iterator[tuple[str | None, int]]:
        """Give the distinct values of the kept records, and how many have each."""
        kept = kept_classes(release, self.marked)
        texts = release.labels[self.column].to_pylist()
        records = np.zeros(len(texts), np.int64)
        np.add.at(records, release.codes(self.column)[kept], release.sizes[kept])
        return ((value, count) for value, count in zip(texts, records.tolist(), strict=True) if count)


def allowed_levels(attribute: Mapping[str, Any], highest: int) -> range:
    """Return the levels that a column's entry of the job file allows; its hierarchy ends at `highest`."""
    most = attribute.get("maximum_level")
    return range(attribute["minimum_level"], (highest if most is None else min(highest, most)) + 1)


def is_label(attribute: Mapping[str, Any], hierarchy: Any, value: str | None, level: int) -> bool:
    """Return whether a value is possible at a level; with `unseen: root` the root is possible at each."""
    if value is None:
        return attribute["nulls"] == "value"
    if hierarchy.is_label(value, level) and not (level == 0 and value in attribute.get("missing", ())):
        return True
    return attribute.get("unseen") == "root" and hierarchy.is_label(value, hierarchy.level_count - 1)


def hierarchy_of(attribute: Mapping[str, Any]) -> Any:
    """Make the hierarchy from its entry of the job file: the smallest job that holds it."""
    # what is shifted is so by settings elsewhere in the job, and has the same labels
    entry = {key: value for key, value in attribute.items() if key != "action"}
    job = sections(attributes={"column": {**entry, "weight": 1}})
    return job.attributes["column"].hierarchy

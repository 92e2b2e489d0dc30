"""A privacy model of the job, recounted on the release."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import pyarrow.compute as pc

from airflow_anon.expectations.base import ReleaseExpectation
from airflow_anon.expectations.records import Marked, kept_records, starred_mask, without_mark
from engine import Finding, recount

if TYPE_CHECKING:
    import pyarrow as pa


class ExpectPrivacyModelToHold(ReleaseExpectation):
    """Every equivalence class of the kept records satisfies a privacy model.

    Parameters
    ----------
    model : dict
        The model and its parameters, as in the job file.
    quasi_identifiers : list of str
    marked : {"none", "some", "all"}
        How many records of the release are suppressed ones, by its report.
    """

    model: dict[str, Any]
    quasi_identifiers: list[str]
    marked: Marked

    success_keys: ClassVar[tuple[str, ...]] = ("model", "quasi_identifiers", "marked")
    template: ClassVar[str] = "Every equivalence class over $quasi_identifiers must satisfy: $model."

    def read_columns(self) -> list[str]:
        """Quasi-identifiers and the sensitive attribute."""
        attribute = self.model.get("attribute")
        return [*self.quasi_identifiers, *([attribute] if attribute else [])]

    def judge(self, records: pa.Table) -> Finding:
        """Recount the model."""
        kept = kept_records(records, self.quasi_identifiers, self.marked)
        return recount_kept(kept, self.quasi_identifiers, self.model)


def recount_kept(kept: pa.Table, quasi_identifiers: Sequence[str], model: Mapping[str, Any]) -> Finding:
    """Recount a model on all of the records given; those that are `*` throughout are a class like any other."""
    starred = pc.sum(starred_mask(kept, quasi_identifiers)).as_py() or 0
    if 0 < starred < kept.num_rows:
        kept = without_mark(kept, quasi_identifiers)
    return recount(kept, quasi_identifiers, model)

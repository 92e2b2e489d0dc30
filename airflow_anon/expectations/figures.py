"""The figures a release's report states about it: classes, risk, and what each privacy model observed."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, ClassVar

from airflow_anon.expectations.base import ReleaseExpectation
from airflow_anon.expectations.classes import class_sizes
from airflow_anon.expectations.records import Marked, kept_records
from engine import Finding, recount

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

PARTS = ("classes", "risk", "privacy")


class ExpectReportedFigures(ReleaseExpectation):
    """Classes, risk and the observed figure of each privacy model are in the report what they are in the release.

    Parameters
    ----------
    figures : dict
        The parts `classes`, `risk` and `privacy` of the report.
    models : list of dict
        The privacy models of the job, in its order.
    attributes : dict
        `order` and `hierarchy` of each sensitive attribute that a model names, as far as the job gives them.
    reported_kept : int
        Records that are not suppressed, by the report. Where the release does not tell them apart from suppressed
        ones, because `*` is a label as well, nothing is compared.
    quasi_identifiers : list of str
    marked : {"none", "some", "all"}
        How many records of the release are suppressed ones, by its report.
    """

    figures: dict[str, Any]
    models: list[dict[str, Any]]
    attributes: dict[str, Any]
    reported_kept: int
    quasi_identifiers: list[str]
    marked: Marked

    success_keys: ClassVar[tuple[str, ...]] = (
        "figures",
        "models",
        "attributes",
        "reported_kept",
        "quasi_identifiers",
        "marked",
    )
    template: ClassVar[str] = "Classes, risk and privacy figures of the report must be those of the release."

    def public_kwargs(self) -> dict[str, Any]:
        """Leave out what stands in the report and in the job beside this result."""
        hidden = {"figures", "models", "attributes"}
        return {key: value for key, value in super().public_kwargs().items() if key not in hidden}

    def read_columns(self) -> list[str]:
        """Quasi-identifiers and sensitive attributes."""
        attributes = dict.fromkeys(model["attribute"] for model in self.models if "attribute" in model)
        return [*self.quasi_identifiers, *attributes]

    def judge(self, records: pa.Table) -> Finding:
        """Recount every figure."""
        kept = kept_records(records, self.quasi_identifiers, self.marked)
        comparable = kept.num_rows == self.reported_kept
        wrong = list(self._disagreements(records, kept)) if comparable else []
        message = f"not as in the release: {', '.join(wrong)}" if wrong else "figures are those of the release"
        return Finding(
            self.expectation_type,
            holds=not wrong,
            observed=len(wrong),
            required=0,
            column=None,
            message=message if comparable else "kept and suppressed records look alike, no figure is compared",
        )

    def _disagreements(self, records: pa.Table, kept: pa.Table) -> Iterator[str]:
        sizes = class_sizes(kept, self.quasi_identifiers)
        for part, counted in (("classes", _classes(sizes)), ("risk", _risk(sizes))):
            stated = self.figures.get(part)
            if not isinstance(stated, Mapping):
                yield part
                continue
            yield from (f"{part}.{key}" for key, value in counted.items() if not _equal(stated.get(key), value))
        stated = self.figures.get("privacy")
        pairs = zip_longest(self.models, stated if isinstance(stated, list) else [])
        for position, (model, entry) in enumerate(pairs):
            if model is None or not isinstance(entry, Mapping) or not self._as_found(records, kept, model, entry):
                yield f"privacy.{position}"

    def _as_found(self, records: pa.Table, kept: pa.Table, model: Mapping[str, Any], stated: Mapping[str, Any]) -> bool:
        attribute = self.attributes.get(model.get("attribute", ""))
        found = recount(records, self.quasi_identifiers, model, attribute=attribute, kept=kept)
        return stated.get("holds") is found.holds and _close(stated.get("observed"), found.observed)


def _classes(sizes: pd.Series) -> dict[str, float | None]:
    if sizes.empty:
        return {"number": 0, "smallest": None, "median": None, "largest": None}
    return {
        "number": len(sizes),
        "smallest": int(sizes.min()),
        "median": float(sizes.median()),
        "largest": int(sizes.max()),
    }


def _risk(sizes: pd.Series) -> dict[str, float]:
    if sizes.empty:
        return {"prosecutor": 0.0, "marketer": 0.0}
    return {"prosecutor": 1 / int(sizes.min()), "marketer": len(sizes) / int(sizes.sum())}


def _equal(stated: Any, counted: float | None) -> bool:
    if isinstance(stated, bool) or not isinstance(stated, int | float) or counted is None:
        return stated is None and counted is None
    return math.isclose(stated, counted, rel_tol=1e-12)


def _close(stated: Any, counted: float | None) -> bool:
    """Compare a figure of a privacy model: a distance of zero may be stated as the rounding of its sum."""
    if isinstance(stated, bool) or not isinstance(stated, int | float) or counted is None:
        return stated is None and counted is None
    return math.isclose(stated, counted, rel_tol=1e-9, abs_tol=1e-12)

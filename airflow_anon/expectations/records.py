"""The class table of a release inside Great Expectations: a metric that gives it, and how many records are kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import pandas as pd
from great_expectations.core.metric_domain_types import MetricDomainTypes
from great_expectations.execution_engine import PandasExecutionEngine
from great_expectations.expectations.metrics.metric_provider import metric_value
from great_expectations.expectations.metrics.table_metric_provider import TableMetricProvider

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from airflow_anon.expectations.class_table import ClassTable

CLASSES = "release.classes"

Marked = Literal["none", "some", "all"]
"""How many records of a release are suppressed and have `*` in every quasi-identifier."""


class ReleaseClasses(TableMetricProvider):
    """The class table of the batch: the one cell of its frame."""

    metric_name = CLASSES

    @metric_value(engine=PandasExecutionEngine)
    def _pandas(
        cls,  # noqa: N805 (Great Expectations passes the class)
        execution_engine: PandasExecutionEngine,
        metric_domain_kwargs: dict[str, Any],
        **_: Any,
    ) -> ClassTable:
        frame, _, _ = execution_engine.get_compute_domain(metric_domain_kwargs, domain_type=MetricDomainTypes.TABLE)
        (found,) = frame[CLASSES]
        return found


def frame_of(release: ClassTable) -> pd.DataFrame:
    """Put a class table into the frame that Great Expectations wants: of its columns it would hash every row."""
    return pd.DataFrame({CLASSES: pd.Series([release], dtype=object)})


def kept_classes(release: ClassTable, marked: Marked) -> NDArray[np.bool_]:
    """Tell the classes of records that are not suppressed, shape (classes,).

    Parameters
    ----------
    marked : {"none", "some", "all"}
        How many records of the release are suppressed ones, by its report. If only some are, a table with `*` in all
        records was generalized to its root: it is one class.
    """
    starred = release.starred
    return starred | ~starred if marked == "none" or (marked == "some" and starred.all()) else ~starred


def kept_rows(release: ClassTable, marked: Marked, suppressed: int, *, root_is_mark: bool) -> int:
    """Return the number of records that are not suppressed; if `*` is a label, kept ones may look suppressed.

    Parameters
    ----------
    suppressed : int
        Suppressed records, by the report.
    """
    if marked == "none" or not root_is_mark:
        return int(release.sizes[kept_classes(release, marked)].sum())
    return max(0, release.rows - suppressed)

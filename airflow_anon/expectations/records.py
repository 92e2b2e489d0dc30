"""The records of a release inside Great Expectations: a metric that gives them as Arrow, and the kept records."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc
from great_expectations.core.metric_domain_types import MetricDomainTypes
from great_expectations.execution_engine import PandasExecutionEngine
from great_expectations.expectations.metrics.metric_provider import metric_value
from great_expectations.expectations.metrics.table_metric_provider import TableMetricProvider

RECORDS = "release.records"
MARK = "*"

Marked = Literal["none", "some", "all"]
"""How many records of a release are suppressed and have `*` in every quasi-identifier."""


class ReleaseRecords(TableMetricProvider):
    """The batch as an Arrow table; computed once for all expectations of a suite."""

    metric_name = RECORDS

    @metric_value(engine=PandasExecutionEngine)
    def _pandas(
        cls,  # noqa: N805 (Great Expectations passes the class)
        execution_engine: PandasExecutionEngine,
        metric_domain_kwargs: dict[str, Any],
        **_: Any,
    ) -> pa.Table:
        frame, _, _ = execution_engine.get_compute_domain(metric_domain_kwargs, domain_type=MetricDomainTypes.TABLE)
        try:
            # By position, so that two columns of the same name are both found.
            columns = [pa.array(frame.iloc[:, position].array) for position in range(frame.shape[1])]
        except pa.ArrowException as problem:
            raise ValueError(f"the batch is not Arrow data ({type(problem).__name__})") from None
        return pa.Table.from_arrays(columns, names=[str(name) for name in frame.columns])


def starred_mask(records: pa.Table, quasi_identifiers: Sequence[str]) -> pa.ChunkedArray:
    """Return which records have `*` in all quasi-identifiers, bool, shape (rows,)."""
    stars = [pc.fill_null(pc.equal(records[name].cast(pa.string()), MARK), False) for name in quasi_identifiers]
    return reduce(pc.and_, stars)


def kept_records(records: pa.Table, quasi_identifiers: Sequence[str], marked: Marked) -> pa.Table:
    """Return the records that are not suppressed.

    Parameters
    ----------
    marked : {"none", "some", "all"}
        How many records of the release are suppressed ones, by its report. If only some are, a table with `*` in all
        records was generalized to its root: it is one class.
    """
    if marked == "none":
        return records
    starred = starred_mask(records, quasi_identifiers)
    if marked == "some" and pc.all(starred).as_py():
        return records
    return records.filter(pc.invert(starred))


def kept_rows(records: pa.Table, kept: pa.Table, marked: Marked, suppressed: int, *, root_is_mark: bool) -> int:
    """Return the number of records that are not suppressed; if `*` is a label, kept ones may look suppressed.

    Parameters
    ----------
    suppressed : int
        Suppressed records, by the report.
    """
    if marked == "none" or not root_is_mark:
        return kept.num_rows
    return max(0, records.num_rows - suppressed)

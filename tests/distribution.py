"""Which tests share a process, and in which order the processes of `make test` take them.

In: the collected tests. Out: the same tests, slow files first, so that the last ones to end are short and all
processes end together. The tests of a file stay together, because they share what its fixtures make; so do the files of
a group.
"""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from xdist.scheduler import LoadFileScheduling

AIRFLOW = (
    "browser/test_audit.py",
    "browser/test_nightly_dag.py",
    "airflow_anon/jobs/test_heavy_tasks_run.py",
    "airflow_anon/observe/test_metrics_run.py",
)
"""Files that read the one running Airflow of all tests, the fixture `audit_world`."""
SPARK = (
    "airflow_anon/nights/test_on_spark.py",
    "airflow_anon/nights/test_on_spark_scheduled.py",
    "engine/backends/test_spark.py",
    "engine/backends/test_spark_apart.py",
    "engine/backends/test_spark_ends.py",
)
"""Files that share one session of Spark."""
MARIADB = (
    "airflow_anon/nights/test_inside_mariadb.py",
    "airflow_anon/operators/test_extract_mariadb.py",
    "airflow_anon/warehouse/test_contract_mariadb.py",
    "airflow_anon/warehouse/test_lies.py",
    "airflow_anon/warehouse/test_night_mariadb.py",
    "airflow_anon/warehouse/test_persons_mariadb.py",
)
"""Files that share one server."""
SLOW = (
    *AIRFLOW,
    *SPARK,
    *MARIADB,
    "airflow_anon/observe/test_lineage.py",
    "browser/test_audit_pages.py",
    "airflow_anon/nights/test_drift.py",
    "airflow_anon/nights/test_run.py",
    "airflow_anon/nights/test_population.py",
    "airflow_anon/nights/test_figures_attack.py",
    "airflow_anon/nights/test_in_warehouse.py",
    "airflow_anon/nights/test_harms.py",
    "airflow_anon/publication/test_every_point.py",
    "airflow_anon/publication/test_every_point_linked.py",
    "airflow_anon/publication/test_every_point_store.py",
    "airflow_anon/share/test_store_server.py",
    "airflow_anon/publication/test_withdraw.py",
    "conformance/test_vectors.py",
    "airflow_anon/nights/test_retention.py",
    "airflow_anon/nights/test_linked_tables.py",
    "airflow_anon/nights/test_approval.py",
    "airflow_anon/nights/test_ledger.py",
    "airflow_anon/nights/test_lifecycle.py",
    "docker/test_kernels.py",
    "docker/test_api_server.py",
    "airflow_anon/operators/test_full_disk.py",
    "airflow_anon/operators/test_publish.py",
    "airflow_anon/operators/test_series.py",
    "airflow_anon/operators/test_transformed.py",
    "airflow_anon/operators/test_extract.py",
    "airflow_anon/ledger/test_concurrency.py",
    "airflow_anon/ledger/test_tampering.py",
    "airflow_anon/observe/test_metrics_otel.py",
    "airflow_anon/plugin/test_pages.py",
    "airflow_anon/plugin/test_tampering.py",
    "airflow_anon/publication/test_review.py",
    "airflow_anon/publication/test_two_publishers.py",
    "airflow_anon/warehouse/test_contract.py",
    "browser/test_frontier_chart.py",
    "engine/backends/test_contract.py",
    "engine/backends/test_failures.py",
    "engine/cli/test_commands.py",
    "engine/frontiers/search/test_search.py",
    "engine/hierarchy/test_icd10cm.py",
    "engine/pipeline/test_whole_persons.py",
    "engine/search/test_packed.py",
    "engine/search/test_whole_persons.py",
    "engine/series/test_every_point.py",
    "engine/series/test_many_nights.py",
    "engine/series/test_nights.py",
    "engine/verification/test_table_wide.py",
)
"""Files below `tests/`, the slowest first: what takes about ten seconds of two quiet cores or more.

One process begins with the servers, which are waited for, the others with what needs a processor.
"""


class Scheduling(LoadFileScheduling):
    """Gives a process the next group of files, or the next file, in the order of the collection."""

    def _split_scope(self, nodeid: str) -> str:
        return group_of(nodeid)


def group_of(nodeid: str) -> str:
    """Return the name of what is given to one process as a whole: a group of files, or the file of a test."""
    shared = {"airflow": AIRFLOW, "spark": SPARK, "mariadb": MARIADB}
    return next((name for name, files in shared.items() if is_one_of(nodeid, files)), nodeid.partition("::")[0])


def is_one_of(nodeid: str, files: Iterable[str]) -> bool:
    """Whether a test is in one of these files below `tests/`."""
    return nodeid.partition("::")[0].endswith(tuple(f"tests/{name}" for name in files))


def slow_first(items: Iterable[pytest.Item]) -> list[pytest.Item]:
    """Order tests by the slowest file of their group; what is not listed follows as it was collected."""
    items = list(items)
    first: dict[str, int] = {}
    for item in items:
        group = group_of(item.nodeid)
        first[group] = min(first.get(group, len(SLOW)), _rank(item.nodeid))
    return sorted(items, key=lambda item: first[group_of(item.nodeid)])


def _rank(nodeid: str) -> int:
    file = nodeid.partition("::")[0]
    return next((rank for rank, name in enumerate(SLOW) if file.endswith(f"tests/{name}")), len(SLOW))

"""Run a suite on a table, with Great Expectations kept quiet, offline and in memory.

In: a release and a suite. Out: a plain document without a value of a record.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

import great_expectations as gx
from great_expectations.data_context.types.base import DataContextConfig, InMemoryStoreBackendDefaults

from airflow_anon.expectations.class_table import ClassTable, class_table
from airflow_anon.expectations.in_database import ReleasedTable
from airflow_anon.expectations.persons import ExpectPersonsInEachClass
from airflow_anon.expectations.records import frame_of

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa
    from great_expectations.core.expectation_validation_result import ExpectationValidationResult


def run_suite(
    release: pa.Table | Path | ReleasedTable, suite: gx.ExpectationSuite, memory: int | None = None
) -> dict[str, Any]:
    """Validate a release: its classes are counted in one pass, and the expectations judge these.

    Parameters
    ----------
    release : pyarrow Table, path of a Parquet file, or ReleasedTable in a database
    memory : int, optional
        Bytes that the process may use while it counts a file.

    Returns
    -------
    dict
        `success`, `suite`, `great_expectations_version`, `validated_at` (UTC), `expectations` (how many), and
        `results`: one mapping per expectation with `expectation_type`, `description`, `kwargs`, `success`, `observed`,
        `required`, `column` and `message`; `description_parts` and `message_parts` are the parts of these two texts, in
        the form of `Message.parts`. `success` is true only if every expectation of the suite was evaluated and holds.

    Raises
    ------
    InvalidJob
        The classes of the file do not fit into the memory.
    InvalidData
        The file cannot be read.
    """
    outcome = _batch(_counted(release, suite, memory)).validate(suite, result_format="BASIC")
    results = [_plain(result) for result in outcome.results]
    complete = len(results) == len(suite.expectations) > 0
    return {
        "success": complete and outcome.success is True and all(result["success"] for result in results),
        "suite": suite.name,
        "great_expectations_version": gx.__version__,
        "validated_at": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "expectations": len(suite.expectations),
        "results": results,
    }


def _counted(release: pa.Table | Path | ReleasedTable, suite: gx.ExpectationSuite, memory: int | None) -> ClassTable:
    """Count the columns that the expectations read."""
    read = [name for expectation in suite.expectations for name in expectation.read_columns()]
    keys = [name for expectation in suite.expectations for name in getattr(expectation, "quasi_identifiers", ())]
    keys, read = list(dict.fromkeys(keys)), list(dict.fromkeys(read))
    if isinstance(release, ReleasedTable):
        counted = release.class_table(keys, read)
        for expectation in suite.expectations:
            if isinstance(expectation, ExpectPersonsInEachClass):
                return replace(counted, people=release.people(expectation.people_columns()))
        return counted
    together = [name for expectation in suite.expectations for name in getattr(expectation, "grouped", ())]
    return class_table(release, keys, read, list(dict.fromkeys(together)), memory)


def _batch(release: ClassTable) -> Any:
    """Pass the classes to a context that reads no project, sends nothing and writes nothing."""
    context = gx.get_context(mode="ephemeral", project_config=_quiet())
    asset = context.data_sources.add_pandas("staging").add_dataframe_asset("release")
    return asset.add_batch_definition_whole_dataframe("all").get_batch({"dataframe": frame_of(release)})


def _quiet() -> DataContextConfig:
    """Keep everything in memory: no folder for Data Docs, no usage statistics, no progress bars."""
    return DataContextConfig(
        store_backend_defaults=InMemoryStoreBackendDefaults(),
        analytics_enabled=False,
        progress_bars={"globally": False, "metric_calculations": False},
    )


def _plain(result: ExpectationValidationResult) -> dict[str, Any]:
    """Keep the parts of a result that cannot contain a value of a record; leave out tracebacks and all others."""
    expectation = result.expectation_config.to_domain_obj()
    figures = result.result or {}
    prescription = expectation.prescription()
    message = figures.get("message", "could not be evaluated")
    return {
        "expectation_type": expectation.expectation_type,
        "description": str(prescription),
        "description_parts": prescription.parts,
        "kwargs": expectation.public_kwargs(),
        "success": result.success is True,
        "observed": figures.get("observed_value"),
        "required": figures.get("required_value"),
        "column": figures.get("column"),
        "message": message,
        "message_parts": figures.get("message_parts", [message]),
    }

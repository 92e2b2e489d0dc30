"""Run a suite on a table, with Great Expectations kept quiet, offline and in memory.

In: a table and a suite. Out: a plain document without a value of a record.
"""

from __future__ import annotations

from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

import great_expectations as gx
import pandas as pd
from great_expectations.data_context.types.base import DataContextConfig, InMemoryStoreBackendDefaults

if TYPE_CHECKING:
    import pyarrow as pa
    from great_expectations.core.expectation_validation_result import ExpectationValidationResult


def run_suite(table: pa.Table, suite: gx.ExpectationSuite) -> dict[str, Any]:
    """Validate a table.

    Returns
    -------
    dict
        `success`, `suite`, `great_expectations_version`, `validated_at` (UTC), `expectations` (how many), and
        `results`: one mapping per expectation with `expectation_type`, `description`, `kwargs`, `success`, `observed`,
        `required`, `column` and `message`; `description_parts` and `message_parts` are the parts of these two texts, in
        the form of `Message.parts`. `success` is true only if every expectation of the suite was evaluated and holds.
    """
    outcome = _batch(table).validate(suite, result_format="BASIC")
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


def _batch(table: pa.Table) -> Any:
    """Pass the table to a context that reads no project, sends nothing and writes nothing.

    The columns stay Arrow arrays inside the data frame, so types, nulls and integers do not change.
    """
    context = gx.get_context(mode="ephemeral", project_config=_quiet())
    asset = context.data_sources.add_pandas("staging").add_dataframe_asset("release")
    frame = table.to_pandas(types_mapper=pd.ArrowDtype, ignore_metadata=True)
    return asset.add_batch_definition_whole_dataframe("all").get_batch({"dataframe": frame})


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

"""The OpenLineage facets of a job and of its releases. Needs the OpenLineage client: only `lineage` imports it, late.

In: a job, and what is known of an attempt: the document of its entry, which holds no value of a record and no figure
about fewer records than the job allows. Out: facets of the client.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import attr
from openlineage.client.facet_v2 import (
    DatasetFacet,
    RunFacet,
    column_lineage_dataset,
    data_quality_assertions_dataset,
    dataset_version_dataset,
    output_statistics_output_dataset,
    schema_dataset,
)

from airflow_anon.disclosure.withhold import is_withheld

if TYPE_CHECKING:
    from airflow_anon.ledger import Entry
    from airflow_anon.observe.lineage_datasets import Column, Origin
    from engine import Job


@attr.define
class DeidentificationRunFacet(RunFacet):
    """What an attempt came to: keys and meanings are those of the ledger (docs/ledger.md)."""

    job: str
    job_sha256: str | None
    outcome: str
    release_id: str | None
    rows: int | None
    suppressed_share: float | None
    information_loss: float | None
    lower_bound: float | None
    optimal: bool | None
    privacy_margin: float | None
    levels: dict[str, int] | None
    privacy: list[dict[str, Any]]
    sequence: int
    entry_sha256: str


def run_facet(entry: Entry, document: Mapping[str, Any]) -> DeidentificationRunFacet:
    """Return the facet of an attempt that is in the ledger."""
    levels = document["levels"]
    kept = ("description", "required", "sense", "observed", "holds", "margin")
    return DeidentificationRunFacet(
        job=entry.job,
        job_sha256=entry.job_sha256,
        outcome=entry.outcome,
        release_id=entry.release_id,
        rows=None if is_withheld(entry.rows, document["smallest_class_allowed"]) else entry.rows,
        suppressed_share=entry.suppressed_share,
        information_loss=entry.information_loss,
        lower_bound=(document["solution"] or {}).get("lower_bound"),
        optimal=entry.optimal,
        privacy_margin=entry.privacy_margin,
        levels=levels and {name: described["level"] for name, described in levels.items()},
        privacy=[{key: finding[key] for key in kept} for finding in document["privacy"]],
        sequence=entry.sequence,
        entry_sha256=entry.entry_sha256,
    )


def schema(roles: Mapping[str, str], types: Mapping[str, str] | None = None) -> dict[str, DatasetFacet]:
    """Return the schema of a dataset: its columns, each with its role as the description."""
    fields = [
        schema_dataset.SchemaDatasetFacetFields(name=name, type=(types or {}).get(name), description=role)
        for name, role in roles.items()
    ]
    return {"schema": schema_dataset.SchemaDatasetFacet(fields=fields)}


def version(release_id: str) -> dict[str, DatasetFacet]:
    """Return the version of the share: the release that it holds."""
    return {"version": dataset_version_dataset.DatasetVersionDatasetFacet(datasetVersion=release_id)}


def statistics(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return how many records were released, unless that tells how few were suppressed."""
    released = document["records"]["released"]
    if released is None:
        return {}
    return {"outputStatistics": output_statistics_output_dataset.OutputStatisticsOutputDatasetFacet(rowCount=released)}


def assertions(results: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return what was checked and whether it holds; no figure, which the results of a refused release may have."""
    checked = [
        data_quality_assertions_dataset.Assertion(
            assertion=result["expectation_type"], success=result["success"], column=result["column"]
        )
        for result in results
    ]
    facet = data_quality_assertions_dataset.DataQualityAssertionsDatasetFacet(assertions=checked)
    return {"dataQualityAssertions": facet} if checked else {}


def column_lineage(job: Job, origin: Origin, levels: Mapping[str, Any] | None) -> dict[str, DatasetFacet]:
    """Return which column of the release comes from which column of the source, and what became of its values.

    Parameters
    ----------
    levels : mapping or None
        Per quasi-identifier its `level` and the `highest`; None as long as nothing was chosen.
    """
    fields = {
        name: column_lineage_dataset.Fields(inputFields=_inputs(origin.columns[name], _direct(job, name, levels)))
        for name in job.released
        if name in origin.columns
    }
    deciding = [
        given
        for name in _deciding(job)
        for given in _inputs(origin.columns.get(name, ()), _transformation("INDIRECT", "FILTER", _SUPPRESSES, True))
    ]
    return {"columnLineage": column_lineage_dataset.ColumnLineageDatasetFacet(fields=fields, dataset=deciding)}


_SUPPRESSES = "its value is among those that decide which records are suppressed"


def _deciding(job: Job) -> list[str]:
    """Return the columns that decide which records are suppressed; none where no record may be."""
    if job.suppression_limit == 0:
        return []
    protected = [model.sensitive_attribute for model in job.privacy]
    return list(dict.fromkeys([*job.quasi_identifiers, *(name for name in protected if name is not None)]))


def _direct(job: Job, name: str, levels: Mapping[str, Any] | None) -> column_lineage_dataset.Transformation:
    role = job.attributes[name].role
    if role != "quasi-identifying":
        return _transformation("DIRECT", "IDENTITY", f"{role}: as in the source", False)
    criteria = "; ".join(model.describe() for model in job.privacy)
    if levels is None:
        return _transformation("DIRECT", "TRANSFORMATION", f"generalized by its hierarchy; {criteria}", True)
    level, highest = levels[name]["level"], levels[name]["highest"]
    if level == 0:
        return _transformation("DIRECT", "IDENTITY", f"level 0 of {highest}: not generalized; {criteria}", False)
    return _transformation("DIRECT", "TRANSFORMATION", f"generalized to level {level} of {highest}; {criteria}", True)


def _transformation(kind: str, subtype: str, description: str, masking: bool) -> column_lineage_dataset.Transformation:
    return column_lineage_dataset.Transformation(type=kind, subtype=subtype, description=description, masking=masking)


def _inputs(
    columns: Iterable[Column], transformation: column_lineage_dataset.Transformation
) -> list[column_lineage_dataset.InputField]:
    return [
        column_lineage_dataset.InputField(
            namespace=column.dataset.namespace,
            name=column.dataset.name,
            field=column.field,
            transformations=[transformation],
        )
        for column in columns
    ]

"""The OpenLineage facets of a job and of its releases. Needs the OpenLineage client: only `lineage` imports it, late.

In: a job, and the document of an attempt's entry, which holds no value of a record and no figure about fewer records
than the job allows. Out: facets of the client.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

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

from airflow_anon.disclosure.criteria import observed
from airflow_anon.disclosure.ledger_rows import row_figures
from airflow_anon.ledger.records import records_told

if TYPE_CHECKING:
    from airflow_anon.ledger import Entry
    from airflow_anon.ledger.form import Document
    from airflow_anon.ledger.form_parts import Criterion, Level
    from airflow_anon.observe.lineage_datasets import Column, Origin
    from engine import Job


@attr.define
class DeidentificationRunFacet(RunFacet):
    """The outcome of an attempt: keys and meanings are those of the ledger (docs/ledger.md)."""

    job: str
    job_sha256: str | None
    outcome: str
    release_id: str | None
    rows: float | None
    suppressed_share: float | None
    information_loss: float | None
    lower_bound: float | None
    optimal: bool | None
    privacy_margin: float | None
    levels: dict[str, int] | None
    privacy: list[dict[str, Any]]
    sequence: int
    entry_sha256: str


def run_facet(entry: Entry, document: Document) -> DeidentificationRunFacet:
    """Return the facet of an attempt that is in the ledger."""
    counts = row_figures(entry, document.smallest)
    return DeidentificationRunFacet(
        job=entry.job,
        job_sha256=entry.job_sha256,
        outcome=entry.outcome,
        release_id=entry.release_id,
        rows=counts["rows"]["value"],
        suppressed_share=counts["suppressed_share"]["value"],
        information_loss=entry.information_loss,
        lower_bound=None if document.solution is None else document.solution.lower_bound,
        optimal=entry.optimal,
        privacy_margin=entry.privacy_margin,
        levels=_one_level_each(document.levels),
        privacy=[_criterion(found, document.smallest) for found in document.privacy or ()],
        sequence=entry.sequence,
        entry_sha256=entry.entry_sha256,
    )


def _one_level_each(levels: Mapping[str, Level] | None) -> dict[str, int] | None:
    """Return the level of each attribute; None before they are chosen, and of a local recoding."""
    found = {name: one.level for name, one in (levels or {}).items() if one.level is not None}
    return found if levels is not None and len(found) == len(levels) else None


def _criterion(found: Criterion, smallest: int) -> dict[str, Any]:
    return {
        "description": found.description,
        "required": found.required,
        "sense": found.sense,
        "observed": observed(found.model, found.observed, smallest)["value"],
        "holds": found.holds,
        "margin": found.margin,
    }


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


def statistics(document: Document) -> dict[str, Any]:
    """Return how many records were released, unless that reveals how few were suppressed."""
    released = records_told(document)["released"]["value"]
    if released is None:
        return {}
    facet = output_statistics_output_dataset.OutputStatisticsOutputDatasetFacet(rowCount=int(released))
    return {"outputStatistics": facet}


class Check(NamedTuple):
    """An expectation on the release and whether it holds."""

    expectation_type: str | None
    success: bool | None
    column: str | None


def assertions(checks: Iterable[Check]) -> dict[str, Any]:
    """Return what was checked and whether it holds, without the figures that results of a refused release may have."""
    checked = [
        data_quality_assertions_dataset.Assertion(
            assertion=str(check.expectation_type), success=bool(check.success), column=check.column
        )
        for check in checks
    ]
    facet = data_quality_assertions_dataset.DataQualityAssertionsDatasetFacet(assertions=checked)
    return {"dataQualityAssertions": facet} if checked else {}


def column_lineage(job: Job, origin: Origin, levels: Mapping[str, Level] | None) -> dict[str, DatasetFacet]:
    """Return the source column of each column of the release, and how its values were transformed.

    Parameters
    ----------
    levels : mapping or None
        Per quasi-identifier its `level` and the `highest`; None before levels are chosen.
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
    """Return the columns that decide which records are suppressed; none if suppression is not allowed."""
    if job.suppression_limit == 0:
        return []
    protected = [model.sensitive_attribute for model in job.privacy]
    return list(dict.fromkeys([*job.quasi_identifiers, *(name for name in protected if name is not None)]))


def _direct(job: Job, name: str, levels: Mapping[str, Level] | None) -> column_lineage_dataset.Transformation:
    attribute = job.attributes[name]
    role = attribute.role
    if name not in job.quasi_identifiers:
        return _coded(attribute) or _carried(
            role, is_pseudonymized=attribute.is_pseudonymized, is_shifted=attribute.is_shifted
        )
    criteria = "; ".join(model.describe() for model in job.counted_privacy)
    if levels is None:
        return _transformation("DIRECT", "TRANSFORMATION", f"generalized by its hierarchy; {criteria}", True)
    level, highest = levels[name].level, levels[name].highest
    if level is None:
        text = f"generalized record by record to levels 0 to {highest}: mixed levels; {criteria}"
        return _transformation("DIRECT", "TRANSFORMATION", text, True)
    if level == 0 and attribute.is_shifted:
        text = f"level 0 of {highest}: shifted by the days of each person, not generalized; {criteria}"
        return _transformation("DIRECT", "TRANSFORMATION", text, True)
    if level == 0:
        return _transformation("DIRECT", "IDENTITY", f"level 0 of {highest}: not generalized; {criteria}", False)
    return _transformation("DIRECT", "TRANSFORMATION", f"generalized to level {level} of {highest}; {criteria}", True)


def _coded(attribute: Any) -> column_lineage_dataset.Transformation | None:
    """Return what becomes of a column of coded or perturbed values or of aggregates; None of others."""
    if attribute.microaggregation is not None:
        of = "group of alike records" if attribute.microaggregation == "mdav" else "equivalence class"
        how = "mean" if attribute.microaggregation == "mdav" else attribute.microaggregation
        text = f"{attribute.role}: the {how} of its {of} for each record"
        return _transformation("DIRECT", "AGGREGATION", text, True)
    if attribute.noise is not None:
        text = f"{attribute.role}: with random noise of {attribute.noise.percent:.15g}% of the standard deviation"
        return _transformation("DIRECT", "TRANSFORMATION", text, True)
    if attribute.pram is not None:
        text = f"{attribute.role}: some categories changed at random"
        return _transformation("DIRECT", "TRANSFORMATION", text, True)
    if attribute.coding is not None:
        return _transformation("DIRECT", "TRANSFORMATION", f"{attribute.role}: coded numbers", True)
    return None


def _carried(role: str, *, is_pseudonymized: bool, is_shifted: bool) -> column_lineage_dataset.Transformation:
    """Return what becomes of a column that is not generalized."""
    if is_pseudonymized:
        return _transformation("DIRECT", "TRANSFORMATION", f"{role}: pseudonyms by a secret key", True)
    if is_shifted:
        return _transformation("DIRECT", "TRANSFORMATION", f"{role}: dates, shifted by the days of each person", True)
    return _transformation("DIRECT", "IDENTITY", f"{role}: as in the source", False)


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

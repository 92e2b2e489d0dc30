"""Privacy models recounted on an output table; one function a model, by Arrow group-by."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from engine.errors import InvalidJob
from engine.verification.finding import Finding
from engine.verification.models.average_risk import recount_average_risk
from engine.verification.models.beta_likeness import recount_beta_likeness
from engine.verification.models.delta_disclosure import recount_delta_disclosure
from engine.verification.models.delta_presence import recount_delta_presence
from engine.verification.models.entropy_l_diversity import recount_entropy_l_diversity
from engine.verification.models.k_anonymity import recount_k_anonymity
from engine.verification.models.k_map import recount_k_map
from engine.verification.models.l_diversity import recount_l_diversity
from engine.verification.models.population_uniqueness import recount_population_uniqueness
from engine.verification.models.recursive_l_diversity import recount_recursive_l_diversity
from engine.verification.models.sample_uniqueness import recount_sample_uniqueness
from engine.verification.models.t_closeness import recount_t_closeness
from engine.verification.records.kept import kept_records
from engine.verification.records.records import Records
from engine.verification.records.sensitive import sensitive_attribute

Recount = Callable[[Records, Mapping[str, Any]], Finding]

_L_DIVERSITY: Mapping[str, Recount] = {
    "distinct": recount_l_diversity,
    "shannon-entropy": recount_entropy_l_diversity,
    "grassberger-entropy": recount_entropy_l_diversity,
    "recursive": recount_recursive_l_diversity,
}


def _recount_any_l_diversity(records: Records, model: Mapping[str, Any]) -> Finding:
    variant: Any = model.get("variant")
    if variant not in _L_DIVERSITY:
        raise InvalidJob(
            f"variant {variant!r} of l-diversity cannot be verified; verified are {', '.join(_L_DIVERSITY)}"
        )
    return _L_DIVERSITY[variant](records, model)


_RECOUNTS: Mapping[str, Recount] = {
    "k-anonymity": recount_k_anonymity,
    "l-diversity": _recount_any_l_diversity,
    "t-closeness": recount_t_closeness,
    "delta-disclosure-privacy": recount_delta_disclosure,
    "beta-likeness": recount_beta_likeness,
    "k-map": recount_k_map,
    "delta-presence": recount_delta_presence,
    "average-risk": recount_average_risk,
    "sample-uniqueness": recount_sample_uniqueness,
    "population-uniqueness": recount_population_uniqueness,
}


def recount(
    table: pa.Table,
    quasi_identifiers: Sequence[str],
    model: Any,
    attribute: Any = None,
    kept: pa.Table | None = None,
    *,
    kept_rows: int | None = None,
    rows: int | None = None,
    population: pa.Table | None = None,
    minimum_class_size: int = 1,
) -> Finding:
    """Recount one privacy model on the kept records of an output.

    Parameters
    ----------
    table : pyarrow Table
        The output, all of it: models that compare classes with the table count its suppressed records too.
    model : privacy model of a job, or the same as a mapping
    attribute : attribute of a job, or a mapping, optional
        The entry of the model's sensitive attribute, of which `order` and `hierarchy` are read; without it, values are
        ordered as text and have no hierarchy.
    kept : pyarrow Table, optional
        The records of `table` that are not suppressed; without it, those not all of whose quasi-identifiers are `*`.
    kept_rows : int, optional
        How many records are not suppressed, where kept ones may be `*` throughout as well; those that `kept` lacks are
        one class. Without it, the rows of `kept`.
    rows : int, optional
        Records before suppressed ones were dropped; without it, the rows of `table`.
    population : pyarrow Table, optional
        How many people bear each tuple of labels, for models that compare classes with a population: one text column
        for each quasi-identifier, in their order, then int64 `people` and `released`, those whom a research subset
        lists. Records that are suppressed because of a value without an entry are in no row.
    minimum_class_size : int
        Records that the models of the job together demand of a class.

    Raises
    ------
    InvalidJob
        No verification is known for the model, or it needs something that `attribute` lacks: it is not released
        unproven.
    InvalidData
        The sensitive values do not fit `attribute`, the kept records are not of the table, or the model needs a
        population.
    """
    parameters: Mapping[str, Any] = model if isinstance(model, Mapping) else model.model_dump()
    name = parameters["model"]
    if name not in _RECOUNTS:
        raise InvalidJob(f"privacy model {name!r} cannot be verified; verified are {', '.join(_RECOUNTS)}")
    kept = kept_records(table, quasi_identifiers) if kept is None else kept
    records = Records(
        table,
        kept,
        quasi_identifiers,
        sensitive_attribute(attribute),
        kept.num_rows if kept_rows is None else kept_rows,
        table.num_rows if rows is None else rows,
        population,
        minimum_class_size,
    )
    return _RECOUNTS[name](records, parameters)

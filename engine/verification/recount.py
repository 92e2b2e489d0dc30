"""Recounts one privacy model on an output."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from engine.tables.class_table import ClassTable, count_classes
from engine.tables.sources.released import open_release
from engine.verification.finding import Finding
from engine.verification.records.kept import kept_records
from engine.verification.records.records import Records
from engine.verification.records.sensitive import SensitiveAttribute, sensitive_attribute
from engine.verification.registry import recount_of


def recount(
    table: pa.Table,
    quasi_identifiers: Sequence[str],
    model: Any,
    attribute: Any = None,
    kept: pa.Table | None = None,
    *,
    counts: str | None = None,
    kept_rows: int | None = None,
    rows: int | None = None,
    population: pa.Table | None = None,
    minimum_class_size: int = 1,
    as_file: bool = False,
) -> Finding:
    """Recount one privacy model on the kept records of an output, or on all that it shows.

    Parameters
    ----------
    table : pyarrow Table
        The output, all of it: models that compare classes with the table count its suppressed records too.
    model : privacy model of a job, or the same as a mapping
    attribute : attribute of a job, or a mapping, optional
        The entry of the model's sensitive attribute, of which `order`, `hierarchy` and `missing` are read; without an
        order the type of the output's column orders the values.
    kept : pyarrow Table, optional
        The records of `table` that are not suppressed; without it, those not all of whose quasi-identifiers are `*`.
    counts : str, optional
        The column of `table`, and of `kept`, that says how many records a row stands for; without it each row is one
        record. A table of distinct rows with their counts is judged as all of its records are.
    kept_rows : int, optional
        How many records are not suppressed, where kept ones may be `*` throughout as well; those that `kept` lacks are
        one class. Without it, the rows of `kept`.
    rows : int, optional
        Records before suppressed ones were dropped; without it, the rows of `table`.
    population : pyarrow Table, optional
        Number of people with each tuple of labels, for models that compare classes with a population: one text column
        for each quasi-identifier, in their order, then int64 `people` and `released`, the people a research subset
        lists. Records that are suppressed because of a value without an entry are in no row.
    minimum_class_size : int
        Records that the models of the job together demand of a class.
    as_file : bool
        Recount the whole output: the records that are `*` throughout are the class of the suppressed ones. Then `kept`
        and `kept_rows` do not count.

    Raises
    ------
    InvalidJob
        No verification is known for the model, or it needs something that `attribute` lacks; nothing is released
        unverified.
    InvalidData
        The sensitive values do not fit `attribute`, the kept records are not of the table, or the model needs a
        population.
    """
    parameters = _parameters(model)
    recount_of(parameters)  # refuses what cannot be proven before anything is counted
    names = [parameters["attribute"]] if "attribute" in parameters else []

    def counted(part: pa.Table) -> ClassTable:
        read = list(dict.fromkeys([*quasi_identifiers, *names, *([] if counts is None else [counts])]))
        batches = open_release(part).batches(read)
        return count_classes(part.schema, batches, quasi_identifiers, names, counts)

    classes = counted(table)
    if kept is None:
        kept_classes = kept_records(classes)
    elif kept is table:
        kept_classes = classes
    else:
        kept_classes = counted(kept)
    records = Records(
        classes,
        kept_classes,
        SensitiveAttribute(),
        kept_classes.rows if kept_rows is None else kept_rows,
        classes.rows if rows is None else rows,
        population,
        minimum_class_size,
    )
    return recount_classes(records.whole() if as_file else records, parameters, attribute)


def recount_classes(records: Records, model: Any, attribute: Any = None) -> Finding:
    """Recount one privacy model on an output whose classes are counted.

    Parameters
    ----------
    model, attribute
        See `recount`.

    Raises
    ------
    InvalidJob, InvalidData
        See `recount`.
    """
    parameters = _parameters(model)
    known = recount_of(parameters)
    return known.judge(_read(records, parameters, attribute), parameters)


def _parameters(model: Any) -> Mapping[str, Any]:
    parameters: Mapping[str, Any] = model if isinstance(model, Mapping) else model.model_dump()
    return parameters


def _read(records: Records, parameters: Mapping[str, Any], attribute: Any) -> Records:
    """Return the records with the values of the model's attribute read as its entry says."""
    sensitive = sensitive_attribute(attribute)
    name = parameters.get("attribute")
    if name is None:
        return replace(records, sensitive=sensitive)
    whole = sensitive.with_nulls(records.table, name)
    kept = whole if records.kept is records.table else sensitive.with_nulls(records.kept, name)
    return replace(records, table=whole, kept=kept, sensitive=sensitive)

"""What the keys of a job must say of each other: its models, its population, its algorithm, and what it may suppress.

In: a job whose keys are valid one by one. Out: nothing, or a `ValueError` whose text names the keys and the remedy.
"""

from __future__ import annotations

from typing import Any

from engine.job.with_policy import is_policy
from engine.privacy.table_wide import TableWideModel
from engine.search.registry import ASSUMING_MONOTONE, POLICY


def check_models(job: Any) -> None:
    """Refuse a model on a column that is not sensitive, one that cannot be recounted on the output, and one twice."""
    for position, model in enumerate(job.privacy):
        name = model.sensitive_attribute
        if name is None:
            continue
        if name not in job.sensitive:
            raise ValueError(
                f"privacy.{position}: attribute {name!r} must be a column with role sensitive; "
                f"sensitive are {', '.join(map(repr, job.sensitive)) or 'none'}"
            )
        attribute = job.attributes[name]
        lacking = model.lacking(attribute.order, has_hierarchy=attribute.hierarchy is not None)
        if lacking is not None:
            raise ValueError(f"privacy.{position}: {lacking}")
    if len(set(job.privacy)) != len(job.privacy):
        raise ValueError("privacy: the same model is listed twice; remove one")


def check_populations(job: Any) -> None:
    """Refuse two populations."""
    subsets = {model.subset_file for model in job.privacy} - {None}
    populations = set(job.population_files)
    if job.population_query is not None:
        populations.add(f"connection {job.population_query.conn_id}")
    if len(subsets) > 1 or len(populations) > 1 or (subsets and populations):
        named = ", ".join(sorted(map(repr, subsets | populations)))
        raise ValueError(
            "a job has one population: either its source, if one subset of it is released, or one population "
            f"file; named are {named}"
        )


def check_algorithm(job: Any) -> None:
    """Refuse two ways of choosing the transformation at once, a missing policy, and a start without all columns."""
    searched = {"algorithm", "file"} & job.search.model_fields_set and job.search.algorithm != "optimal"
    if job.choose is not None and searched:
        raise ValueError("choose and search.algorithm: choose selects a policy, algorithm levels; remove one")
    if job.search.algorithm == POLICY:
        without = [name for name in job.quasi_identifiers if not is_policy(job.attributes[name])]
        if job.search.file is None and without:
            raise ValueError(
                f"search.file: algorithm policy needs a policy file; {', '.join(map(repr, without))} have no groups"
            )
        if job.search.file is not None and len(without) < len(job.quasi_identifiers):
            raise ValueError("search.file: a quasi-identifying column has a hierarchy of the builder policy already")
    start = job.search.start
    if start is not None and set(start) != set(job.quasi_identifiers):
        raise ValueError(
            f"search.start: must give one level for each of {', '.join(map(repr, job.quasi_identifiers))} and for "
            "no other column"
        )


def check_small_classes(job: Any) -> None:
    """Refuse what does not go with `suppress: small-classes`."""
    if job.suppress == "any":
        return
    if job.minimum_class_size == 1:
        raise ValueError(
            "suppress: small-classes needs a model that demands a class size, such as k-anonymity; add one to "
            "privacy, or set suppress: any"
        )
    wide = [model.model for model in job.privacy if isinstance(model, TableWideModel)]
    if wide:
        raise ValueError(
            f"suppress: small-classes does not go with models of the whole table ({', '.join(wide)}), which suppress "
            "further classes; take them out of privacy, or set suppress: any"
        )
    if job.search.algorithm in ASSUMING_MONOTONE and job.suppression_limit > 0:
        raise ValueError(
            f"suppress: small-classes and search.algorithm {job.search.algorithm}: generalization can make a "
            "solution fail, which this algorithm excludes; use optimal, or set suppress: any"
        )

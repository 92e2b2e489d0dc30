"""A job that releases single columns with noise or after randomization: its settings, and what does not go with them.

In: a job. Out: nothing, or why it is refused. Perturbed values prove nothing of the true ones, so no privacy model may
count them, and no quasi-identifier has any: docs/transformations.md says what remains.
"""

from __future__ import annotations

from typing import Any

from pydantic import Field

from engine.spec import Spec


class Noise(Spec):
    """Additive noise on the numbers of a column, another draw for each record."""

    percent: float = Field(
        gt=0,
        le=1000,
        strict=True,
        description="Standard deviation of the noise, in per cent of that of the column; above 0, at most 1000.",
    )


class Pram(Spec):
    """Post-randomization (PRAM) of the categories of a column: some records draw another one, and shares stay."""

    pd: float = Field(
        default=0.8,
        gt=0,
        lt=1,
        strict=True,
        description="Probability of keeping a category in the matrix from which the invariant one is made, below 1, at "
        "least 1 divided by the number of categories; all others are equally likely in it.",
    )
    alpha: float = Field(
        default=0.5,
        gt=0,
        le=1,
        strict=True,
        description="Share of the invariant matrix that is used; what is left of 1 keeps the category. Above 0, to 1.",
    )


def check_perturbed(job: Any) -> None:
    """Refuse what a `Job` must not say beside columns with noise or PRAM.

    Raises
    ------
    ValueError
        Names the keys and the fix.
    """
    for name in job.perturbed:
        key = f"attributes.{name}.{'noise' if job.attributes[name].noise is not None else 'pram'}"
        beside = {
            "tables": job.tables is not None,
            "series, whose nights would each have another draw": job.series is not None,
            "subject, since equal values of a person would each have another draw, which together tell the value": (
                job.subject is not None
            ),
            "a subset": job.subset is not None,
            # which records are left out decides how noise is drawn, and nobody could recount it
            "transformation: local-recoding with a suppression_limit above 0": (
                job.recodes_locally and job.suppression_limit > 0
            ),
            "drift.new_values: quarantine": job.quarantines,
        }
        named = [one for one, there in beside.items() if there]
        if named:
            raise ValueError(
                f"{key}: does not go with {' and '.join(named)}; take it out, or give the column another role"
            )
        refuse_named_by_models(job, name, key, "values that were drawn at random, which prove nothing of the true ones")


def refuse_named_by_models(job: Any, name: str, key: str, what: str) -> None:
    """Refuse a column that a privacy model counts, though it shows something else than its values.

    Raises
    ------
    ValueError
        Names the keys and the fix.
    """
    models = [
        f"privacy.{position}: {model.model}"
        for position, model in enumerate(job.privacy)
        if model.sensitive_attribute == name
    ]
    if models:
        raise ValueError(f"{key}: {', '.join(models)} would count {what}; take the model or {key} out")

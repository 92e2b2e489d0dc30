"""Which columns of a job's table are counted together, and whether that can be done before the job runs.

In: a job. Out: names of columns, or why its records are counted when it runs: they are chosen or changed on their way,
or their order matters.
"""

from __future__ import annotations

from engine.job.job import Job
from engine.privacy.table_wide import TableWideModel


def counted_columns(job: Job) -> tuple[str, ...]:
    """Return the columns whose combinations are counted: quasi-identifiers, and what the models name."""
    named = (model.sensitive_attribute for model in job.privacy)
    return tuple(dict.fromkeys([*job.quasi_identifiers, *(name for name in named if name is not None)]))


def why_counted_in_full(job: Job) -> str | None:
    """Return why the records of a job of one table are counted one by one, in its words; None if they need not be.

    `CountedTable` does not rely on this: what changes the records wraps the table.
    """
    numbers = any(
        attribute.coding is not None or attribute.noise is not None or attribute.microaggregation is not None
        for attribute in job.attributes.values()
    )
    reasons = {
        "backend: spark": job.backend == "spark",
        "a research subset": job.subset is not None,
        "a model of the table as a whole": any(isinstance(model, TableWideModel) for model in job.privacy),
        "a sample": job.sample is not None,
        "max_rows": job.max_rows is not None,
        "shifted dates": job.shift is not None,
        "coded, aggregated or perturbed numbers": numbers or bool(job.perturbed),
    }
    return next((reason for reason, holds in reasons.items() if holds), None)

"""A job that releases a random sample of its records: the setting, and what does not go with it.

In: a job. Out: nothing, or why it is refused.
"""

from __future__ import annotations

from typing import Any

from pydantic import Field

from engine.spec import Spec


class SampleSettings(Spec):
    """Which share of the records is drawn at random, each by itself, before anything is counted."""

    fraction: float = Field(
        gt=0, lt=1, strict=True, description="Probability of each record to be in the sample, above 0 and below 1."
    )


def check_sample(job: Any) -> None:
    """Refuse what a `Job` with a sample must not say.

    Raises
    ------
    ValueError
        Names the keys and the fix.
    """
    if job.sample is None:
        return
    beside = {
        "tables": job.tables is not None,
        "subject, whose records would be drawn apart": job.subject is not None,
        "a subset, which is a choice of records already": job.subset is not None,
        f"suppress: {job.suppress}": job.suppress != "any",
        "choose": job.choose is not None,
    }
    named = [one for one, there in beside.items() if there]
    if named:
        raise ValueError(f"sample: does not go with {'; '.join(named)}; take it out, or draw a sample in the source")

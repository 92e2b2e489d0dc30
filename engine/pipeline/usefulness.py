"""The usefulness of a run's release, for its report."""

from __future__ import annotations

from engine.job.counting import Counted
from engine.job.job import Job
from engine.job.usefulness import UsefulnessSettings
from engine.pipeline.document import Statement
from engine.pipeline.measured import persons_out
from engine.pipeline.published import few_hidden
from engine.search.suppressed_class import Outcome
from engine.tables.transform import Transformation
from engine.usefulness.document import Usefulness
from engine.usefulness.measure import usefulness


def usefulness_stated(
    job: Job,
    settings: UsefulnessSettings,
    counted: Counted,
    outcome: Outcome,
    stated: Statement,
    transformation: Transformation,
) -> Usefulness:
    """Measure a release; where the records left out are too few to be told, as if there had been none."""
    few = few_hidden(stated, job.minimum_class_size, persons_out(counted.table, outcome))
    return usefulness(
        job,
        settings,
        counted,
        transformation,
        None if outcome.solution.recoding is not None else outcome.solution.levels,
        suppressed=outcome.suppressed,
        dropped=outcome.form == "drop",
        restricted=few.left_out,
    )

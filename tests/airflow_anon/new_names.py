"""A privacy model and a utility measure that the project does not have, added by what CONTRIBUTING says and no more.

Run as a program of its own, because a registry is read once: two classes, a function, and a line in each registry.
"""

from __future__ import annotations

import copy
import json
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import jsonschema
import numpy as np
from pydantic import BeforeValidator, Field

import engine.privacy.registry as models
import engine.utility.registry as measures
from engine.privacy.model import PrivacyModel
from engine.privacy.requirement import Requirement
from engine.utility.measures.discernibility import Discernibility


class Repeated(PrivacyModel):
    """Every sensitive value of a class is that of at least `times` of its records."""

    observes_records: ClassVar[bool] = True

    model: Literal["repeated-values"] = "repeated-values"
    attribute: str
    times: int = Field(ge=2)

    def lacking(self, order, *, has_hierarchy):
        """Numbers are seldom repeated."""
        del has_hierarchy
        return (
            None if order in {None, "text"} else f"repeated-values needs attributes.{self.attribute}.order text; set it"
        )

    def _least(self, partition):
        histogram = partition.histogram(self.attribute)
        return np.minimum.reduceat(histogram.counts, histogram.offsets[:-1])

    def violated(self, partition):
        """See `PrivacyModel.violated`."""
        return self._least(partition) < self.times

    def observed(self, partition, kept):
        """See `PrivacyModel.observed`."""
        return float(self._least(partition)[kept].min()) if kept.any() else None

    def requirement(self, observed):
        """See `PrivacyModel.requirement`."""
        del observed
        return Requirement(float(self.times), "at-least")

    def describe(self):
        """See `PrivacyModel.describe`."""
        return f"values repeated {self.times} times"


class Pairs(Discernibility):
    """Discernibility by another name."""

    title: ClassVar[str] = "Pairs"
    meaning: ClassVar[str] = "records that look alike"

    measure: Literal["pairs"] = "pairs"


models.AnyPrivacyModel = Annotated[models.AnyPrivacyModel | Repeated, Field(discriminator="model")]
models.MODELS = (*models.MODELS, Repeated)
measures.AnyMeasure = Annotated[
    Annotated[measures._Kinds | Pairs, Field(discriminator="measure")],
    BeforeValidator(measures._loss_by_default),
]
measures.MEASURES = (*measures.MEASURES, Pairs)

import engine.verification.registry as recounts  # noqa: E402 (the lines above stand in the registries)
from engine.verification.finding import Finding  # noqa: E402
from engine.verification.model import Recount  # noqa: E402
from engine.verification.records.histograms import histograms  # noqa: E402


def recount_repeated(records: Any, model: Mapping[str, Any]) -> Finding:
    """Recount the records with each value of each class."""
    least = [min(counts.values()) for counts in histograms(records, model["attribute"])]
    observed = min(least, default=None)
    return Finding(
        "repeated-values",
        holds=observed is None or observed >= model["times"],
        observed=observed,
        required=model["times"],
        column=model["attribute"],
        message="the values of the classes were counted",
        sense="at-least",
    )


recounts.RECOUNTS = (*recounts.RECOUNTS, Recount(model="repeated-values", judge=recount_repeated))

from airflow_anon.ledger.form import Document  # noqa: E402
from airflow_anon.plugin.pages.criteria import criteria  # noqa: E402
from airflow_anon.plugin.pages.measures import utility  # noqa: E402
from engine import InvalidJob, job_schema, run, verify  # noqa: E402
from tests.airflow_anon.expectations import build  # noqa: E402

MODEL = {"model": "repeated-values", "attribute": "diagnosis", "times": 2}


def judged(job, table, report):
    """Return what fails in the engine's verification and in Great Expectations."""
    own = [finding.check for finding in verify(table, job, report) if not finding.holds]
    return {"engine": own, "great expectations": sorted(build.failed(build.validate(job, table, report)))}


def _entry(sections):
    """Return the document of an entry that has these sections beside those which every one has."""
    return Document.model_validate({"name": "toy", "run": {}, "job": {}, **sections})


def main():
    """Print as JSON what each part of the project says of the two new names."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        job = build.job(folder, privacy=[MODEL], utility={"measure": "pairs"})
        result = run(job, build.source())
        document = {"privacy": [{**result.report["privacy"][0], "observed": 1, "holds": False}]}
        wrong = copy.deepcopy(result.report)
        wrong["privacy"][0]["margin"] += 0.1
        attributes = job.document()["attributes"]
        try:
            numbers = {**attributes, "diagnosis": {"role": "sensitive", "order": "integer"}}
            build.job(folder, privacy=[MODEL], attributes=numbers)
            refused = None
        except InvalidJob as problem:
            refused = str(problem)
        said = {
            "schema": [
                error.message for error in jsonschema.Draft202012Validator(job_schema()).iter_errors(job.document())
            ],
            "refused": refused,
            "levels": result.report["solution"]["levels"],
            "suppressed": result.report["solution"]["suppressed"],
            "entry": result.report["privacy"][0],
            "loss": [result.report["solution"]["information_loss"], result.report["utility"]["pairs"]],
            "release": judged(job, result.table, result.report),
            "harmed": judged(job, build.changed(result.table, "diagnosis", 0, "dx-delta"), result.report),
            "wrong margin": judged(job, result.table, wrong),
            "page": criteria(_entry({**document, "smallest_class_allowed": 3}))[0]["observed"],
            "words": utility(_entry({"utility": {"pairs": 1.0}}))["measures"],
        }
    sys.stdout.write(json.dumps(said))


main()

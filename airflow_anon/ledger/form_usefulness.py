"""The part of an entry's document that says what the release is still good for; `form` is the whole."""

from __future__ import annotations

from airflow_anon.ledger.form_part import Number, Part


class Scores(Part):
    """Accuracy and AUC of a model; null where withheld."""

    accuracy: Number | None = None
    auc: Number | None = None


class ModelScores(Part):
    """A model, trained on the source and trained on the release."""

    model: str | None = None
    source: Scores | None = None
    release: Scores | None = None


class PredictedTarget(Part):
    """How well the quasi-identifiers predict a column; `baseline` is the accuracy of the most frequent class."""

    target: str
    records: int | None = None
    classes: int | None = None
    baseline: Number | None = None
    models: list[ModelScores] | None = None


class LabelCount(Part):
    """Records with a label before and after; with `other`, of all labels that are not listed."""

    label: str | None = None
    before: int
    after: int
    other: bool | None = None


class ComparedColumn(Part):
    """The distribution of a column before and after, and how much confidence intervals overlap.

    `not_told`: figures that are left out, and why.
    """

    column: str
    records: int | None = None
    labels: list[LabelCount] | None = None
    suppressed: int | None = None
    untold: int | None = None
    step: int | None = None
    mean_overlap: Number | None = None
    proportion_overlap: Number | None = None
    least_proportion_overlap: Number | None = None
    not_told: dict[str, str] | None = None


class Usefulness(Part):
    """What of the source is found again in the release, of jobs that ask for it; `persons` where they are counted."""

    records: int | None = None
    persons: int | None = None
    restricted: bool | None = None
    folds: int | None = None
    targets: list[PredictedTarget] | None = None
    columns: list[ComparedColumn] | None = None

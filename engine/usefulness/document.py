"""The form of what a report says of the usefulness of a release.

In memory figures have all their digits, and `before` counts all records; `engine.usefulness.published` says what of
them leaves the run. A figure is None if it has no value, or is withheld.
"""

from __future__ import annotations

from typing_extensions import NotRequired, TypedDict


class Scores(TypedDict):
    """Share of held-out records that are predicted right, and area under the ROC curve (one class against the rest)."""

    accuracy: float | None
    auc: float | None


class ModelScores(TypedDict):
    """A model of scikit-learn, trained on the source, and trained on the release."""

    model: str
    source: Scores
    release: Scores


class PredictedTarget(TypedDict):
    """How well a column is predicted by the quasi-identifiers.

    `records`: those that were drawn, of which `rarest` have the rarest class; published, the first is rounded down to
    one digit, and the second is None. With a subject each is of a person of its own. `classes`: values that are told
    apart, of which one may be all others together. `baseline`: the accuracy of always naming the most frequent one,
    whose AUC is 0.5.
    """

    target: str
    records: int
    rarest: int | None
    classes: int
    baseline: float | None
    models: list[ModelScores]


class LabelCount(TypedDict):
    """Records with a label; `other` is there, and true, where it is all labels of few records and rare ones."""

    label: str | None
    before: int
    after: int
    other: NotRequired[bool]


class ComparedColumn(TypedDict):
    """A column before and after.

    `records`: of the source, those that are taken as if there had been none not counted. `labels`: those of the
    release, or bins of numbers, none where there is no distribution. `suppressed`: records of
    the source that show no value of the column in the file; `untold`: those of them that `before` of no label counts;
    `step`: `before` has them in multiples of this, None where it has none of them. `mean_overlap`: of the 95%
    confidence intervals of the mean, None of what is no number; `mean_moved`: what one record, or the records of one
    person, can change it by at most, published None; `proportion_overlap` and `least_proportion_overlap`: mean and
    least of those of the shares of the listed labels, published of the counts that are. `not_told`: figures that a job
    with a subject has not, and why.
    """

    column: str
    records: int
    labels: list[LabelCount]
    suppressed: int
    untold: int
    step: int | None
    mean_overlap: float | None
    mean_moved: float | None
    proportion_overlap: float | None
    least_proportion_overlap: float | None
    not_told: NotRequired[dict[str, str]]


class Usefulness(TypedDict):
    """What of the source is found again in the release.

    `records`: those of the file. `persons`: those of whom it shows a record, of a job with a subject; published, they
    are rounded down to one digit. `restricted`: whether the source is taken without the records that are suppressed:
    since they are too few to be told, or since persons are counted. `folds`: as in the job.
    """

    records: int
    persons: NotRequired[int]
    restricted: bool
    folds: int
    targets: list[PredictedTarget]
    columns: list[ComparedColumn]

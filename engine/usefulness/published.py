"""What of the usefulness of a release may leave the run.

In: all figures. Out: those that tell of no suppressed record, and of no single one.

**Distributions.** What a label has `after` anyone can count in the file. What it has `before` is more by the suppressed
records with this label, so an exact count would tell about them. Of these only whole steps of *g* are told: of *d*
records `floor(d / g) * g`. Who knows how many records are suppressed in all, *s*, has further bounds: what is left,
``r = s - sum(floor(d / g) * g)``, is spread over the labels with at most *g* - 1 for each, so that the labels of any
set have at least ``r - c (g - 1)`` of it, if *c* labels are not in the set. *g* is chosen from *s* alone, the least
for which

- this bound is never from 1 to *k* - 1, whatever *c* and the counts are: nobody can conclude that a label, or any set
  of them, has some suppressed records but fewer than *k*;
- *r* is never below *k*: nobody can conclude that fewer than *k* suppressed records have a label;
- *g* is at least 10 and *k*: one record moves a step only at its edge, as elsewhere (`engine.pipeline.published`).

Where no such *g* exists, no suppressed record is told. `tests/engine/usefulness/test_published.py` solves for the
suppressed records, and tries every table. (Where the labels that are not told must be none, because every combination
of theirs is in the file, the file tells this itself.)

**Shares** of predicted records are rounded so that one step of the last digit is at least ten times what one record
moves, and are withheld below 100 records; an AUC by the records of its rarest class. **Overlaps** move with the square
root of the records: a value 4 standard deviations away moves them by about 1 / sqrt(n), so that they have steps of at
least ten times that, and are withheld below 400 records.
"""

from __future__ import annotations

import math

import numpy as np

from engine.usefulness.document import ComparedColumn, LabelCount, PredictedTarget, Scores, Usefulness

LEAST_STEP = 10
FEWEST = 5
"""Records that a label must have where the job demands smaller classes, or none."""
MOST_PLACES = 2
_OVERLAP_STEPS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5)


def told(found: Usefulness, smallest: int) -> Usefulness:
    """Return the figures as they may be shown.

    Parameters
    ----------
    smallest : int
        The smallest class that the job allows.
    """
    fewest = max(smallest, FEWEST)
    step = overlap_step(found["records"])
    return {
        **found,
        "targets": [_target(one) for one in found["targets"]],
        "columns": [_column(one, fewest, step) for one in found["columns"]],
    }


def suppressed_step(suppressed: int, fewest: int) -> int | None:
    """Return the multiples in which suppressed records may be told by label; None if in none.

    Parameters
    ----------
    suppressed : int
        Records that are suppressed, s.
    fewest : int
        The fewest that may be told, k.
    """
    # the remainder must be at least k and leave room for as many labels as there are steps: no less than the root will
    for step in range(max(LEAST_STEP, fewest, math.isqrt(suppressed)), suppressed - fewest + 1):
        if suppressed % step >= fewest and not _tells_few(suppressed, step, fewest):
            return step
    return None


def _tells_few(suppressed: int, step: int, fewest: int) -> bool:
    """Tell whether some set of labels could be known to have from 1 to `fewest` - 1 suppressed records."""
    left = suppressed - step * np.arange(suppressed // step + 1)
    # of c labels outside of the set, c >= 1: at least left - c (step - 1)
    least = (left - 1) % (step - 1) + 1
    return bool(((left >= step) & (least < fewest)).any())


def overlap_step(records: int) -> float | None:
    """Return the steps in which overlaps of confidence intervals of so many records are told; None if in none."""
    return next((step for step in _OVERLAP_STEPS if step * step * records >= LEAST_STEP**2), None)


def share_places(records: int) -> int:
    """Return the decimal places of shares of so many records, 0 if they are withheld."""
    return min(MOST_PLACES, max(0, math.floor(math.log10(records)) - 1)) if records > 0 else 0


def _target(found: PredictedTarget) -> PredictedTarget:
    places = share_places(found["records"]), share_places(found["rarest"] or 0)
    return {
        **found,
        "records": _one_digit(found["records"]),
        "rarest": None,
        "baseline": _rounded(found["baseline"], places[0]),
        "models": [
            {**one, "source": _scores(one["source"], *places), "release": _scores(one["release"], *places)}
            for one in found["models"]
        ],
    }


def _one_digit(records: int) -> int:
    """Round down to one significant digit: the records without a value of the target are not told."""
    power = int(10 ** (len(str(records)) - 1))
    return records // power * power


def _scores(found: Scores, places: int, of_auc: int) -> Scores:
    return {"accuracy": _rounded(found["accuracy"], places), "auc": _rounded(found["auc"], of_auc)}


def _rounded(value: float | None, places: int) -> float | None:
    return None if value is None or not places else round(value, places)


def _column(found: ComparedColumn, fewest: int, overlap: float | None) -> ComparedColumn:
    step = suppressed_step(found["suppressed"], fewest)
    labels = [_label(one, step) for one in found["labels"]]
    attributed = sum(one["before"] - one["after"] for one in labels)
    return {
        **found,
        "labels": labels,
        "untold": found["suppressed"] - attributed,
        "step": step,
        "mean_overlap": _stepped(found["mean_overlap"], overlap),
        "proportion_overlap": _stepped(found["proportion_overlap"], overlap),
        "least_proportion_overlap": _stepped(found["least_proportion_overlap"], overlap),
    }


def _label(found: LabelCount, step: int | None) -> LabelCount:
    hidden = found["before"] - found["after"]
    return {**found, "before": found["after"] + (hidden // step * step if step else 0)}


def _stepped(value: float | None, step: float | None) -> float | None:
    return None if value is None or step is None else round(round(value / step) * step, 2)

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
counts, and are withheld below 100 records; an AUC by the records of its rarest class. What else one record moves, by
other folds and trees, nobody can work out without the seed (`engine.usefulness.measure.new_seed`). An **overlap of
means** has steps of at least ten times what one record moves it by, if its number lies between the ends of those in the
file (`engine.usefulness.intervals.moved_by_one`), to which the numbers of suppressed records are cut. **Overlaps of
shares** are those of the counts that are told, so that they tell nothing more.

**Persons.** Suppressed records of one person may have several labels, and labels that many of them have may be of few
persons: no step of records tells few of them from many. So where persons are counted no suppressed record enters any
figure: it is measured on those that the file shows, whose number of persons is that of units. Labels of
quasi-identifiers are of k persons, as every class is; of other columns labels are listed if k persons must have them,
because nobody has more than `max_rows` records. Which labels are listed is told by the file alone: a choice by persons
would tell whose records belong together.
"""

from __future__ import annotations

import math

import numpy as np

from engine.usefulness.distribution import overlap_of_shares
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
    shown: Usefulness = {
        **found,
        "targets": [_target(one) for one in found["targets"]],
        "columns": [_column(one, fewest) for one in found["columns"]],
    }
    return {**shown, "persons": _one_digit(found["persons"])} if "persons" in found else shown


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


def overlap_step(moved: float) -> float | None:
    """Return the steps in which an overlap is told that one record moves by so much; None if in none."""
    return next((step for step in _OVERLAP_STEPS if step >= LEAST_STEP * moved), None)


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
    """Round down to one significant digit, such as records, of which those without a value are not told."""
    power = int(10 ** (len(str(records)) - 1))
    return records // power * power


def _scores(found: Scores, places: int, of_auc: int) -> Scores:
    return {"accuracy": _rounded(found["accuracy"], places), "auc": _rounded(found["auc"], of_auc)}


def _rounded(value: float | None, places: int) -> float | None:
    return None if value is None or not places else round(value, places)


def _column(found: ComparedColumn, fewest: int) -> ComparedColumn:
    step = suppressed_step(found["suppressed"], fewest)
    labels = [_label(one, step) for one in found["labels"]]
    attributed = sum(one["before"] - one["after"] for one in labels)
    untold = found["suppressed"] - attributed
    moved = found["mean_moved"]
    shares = None
    if found["proportion_overlap"] is not None and (step is not None or not found["suppressed"]):
        shares = overlap_of_shares(labels, found["records"] - untold, found["records"] - found["suppressed"])
    mean, least = shares or (None, None)
    return {
        **found,
        "labels": labels,
        "untold": untold,
        "step": step,
        "mean_overlap": None if moved is None else _stepped(found["mean_overlap"], overlap_step(moved)),
        "mean_moved": None,
        "proportion_overlap": _rounded(mean, MOST_PLACES),
        "least_proportion_overlap": _rounded(least, MOST_PLACES),
    }


def _label(found: LabelCount, step: int | None) -> LabelCount:
    hidden = found["before"] - found["after"]
    return {**found, "before": found["after"] + (hidden // step * step if step else 0)}


def _stepped(value: float | None, step: float | None) -> float | None:
    return None if value is None or step is None else round(round(value / step) * step, 2)

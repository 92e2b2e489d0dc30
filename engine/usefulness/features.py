"""Quasi-identifiers as features of a model: numbers as they are, other labels as one indicator each.

In: the label of each record and column, as codes. Out: one matrix. A column whose values are numbers gives its number,
standardized, and an indicator of records that have none (`*`, or missing); any other column an indicator of each of its
most frequent labels. Labels of the release are features like those of the source, so both sides see the same columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.hierarchy.hierarchy import Label

MOST_INDICATORS = 50
"""Indicators of a column; rarer labels have none."""


class Feature(NamedTuple):
    """A column of records.

    Attributes
    ----------
    codes : int64, shape (records,)
        Of labels.
    numbers : float64, shape (labels,), or None
        The number of each label, NaN where it has none; None of a column that holds no numbers.
    """

    codes: NDArray[np.int64]
    numbers: NDArray[np.float64] | None


def by_text(labels: Sequence[Label]) -> tuple[NDArray[np.int64], list[Label]]:
    """Return the rank of each label, and the labels by rank, with None at the end for suppressed records.

    The codes of labels follow from all values of the source, also from those of records that are left out.
    """
    order = sorted(range(len(labels)), key=lambda code: (labels[code] is None, labels[code] or ""))
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.arange(len(order))
    return ranks, [*(labels[code] for code in order), None]


def matrix(features: Sequence[Feature], like: Sequence[Feature]) -> NDArray[np.float64]:
    """Return features as a matrix, shape (records, columns).

    Parameters
    ----------
    like : sequence of Feature
        The same columns of the records that a model is trained on: they say which indicators there are, and by what
        numbers are standardized.
    """
    blocks = [_block(one, trained) for one, trained in zip(features, like, strict=True)]
    return np.column_stack(blocks) if blocks else np.empty((0, 0))


def _block(one: Feature, trained: Feature) -> NDArray[np.float64]:
    if one.numbers is None or trained.numbers is None:
        records = np.bincount(trained.codes)
        # a label that no record has, such as one of a record that was left out, would change what a forest draws
        labels = np.argsort(-records, kind="stable")[: min(MOST_INDICATORS, np.count_nonzero(records))]
        found: NDArray[np.bool_] = one.codes[:, None] == labels[None, :]
        return found.astype(np.float64)
    known = trained.numbers[trained.codes]
    known = known[~np.isnan(known)]
    centre, spread = (float(known.mean()), float(known.std())) if known.size else (0.0, 1.0)
    values = one.numbers[one.codes]
    lacking = np.isnan(values)
    return np.column_stack([np.where(lacking, 0.0, (values - centre) / (spread or 1.0)), lacking.astype(np.float64)])

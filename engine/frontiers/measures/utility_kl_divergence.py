"""Kullback-Leibler divergence of the original distribution of tuples from the released one, in nats.

The `kl-divergence` of a release sums over records, in bits: `engine/utility/measures/kl_divergence.py`.

Kifer, Gehrke, Injecting utility into anonymized datasets. SIGMOD 2006, section 3; Xia et al. 2015. With P(x) = f_x / n,
and the f of a cell spread evenly over its leaf cells, of which there are the product of its groups' leaf values s:

    n * sum over x of P(x) ln(P(x) / Q(x)) = (sum over x of f_x ln f_x) - (sum over cells of f ln f)
                                             + sum over attributes and groups of (records) ln s.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from engine.frontiers.measures.utility import Loss, UtilityLoss


def _divergence(records: NDArray[np.int64], sizes: tuple[int, ...]) -> Loss:
    n = int(records.sum())
    return Loss(
        start=math.fsum((records * np.log(records)).tolist()) / n,
        per_cell=1.0 / n,
        costs=tuple(np.log(np.maximum(np.arange(size + 1), 1)) / n for size in sizes),
    )


KL_DIVERGENCE = UtilityLoss("kl-divergence", _divergence)

"""What a class still lacks of a privacy model, as a guide for algorithms that join classes until they satisfy it.

In: the sensitive attribute of a model. Out: a `Lack`, from which a number of records follows for each class and for the
union of two. It only says which unions are promising; whether a class satisfies a model is the model's own decision.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Lack(NamedTuple):
    """Of a class with n records and sums S of the features of their values, T those of the table as shares.

    It lacks `max(0, sum(weights * abs(S - n * T)) - allowed * n)` records, and as many as it has fewer distinct
    values than `distinct`.

    Attributes
    ----------
    features : float64, shape (V, F)
        Of each value of the attribute.
    weights : float64, shape (F,)
        At least 0.
    allowed : float
    distinct : float
        0 if their number does not matter.
    """

    features: NDArray[np.float64]
    weights: NDArray[np.float64]
    allowed: float
    distinct: float


def of_shares(nodes: NDArray[np.int64], weight: float, allowed: float, distinct: float = 0.0) -> Lack:
    """Return a lack by the shares of groups of values.

    Parameters
    ----------
    nodes : int, shape (levels, V)
        Group of each value at each level.
    """
    import numpy as np  # noqa: PLC0415 (job files parse without numpy)

    features = np.concatenate([np.eye(int(of_value.max()) + 1)[of_value] for of_value in nodes], axis=1)
    return Lack(features, np.full(features.shape[1], weight), allowed, distinct)

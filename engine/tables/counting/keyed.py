"""The classes of a transformation as keys that can be looked up by anybody who has the values of a record.

In: the codes of the classes. Out: for each quasi-identifier a key per value, and for each class the sum of its keys
with its place in the release. The keys of one quasi-identifier have bits of their own, so their sum tells the class;
one more bit marks a value whose records are suppressed in every transformation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

REFUSED = 1 << 62
"""Added to the key of a value whose records are suppressed whatever the class."""


@dataclass(frozen=True, eq=False)
class KeyedClasses:
    """Keys of values and places of classes.

    Attributes
    ----------
    keys_of : mapping of attribute to callable
        Takes values of the quasi-identifier as the source has them, and returns their keys, int64; raises InvalidData
        for a value that was not counted.
    keys : int64, shape (C,)
        Of each class, the sum of the keys of its values.
    places : int64, shape (C,)
        Of each class; -1 where its records are left out.
    refused_place : int
        Of records with a refused value.
    """

    keys_of: Mapping[str, Callable[[pa.Array], NDArray[np.int64]]]
    keys: NDArray[np.int64]
    places: NDArray[np.int64]
    refused_place: int

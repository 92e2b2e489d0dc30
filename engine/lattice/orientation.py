"""Level vectors oriented so that larger ones always inherit a property.

Levels are counted from the end of the lattice that implies all others: from the lowest vector upwards if
generalizations inherit the property, from the highest one downwards if specializations inherit it.
"""

from __future__ import annotations

import struct
from operator import sub
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from engine.lattice.space import Lattice, Levels

Inherited = Literal["upwards", "downwards"]
"""Whether a property passes to all generalizations of a transformation, or to all its specializations."""


class Orientation:
    """The direction of one property in one lattice.

    Attributes
    ----------
    heights : tuple of int
        Levels of each attribute.
    """

    def __init__(self, lattice: Lattice, inherited: Inherited) -> None:
        self.heights = tuple(top - bottom + 1 for bottom, top in zip(lattice.low, lattice.high, strict=True))
        self._low, self._high = lattice.low, lattice.high
        self._upwards = inherited == "upwards"
        # packing into one reused array costs half as much as a new array
        packing = struct.Struct(f"={len(self.heights)}i")
        self._pack_into = packing.pack_into
        self._packed = bytearray(packing.size)
        self._turned = np.frombuffer(self._packed, np.int32)

    def turned(self, levels: Levels) -> NDArray[np.int32]:
        """Return the distances from the implying end, shape (m,); the next call overwrites them."""
        distances = map(sub, levels, self._low) if self._upwards else map(sub, self._high, levels)
        self._pack_into(self._packed, 0, *distances)
        return self._turned

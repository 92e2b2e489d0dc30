"""The base of all table-wide criteria: a value that judges the kept equivalence classes together, by their sizes.

If the classes that satisfy the other models do not satisfy it, classes are suppressed, the smallest first, until they
do (definitions: privacy models). In: sizes of kept classes. Out: how many of them must go.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

from engine.privacy.model import Partition, PrivacyModel

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class TableWideModel(PrivacyModel):
    """A criterion of the table as a whole; no class fails it alone."""

    @abstractmethod
    def first_holding(self, sizes: NDArray[np.int64], start: int, stop: int, records: int) -> int:
        """Return how many of the smallest classes must be suppressed for the rest to hold.

        Parameters
        ----------
        sizes : int64, shape (C,)
            Records of each class, ascending.
        start, stop : int
            The fewest and the most classes to suppress, 0 to C. Without any class it holds.
        records : int
            Records of the table, suppressed ones included.

        Returns
        -------
        int
            The least number from `start` to `stop`; `stop + 1` if there is none.
        """

    @abstractmethod
    def figure(self, sizes: NDArray[np.int64], records: int) -> float | None:
        """Return the figure that is compared with the threshold, of kept classes in any order; None without any."""

    def hopeless(self, sizes: NDArray[np.int64], limit: int) -> bool:
        """Tell whether no refinement of the classes holds for any suppression of at most `limit` records."""
        del sizes, limit
        return False

    def violated(self, partition: Partition) -> NDArray[np.bool_]:
        """No class fails alone."""
        import numpy as np  # noqa: PLC0415 (job files parse without numpy)

        return np.zeros(partition.counts.size, np.bool_)

    def holds(self, partition: Partition, kept: NDArray[np.bool_]) -> bool:
        """See `PrivacyModel.holds`."""
        import numpy as np  # noqa: PLC0415 (job files parse without numpy)

        return self.first_holding(np.sort(partition.counts[kept]), 0, 0, int(partition.counts.sum())) == 0

    def observed(self, partition: Partition, kept: NDArray[np.bool_]) -> float | None:
        """Return the figure of the kept classes."""
        return self.figure(partition.counts[kept], int(partition.counts.sum()))

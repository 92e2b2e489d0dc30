"""Sample uniqueness: the share of records that are alone with their quasi-identifiers in the table.

Dankar, El Emam, Neisa, Roffey, Estimating the re-identification risk of clinical data sets. BMC Med Inform Decis Mak
12:66, 2012: records in classes of one divided by all, here by the kept ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from engine.privacy.requirement import Requirement
from engine.privacy.table_wide import TableWideModel

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class SampleUniqueness(TableWideModel):
    """Unique kept records are at most `threshold` times the kept records."""

    model: Literal["sample-uniqueness"] = "sample-uniqueness"
    threshold: float = Field(ge=0, le=1, strict=True, description="Highest share of unique records, 0 to 1.")

    def first_holding(self, sizes: NDArray[np.int64], start: int, stop: int, records: int) -> int:
        """See `TableWideModel.first_holding`."""
        import numpy as np  # noqa: PLC0415 (job files parse without numpy)

        del records
        unique = int(np.searchsorted(sizes, 1, side="right"))
        gone = np.arange(start, stop + 1)
        left = sizes.sum() - np.concatenate([[0], np.cumsum(sizes[:stop])])[start:]
        holds = np.maximum(unique - gone, 0) / np.maximum(left, 1) <= self.threshold
        return start + int(holds.argmax()) if holds.any() else stop + 1

    def hopeless(self, sizes: NDArray[np.int64], limit: int) -> bool:
        """See `TableWideModel.hopeless`: a record unique here is unique in every refinement, and should go first."""
        unique, records = int((sizes == 1).sum()), int(sizes.sum())
        return unique > limit and (unique - limit) / (records - limit) > self.threshold

    def figure(self, sizes: NDArray[np.int64], records: int) -> float | None:
        """Return the share of unique records."""
        del records
        return float((sizes == 1).sum() / sizes.sum()) if sizes.size else None

    def requirement(self, observed: float | None) -> Requirement:
        """At most the share `threshold` of unique records."""
        del observed
        return Requirement(self.threshold, "at-most")

    def describe(self) -> str:
        """Render for a person."""
        return f"sample uniqueness of at most {self.threshold:g}"

"""Average risk: the expected share of records that an attack on all of them finds.

El Emam, Guide to the De-Identification of Personal Health Information, 2013, chapter 16 (strict average risk): kept
classes divided by kept records.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from engine.privacy.requirement import Requirement
from engine.privacy.table_wide import TableWideModel

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class AverageRisk(TableWideModel):
    """Kept classes are at most `threshold` times the kept records."""

    model: Literal["average-risk"] = "average-risk"
    threshold: float = Field(gt=0, le=1, strict=True, description="Highest classes per record, above 0, at most 1.")

    def first_holding(self, sizes: NDArray[np.int64], start: int, stop: int, records: int) -> int:
        """See `TableWideModel.first_holding`."""
        import numpy as np  # noqa: PLC0415 (job files parse without numpy)

        del records
        gone = np.arange(start, stop + 1)
        left = sizes.sum() - np.concatenate([[0], np.cumsum(sizes[:stop])])[start:]
        holds = (gone == sizes.size) | ((sizes.size - gone) / np.maximum(left, 1) <= self.threshold)
        return start + int(holds.argmax()) if holds.any() else stop + 1

    def hopeless(self, sizes: NDArray[np.int64], limit: int) -> bool:
        """See `TableWideModel.hopeless`: of a class that is not suppressed whole at least one part is left."""
        import numpy as np  # noqa: PLC0415 (job files parse without numpy)

        gone = int(np.searchsorted(np.cumsum(np.sort(sizes)), limit, side="right"))
        return bool(gone < sizes.size and (sizes.size - gone) / sizes.sum() > self.threshold)

    def figure(self, sizes: NDArray[np.int64], records: int) -> float | None:
        """Return classes per record."""
        del records
        return float(sizes.size / sizes.sum()) if sizes.size else None

    def requirement(self, observed: float | None) -> Requirement:
        """At most `threshold` classes per record."""
        del observed
        return Requirement(self.threshold, "at-most")

    def describe(self) -> str:
        """Render for a person."""
        return f"average risk of at most {self.threshold:g}"

"""Entropy l-diversity: the entropy of the sensitive values of a class is at least that of l equal shares.

Shannon: Machanavajjhala et al., l-diversity: privacy beyond k-anonymity. TKDD 1(1), 2007, definition 4.1. Grassberger's
estimate corrects the entropy of small samples: Grassberger, Entropy estimates from insufficient samplings.
arXiv physics/0307138, 2003. Both are compared in counts and plain doubles, without tolerance (definitions).
"""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from engine.privacy.diversity import DiversityModel
from engine.privacy.lack import Lack
from engine.privacy.model import ClassHistogram, Monotonicity, Partition
from engine.privacy.requirement import Requirement
from engine.spec import MOST_RECORDS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

EULER_GAMMA = 0.5772156649015329


class EntropyLDiversity(DiversityModel):
    """Classes hold at least `l` distinct values of `attribute`, and an entropy of at least ln `l`."""

    model: Literal["l-diversity"] = "l-diversity"
    variant: Literal["shannon-entropy", "grassberger-entropy"] = Field(description="How the entropy is estimated.")
    l: float = Field(  # noqa: E741 (the model's own name)
        gt=1, le=MOST_RECORDS, strict=True, description="Effective number of sensitive values in a class, above 1."
    )

    @property
    def monotonicity(self) -> Monotonicity:
        """None: Shannon's variant is monotone except for rounding, Grassberger's is not."""
        return Monotonicity.NONE

    @property
    def minimum_class_size(self) -> int:
        """`l` records are needed to hold `l` values."""
        return math.ceil(self.l)

    def _violated(self, partition: Partition) -> NDArray[np.bool_]:
        """Classes below `l` distinct values or the entropy of `l` equal shares."""
        import numpy as np  # noqa: PLC0415 (job files parse without numpy)

        weighted, totals = self._terms(partition)
        right = totals * (self._weight(totals) - np.log(self.l))
        fails: NDArray[np.bool_] = (partition.distinct(self.attribute) < self.l) | ~(weighted <= right)
        return fails

    def surely_violated(self, partition: Partition, *, suppressing: bool) -> NDArray[np.bool_]:
        """Classes with fewer than `l` values; without suppression also those clearly below the Shannon entropy."""
        return self._judged(partition, functools.partial(self._surely_violated, suppressing=suppressing))

    def _surely_violated(self, partition: Partition, *, suppressing: bool) -> NDArray[np.bool_]:
        fails: NDArray[np.bool_] = partition.distinct(self.attribute) < self.l
        if suppressing or self.variant != "shannon-entropy":
            return fails
        import numpy as np  # noqa: PLC0415

        weighted, totals = self._terms(partition)
        clear = totals * (self._weight(totals) - np.log(self.l)) + 1e-9 * totals * (1 + np.log(totals))
        fails |= weighted > clear
        return fails

    @property
    def looks_inside(self) -> bool:
        """See `PrivacyModel.looks_inside`: of Shannon's variant."""
        return self.variant == "shannon-entropy"

    def most_kept(self, partition: Partition, least: int) -> NDArray[np.int64]:
        """See `PrivacyModel.most_kept`: the entropy of a union is no lower than the lowest of its parts."""
        if not self.looks_inside:
            return super().most_kept(partition, least)
        return self._kept_of_known(partition, least, self._most_kept)

    def _most_kept(self, partition: Partition) -> NDArray[np.int64]:
        from engine.kernels.capped_parts import largest_even_parts  # noqa: PLC0415 (job files parse without numba)

        histogram = partition.histogram(self.attribute)
        return largest_even_parts(histogram.offsets, histogram.counts, self.l)

    def _observed(self, partition: Partition, kept: NDArray[np.bool_]) -> float | None:
        """Return e to the least entropy of a kept class: the effective number of values."""
        import numpy as np  # noqa: PLC0415

        weighted, totals = self._terms(partition)
        entropies = (self._weight(totals) - weighted / totals)[kept]
        return float(np.exp(entropies.min())) if entropies.size else None

    def lack(self, attribute: ClassHistogram) -> Lack:
        """See `PrivacyModel.lack`: values, in shares that are not worse than those of the table."""
        return super().lack(attribute)._replace(distinct=math.ceil(self.l))

    def requirement(self, observed: float | None) -> Requirement:
        """At least `l` as the effective number of values; the further demand of `l` distinct values is not included."""
        del observed
        return Requirement(self.l, "at-least")

    def describe(self) -> str:
        """Render for a person."""
        return f"{self.variant} {self.l:g}{self._of()}"

    def _terms(self, partition: Partition) -> tuple[Any, Any]:
        """Return the sum of f w(f) over the counts f of each class, and the class sizes as doubles."""
        import numpy as np  # noqa: PLC0415

        histogram = partition.histogram(self.attribute)
        counts = histogram.counts.astype(np.float64)
        return np.add.reduceat(counts * self._weight(counts), histogram.offsets[:-1]), partition.counts.astype(float)

    def _weight(self, counts: Any) -> Any:
        import numpy as np  # noqa: PLC0415

        if self.variant == "shannon-entropy":
            return np.log(counts)
        return _grassberger(int(counts.max(initial=1)))[counts.astype(np.int64)]


@functools.lru_cache(maxsize=4)
def _grassberger(largest: int) -> Any:
    """Table of G(n) for n up to `largest`; G(0) is not used."""
    import numpy as np  # noqa: PLC0415

    pairs = np.arange(1, largest // 2 + 2)
    sums = np.concatenate([[0.0], np.cumsum(2.0 / (2 * pairs - 1))])
    return -EULER_GAMMA - np.log(2.0) + sums[np.arange(largest + 1) // 2]

"""Differential privacy of a random sample of which only large classes are shown, at levels that the job fixes or draws.

Whether any one record is in the source changes the probability of no set of releases by more than a factor of
e^epsilon and, beyond that, an amount of delta. Bild, Kuhn, Prasser, SafePub: a truthful data anonymization algorithm
with strong privacy guarantees, PoPETs 2018(1); the size of the classes is that of `engine.privacy.sampled_classes`.

The classes are half of it: the other half is what `engine.job.differential_privacy` demands of the job, and that
nothing which a run tells depends on records that are not shown.
"""

from __future__ import annotations

import math
from decimal import Decimal
from typing import ClassVar, Literal

from pydantic import Field, model_validator
from typing_extensions import Self

from engine.privacy.least_records import LeastRecords
from engine.privacy.sampled_classes import allows, least_epsilon, smallest_class


class DifferentialPrivacy(LeastRecords):
    """Classes of the sample hold at least k records, k being the smallest number that epsilon and delta allow."""

    observes_records: ClassVar[bool] = True

    model: Literal["differential-privacy"] = "differential-privacy"
    epsilon: float = Field(
        ge=0.001,
        le=20,
        strict=True,
        description="Factor e^epsilon by which one record may change a probability: 0.001 to 20, and at least "
        "-ln(1 - sampling_fraction); 1 or less is strong.",
    )
    delta: float = Field(
        ge=1e-12,
        le=1e-3,
        strict=True,
        description="What a probability may change beyond it: 1e-12 to 0.001; well below 1 divided by the number of "
        "records of the source.",
    )
    sampling_fraction: float = Field(
        ge=0.001, le=0.999, strict=True, description="The fraction of the sample of the job: 0.001 to 0.999."
    )

    search_epsilon: float = Field(
        default=0.0,
        ge=0,
        le=20,
        strict=True,
        description="Part of epsilon by which the levels are drawn, 0 to less than epsilon. 0: the job fixes them.",
    )

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if self.sample_epsilon <= 0 or not allows(self.sample_epsilon, self.sampling_fraction):
            least = least_epsilon(self.sampling_fraction)
            spent = f" without search_epsilon, {self.search_epsilon:g}," if self.search_epsilon else ""
            raise ValueError(
                f"epsilon is {self.epsilon:g}, must{spent} be at least -ln(1 - sampling_fraction), which is "
                f"{least:.6g}; raise epsilon, or lower sampling_fraction and sample.fraction"
            )
        return self

    @property
    def sample_epsilon(self) -> float:
        """What is left of epsilon for the sample and its classes; never more than the decimals say."""
        left = Decimal(repr(self.epsilon)) - Decimal(repr(self.search_epsilon))
        found = float(left)
        return found if Decimal(repr(found)) <= left else math.nextafter(found, 0.0)

    @property
    def k(self) -> int:
        """Records that a class must have."""
        return smallest_class(self.sample_epsilon, self.delta, self.sampling_fraction)

    @property
    def minimum_class_size(self) -> int:
        """`k`."""
        return self.k

    def describe(self) -> str:
        """Render for a person."""
        return (
            f"({self.epsilon:g}, {self.delta:g})-differential privacy of each record: a sample of "
            f"{self.sampling_fraction:g}, and classes of at least {self.k} records"
            + (f"; {self.search_epsilon:g} of epsilon is spent on drawing the levels" if self.search_epsilon else "")
        )

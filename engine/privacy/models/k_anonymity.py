"""k-anonymity: every record shares its quasi-identifiers with at least k - 1 others.

Sweeney, k-anonymity: a model for protecting privacy. Int J Uncertain Fuzz 10(5), 2002, section 3.
"""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from engine.privacy.least_records import LeastRecords
from engine.spec import MOST_RECORDS


class KAnonymity(LeastRecords):
    """Classes hold at least `k` records."""

    observes_records: ClassVar[bool] = True
    counts_persons: ClassVar[bool] = True

    model: Literal["k-anonymity"] = "k-anonymity"
    k: int = Field(
        ge=2,
        le=MOST_RECORDS,
        strict=True,
        description="Smallest number of records in an equivalence class, at least 2.",
    )

    @property
    def minimum_class_size(self) -> int:
        """`k` itself."""
        return self.k

    def describe(self) -> str:
        """Render for a person."""
        return f"{self.k}-anonymity"

"""What a recount works on: the records of an output, the kept ones of them, and the columns that make classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from engine.verification.sensitive import SensitiveAttribute


@dataclass(frozen=True)
class Records:
    """The records of an output.

    Attributes
    ----------
    table : pyarrow Table
        All of them; suppressed ones keep their sensitive values, so that this is the distribution classes are
        compared with.
    kept : pyarrow Table
        Those that are not suppressed; their equivalence classes are judged.
    sensitive : SensitiveAttribute
        Of the attribute that the model names.
    """

    table: pa.Table
    kept: pa.Table
    quasi_identifiers: Sequence[str]
    sensitive: SensitiveAttribute

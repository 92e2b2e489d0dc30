"""What a run is given of the Spark that counts it, by whoever knows what its job does not say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class CountedApart:
    """What Spark counted before the run; see `engine.backends.spark_apart`.

    Attributes
    ----------
    folder : Path
        Where it wrote the combinations.
    columns : tuple of str
        Those that it counted.
    """

    folder: Path
    columns: tuple[str, ...]


@dataclass(frozen=True)
class SparkAccess:
    """The place of Spark, and what it has done already.

    Attributes
    ----------
    configuration : mapping
        Settings of Spark that go before those of the job, such as `spark.remote` with a token; they are written
        nowhere.
    counted : CountedApart, optional
    """

    configuration: Mapping[str, str] = field(default_factory=dict, repr=False)
    counted: CountedApart | None = None

"""The hierarchy sources a job can name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from engine.hierarchy.age import Age
from engine.hierarchy.atc import Atc
from engine.hierarchy.csv_file import CsvFile
from engine.hierarchy.date import Date
from engine.hierarchy.grouping import Grouping
from engine.hierarchy.icd10cm import Icd10Cm
from engine.hierarchy.interval import Interval
from engine.hierarchy.order import Order
from engine.hierarchy.redaction import Redaction
from engine.hierarchy.zip import Zip


def _csv_by_default(value: Any) -> Any:
    return {"builder": "csv", **value} if isinstance(value, Mapping) and "path" in value else value


AnyHierarchy = Annotated[
    Annotated[
        Age | Atc | CsvFile | Date | Grouping | Icd10Cm | Interval | Order | Redaction | Zip,
        Field(discriminator="builder"),
    ],
    BeforeValidator(_csv_by_default),
]

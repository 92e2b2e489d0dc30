"""The hierarchy builders a job can name, one line each. The groups of a policy rest on one of them: see `policy`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from engine.hierarchy.builders.age import Age
from engine.hierarchy.builders.atc import Atc
from engine.hierarchy.builders.concepts import Loinc, SnomedCt
from engine.hierarchy.builders.csv_file import CsvFile
from engine.hierarchy.builders.cuts import CutPoints
from engine.hierarchy.builders.date import Date
from engine.hierarchy.builders.equal_width import EqualWidth
from engine.hierarchy.builders.flat import Flat
from engine.hierarchy.builders.grouping import Grouping
from engine.hierarchy.builders.icd import Icd9Cm, Icd10, Icd10Gm
from engine.hierarchy.builders.icd10cm import Icd10Cm
from engine.hierarchy.builders.interval import Interval
from engine.hierarchy.builders.order import Order
from engine.hierarchy.builders.postcode import Postcode
from engine.hierarchy.builders.redaction import Redaction
from engine.hierarchy.builders.zip import Zip

Source = (
    Age
    | Atc
    | CsvFile
    | CutPoints
    | Date
    | EqualWidth
    | Flat
    | Grouping
    | Icd9Cm
    | Icd10
    | Icd10Cm
    | Icd10Gm
    | Interval
    | Loinc
    | Order
    | Postcode
    | Redaction
    | SnomedCt
    | Zip
)


def csv_by_default(value: Any) -> Any:
    """Let a mapping with a path and no builder stand for a file."""
    plain = isinstance(value, Mapping) and "path" in value and "builder" not in value
    return {"builder": "csv", **value} if plain else value


AnySource = Annotated[Annotated[Source, Field(discriminator="builder")], BeforeValidator(csv_by_default)]

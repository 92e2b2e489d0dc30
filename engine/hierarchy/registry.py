"""The hierarchy sources a job can name."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from engine.hierarchy.csv_file import CsvFile

AnyHierarchy = Annotated[CsvFile, Field(discriminator="builder")]

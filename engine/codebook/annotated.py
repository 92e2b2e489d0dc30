"""What the file of records says of itself: metadata of a Parquet schema and of its fields, as Arrow reads them.

In: the job and the levels that were chosen, and the plain schema of a file. Out: the same schema, whose fields say what
was done to each column, and which says what it is and how it is cited. Values are text, since those of Parquet are; no
figure is about records, so that it is known before the first one is written.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa

from engine.codebook.document import DescribedColumn
from engine.codebook.treatment import in_words, treated
from engine.job.job import Job
from engine.tables.sources.column_types import type_name
from engine.tables.sources.linked_name import TABLE


@dataclass(frozen=True, kw_only=True)
class Annotations:
    """What is said of the columns of one release.

    Attributes
    ----------
    job : Job
        As executed.
    levels : mapping of quasi-identifier to level, or None
        None of a local recoding.
    release_id : str or None
        Of the release in its share, if it will be in one.
    day : date
        On which it was made, UTC.
    """

    job: Job
    levels: Mapping[str, int] | None
    release_id: str | None
    day: dt.date

    def on(self, schema: pa.Schema) -> pa.Schema:
        """Annotate a schema of released columns; the column that tells linked tables apart stays as it is."""
        fields = [
            field if field.name == TABLE and self.job.tables is not None else field.with_metadata(self._of(field))
            for field in schema
        ]
        return pa.schema(fields, metadata=self._of_file())

    def _of(self, field: pa.Field) -> dict[str, str]:
        column = treated(self.job, field.name, type_name(field.type), self.levels)
        return {"description": in_words(column), **_plain(column)}

    def _of_file(self) -> dict[str, str]:
        named = {} if self.release_id is None else {"release": self.release_id}
        cited = ", ".join([self.job.name, *(f"release {one}" for one in named.values()), f"{self.day}"])
        return {
            "description": "A de-identified table; README.md beside it says how it is read",
            "job": self.job.name,
            **named,
            "date": self.day.isoformat(),
            "citation": f"{cited}; add who released it, and the SHA-256 of this file, which is in manifest.json",
        }


def _plain(column: DescribedColumn) -> dict[str, str]:
    told = {"role": column["role"], "what": column["what"]}
    if "level" in column:
        told["level"] = str(column["level"])
    if "levels" in column:
        told["levels"] = str(column["levels"])
    if "notation" in column:
        told["notation"] = column["notation"]
    return told

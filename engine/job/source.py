"""Where the records of a job come from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, Field, model_validator
from typing_extensions import Self

from engine.spec import FileName, Spec
from engine.tables.sources.csv_form import UTF_8, CsvForm, encoding_of


def _delimiter(value: str) -> str:
    if not value.isascii() or value in '"\r\n\0':
        raise ValueError("must be one ASCII character and neither a quote nor a line break")
    return value


class Source(Spec):
    """Where the records come from: a file, or a table or query of a connection."""

    path: FileName | None = Field(
        default=None,
        description="A .csv or .parquet file, a folder of such files, or a pattern of their names with *; relative to "
        "the job file.",
    )
    delimiter: Annotated[str, AfterValidator(_delimiter)] = Field(
        default=",", min_length=1, max_length=1, description="Field separator of a CSV file: one ASCII character."
    )
    encoding: Annotated[str, AfterValidator(encoding_of)] = Field(
        default=UTF_8,
        description="Encoding of a CSV file: utf-8, cp1252 (Windows), latin-1, utf-16, or another one of Python.",
    )
    conn_id: str | None = Field(default=None, description="Airflow connection of the warehouse.")
    table: str | None = Field(default=None, description="Table or view, with its schema if it has one: clinic.person.")
    query: str | None = Field(
        default=None,
        description="One SELECT statement instead of a table. job.yaml of each release has it, with all texts and "
        "numbers in it: name no person there, such as one who opted out; make a view.",
    )

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if (self.path is None) == (self.conn_id is None):
            raise ValueError("name either a path or a conn_id")
        if self.conn_id is not None and (self.table is None) == (self.query is None):
            raise ValueError("a conn_id needs either a table or a query")
        if self.path is not None and (self.table or self.query):
            raise ValueError("table and query belong to a conn_id, not to a path")
        if self.path is not None and "://" in self.path:
            raise ValueError(
                "path: is an address, and files are read from folders alone, by Spark too; mount the store, or copy "
                "the files"
            )
        return self

    @property
    def form(self) -> CsvForm:
        """How its CSV files are written."""
        return CsvForm(self.delimiter, self.encoding)

    def resolved(self, base: Path) -> Self:
        """Make the path absolute."""
        return self if self.path is None else self.model_copy(update={"path": str(base / self.path)})

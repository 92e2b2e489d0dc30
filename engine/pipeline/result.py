"""What a run gives back to its caller, who has the source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet

from engine.errors import InvalidData, NoSolution
from engine.pipeline.document import PublishedReport, Report
from engine.search.suppressed_class import REFUSED
from engine.tables.counting.drift_facts import Facts
from engine.tables.release_files import DATA
from engine.tables.sources.linked import file_name
from engine.verification import Finding


@dataclass(frozen=True)
class Result:
    """The result of a run.

    Attributes
    ----------
    report : Report
        Plain data, with all digits: it is for the caller, who has the source, and leaves no run.
    published : PublishedReport
        What of it may leave the run: `report.json`.
    findings : list of Finding
        Findings of the verification; all hold.
    output : Path or None
        The release folder, if one was written.
    manifest_sha256 : str or None
        SHA-256 of its manifest.
    facts : Facts or None
        What is to be remembered of tonight's table, of a job that looks for drift: it counts few records, so it stays
        on the private side.
    """

    report: Report
    published: PublishedReport
    findings: list[Finding]
    output: Path | None = None
    manifest_sha256: str | None = None
    facts: Facts | None = field(default=None, repr=False)
    _table: pa.Table | dict[str, pa.Table] | None = field(default=None, repr=False)
    _refusal: str | None = field(default=None, repr=False)
    _tables: tuple[str, ...] = ()

    @property
    def table(self) -> pa.Table:
        """The released table; read from the release folder if it was streamed there.

        Raises
        ------
        NoSolution
            There is none: the suppressed records can neither stay nor be left out, or nothing would be left to tell
            apart.
        """
        if isinstance(self._table, pa.Table):
            return self._table
        if self.report.get("backend") == "sql":
            raise InvalidData("table: the release is in its warehouse, and is not read outside of it")
        if self._tables:
            raise InvalidData("table: the job has several tables; read tables, or a file of the release folder")
        if self.output is None:
            raise NoSolution(self._refusal or REFUSED)
        return pa.parquet.read_table(self.output / DATA)

    @property
    def tables(self) -> dict[str, pa.Table]:
        """The released tables by name, of a job with tables; read from the release folder if they were streamed there.

        Raises
        ------
        NoSolution
            As of `table`.
        """
        if not self._tables:
            raise InvalidData("tables: the job has one table; read table")
        if isinstance(self._table, Mapping):
            return dict(self._table)
        if self.output is None:
            raise NoSolution(self._refusal or REFUSED)
        return {name: pa.parquet.read_table(self.output / file_name(name)) for name in self._tables}

"""The further files of a release: which there are, and that each has the records of the Parquet file.

In: a release folder, its codebook and the formats of the job. Out: beside each Parquet file one of the same name per
format, which was read back and compared, record by record and in the same order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from engine.codebook.document import Codebook, DescribedColumn
from engine.errors import VerificationFailed
from engine.formats import csv_file, spss_file, stata_file
from engine.job.job import Job
from engine.message import Message
from engine.tables.release.aggregated import aggregate_type
from engine.tables.release_files import DATA
from engine.tables.sources.column_types import plain_type
from engine.tables.sources.linked import file_name
from engine.verification import Finding


@dataclass(frozen=True)
class Format:
    """How the records are written in one format; the functions take a Parquet file, the other file and its columns."""

    refuse: Callable[[pa.Schema], None]
    write: Callable[[Path, Path, Sequence[DescribedColumn]], None]
    differ: Callable[[Path, Path, Sequence[DescribedColumn]], bool]


FORMATS: Mapping[str, Format] = {
    "csv": Format(csv_file.refuse, csv_file.write, csv_file.differ),
    "dta": Format(stata_file.refuse, stata_file.write, stata_file.differ),
    "sav": Format(spss_file.refuse, spss_file.write, spss_file.differ),
}
"""By the end of their names."""


def refuse_unwritable(job: Job, source: pa.Schema) -> None:
    """Refuse formats of a job that cannot hold a column of its release, before anything is counted.

    Parameters
    ----------
    source : pyarrow Schema
        Of the source; what it lacks is not looked at.

    Raises
    ------
    InvalidJob
        Names the column and the fix.
    """
    if not job.further_formats:
        return
    texts = {*job.quasi_identifiers, *job.pseudonymized}
    for columns in job.released_of_tables.values() or [job.released]:
        kinds = {name: plain_type(source.field(name).type) for name in columns if name in source.names}
        schema = pa.schema(
            [
                (
                    name,
                    pa.string() if name in texts else aggregate_type(job.attributes[name].microaggregation, name, kind),
                )
                for name, kind in kinds.items()
            ]
        )
        for name in job.further_formats:
            FORMATS[name].refuse(schema)


def write_formats(folder: Path, job: Job, codebook: Codebook) -> None:
    """Write the further files of a release, and compare them with what is released.

    Raises
    ------
    InvalidJob
        A format cannot hold a value, or so many records.
    VerificationFailed
        A file does not have the records of the Parquet file.
    """
    for data, columns in _tables(codebook):
        for name in job.further_formats:
            FORMATS[name].write(folder / data, (folder / data).with_suffix(f".{name}"), columns)
    failed = [finding.message for finding in compare_formats(folder, job, codebook) if not finding.holds]
    if failed:
        raise VerificationFailed("; ".join(map(str, failed)))


def compare_formats(folder: Path, job: Job, codebook: Codebook) -> list[Finding]:
    """Compare the further files of a release with its Parquet files; nothing of a job without.

    Memory is that of one batch.
    """
    return list(_compared(folder, job, codebook))


def _compared(folder: Path, job: Job, codebook: Codebook) -> Iterator[Finding]:
    for data, columns in _tables(codebook):
        for name in job.further_formats:
            written = (folder / data).with_suffix(f".{name}")
            holds = written.is_file() and not _differs(name, folder / data, written, columns)
            has = "has the records of" if holds else "is missing, or does not have the records of"
            yield Finding("formats", holds, None, None, None, Message(f"{written.name}: {has} {data}, in its order"))


def _differs(name: str, data: Path, written: Path, columns: Sequence[DescribedColumn]) -> bool:
    """Tell whether a file has other records than a Parquet file; one that cannot be read has."""
    try:
        return FORMATS[name].differ(data, written, columns)
    except MemoryError:
        raise
    except Exception:  # noqa: BLE001 (of a damaged file the libraries that read it raise whatever they meet)
        return True


def _tables(codebook: Codebook) -> list[tuple[str, list[DescribedColumn]]]:
    tables = codebook.get("tables", [])
    return [(file_name(one["table"]), one["columns"]) for one in tables] or [(DATA, codebook["columns"])]

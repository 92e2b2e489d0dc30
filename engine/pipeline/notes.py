"""What the columns of a release hold, in words: for a place that has no file beside its table, such as a database.

In: a release folder and its job. Out: a line of text for each released column. It follows from the codebook; of a
release inside a warehouse, which has none, from the job and the levels in the report.
"""

from __future__ import annotations

import json
from pathlib import Path

from engine.codebook.document import Codebook
from engine.codebook.treatment import in_words, treated
from engine.job.job import Job
from engine.tables.release_files import CODEBOOK, REPORT
from engine.tables.sources.linked_name import TABLE


def column_notes(folder: Path, job: Job) -> dict[str, str]:
    """Say what each released column holds; of linked tables also the column that tells them apart.

    Parameters
    ----------
    folder : Path
        Of the release; it was compared with its manifest.
    job : Job
        As of the job file.
    """
    path = folder / CODEBOOK
    if not path.exists() and job.backend != "sql":
        return {}  # of an earlier version
    if not path.exists():
        levels = json.loads((folder / REPORT).read_text(encoding="utf-8"))["solution"]["levels"]
        return {name: in_words(treated(job, name, "", levels)) for name in job.released}
    codebook: Codebook = json.loads(path.read_text(encoding="utf-8"))
    tables = codebook.get("tables", [])
    columns = [*codebook["columns"], *(column for table in tables for column in table["columns"])]
    which = {TABLE: "the name of the table that a record is of"} if tables else {}
    return {**which, **{column["column"]: in_words(column) for column in columns}}

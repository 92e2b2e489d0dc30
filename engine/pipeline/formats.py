"""The further files of a release folder, compared with its Parquet files by whoever has the folder and its job."""

from __future__ import annotations

from pathlib import Path

from pydantic import TypeAdapter

from engine.codebook.document import Codebook
from engine.errors import VerificationFailed
from engine.formats.formats import compare_formats
from engine.job.job import Job
from engine.json_document import strict_json
from engine.tables.release_files import CODEBOOK
from engine.verification import Finding


def compared_formats(folder: Path, job: Job) -> list[Finding]:
    """Compare what the job releases beside Parquet; nothing of a job that releases nothing else.

    Raises
    ------
    VerificationFailed
        The folder has no codebook, which says how values are labelled.
    """
    if not job.further_formats:
        return []
    try:
        codebook = TypeAdapter(Codebook).validate_python(strict_json((folder / CODEBOOK).read_bytes()), strict=True)
    except (OSError, ValueError):  # what has another form is a ValueError too
        raise VerificationFailed(f"{folder}: {CODEBOOK} is missing or cannot be read") from None
    return compare_formats(folder, job, codebook)

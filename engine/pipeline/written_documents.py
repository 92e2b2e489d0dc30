"""The documents of a release, written next to its data: report, codebook, README, job, other formats, manifest."""

from __future__ import annotations

import json
from pathlib import Path

from engine.codebook.codebook import codebook
from engine.codebook.readme import readme
from engine.formats.formats import write_formats
from engine.job.job import Job
from engine.pipeline.release import write_manifest
from engine.pipeline.verified import Verified
from engine.tables.release_files import CODEBOOK, JOB, README, REPORT


def write_documents(folder: Path, job: Job, made: Verified) -> str:
    """Write the documents of a release next to its data; return the SHA-256 of its manifest."""
    (folder / REPORT).write_text(json.dumps(made.published, indent=2, allow_nan=False), encoding="utf-8")
    if made.classes is not None:
        solution, form = made.report["solution"], made.report["suppressed_class"]["form"]
        described = codebook(job, solution["levels"], form, made.classes)
        (folder / CODEBOOK).write_text(json.dumps(described, indent=2, allow_nan=False), encoding="utf-8")
        (folder / README).write_text(readme(described, job.further_formats), encoding="utf-8")
        write_formats(folder, job, described)
    (folder / JOB).write_text(str(job), encoding="utf-8")
    return write_manifest(folder, {"name": job.name})

"""The folder into which a run writes its release."""

from __future__ import annotations

from pathlib import Path

from engine.errors import InvalidJob
from engine.job.job import Job
from engine.tables.sources.data_set import reads


def folder_of(job: Job, output: str | Path | None) -> Path | None:
    """Return the release folder; None if the output stays in memory."""
    if output is None:
        if job.output is not None and job.output.keep is not None:
            raise InvalidJob(
                "output.keep: only a share of Airflow has several releases, and here one folder is replaced; take it "
                "out, or name another folder as output"
            )
        if job.output is not None and job.output.also:
            raise InvalidJob(
                "output.also: only Airflow publishes to several shares, and here one folder is written; take it out, "
                "or name another folder as output"
            )
        output = None if job.output is None else job.output.path
    if output is not None and "://" in str(output):
        raise InvalidJob(f"output {output}: only folders of this machine can be written here; name a local path")
    return None if output is None else Path(output)


def refuse_around_source(job: Job, folder: Path) -> None:
    """Refuse a folder whose release would replace what the job reads, or be in the way of its next run."""
    target = folder.resolve()
    for path in (Path(source.path) for source in job.sources if source.path is not None):
        if target in path.resolve().parents:
            raise InvalidJob(f"output {folder}: holds the source {path}, which it would replace; name another folder")
        if reads(path, target):
            raise InvalidJob(
                f"output {folder}: is among the files of the source {path}, so that the next run could not read them; "
                "name a folder elsewhere, or one whose name begins with _"
            )

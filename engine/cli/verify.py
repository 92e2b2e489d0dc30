"""`airflow-anon verify`: a release folder checked against its job.

In: the folder of a release, and the job that made it. Out: one line for each finding.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.cli.fingerprint_key import fingerprint_key
from engine.errors import InvalidData, InvalidJob, VerificationFailed
from engine.job.job import Job
from engine.job.load import load_job
from engine.json_document import strict_json
from engine.message import visible
from engine.tables.release_files import CODEBOOK, DATA, JOB, MANIFEST, README, REPORT

if TYPE_CHECKING:
    from engine.verification import Finding

_NO_HIERARCHIES = (
    "a release has no files of hierarchies, and nothing may be put into it: copy its job.yaml elsewhere, put the files "
    "where the copy names them, and verify by the copy"
)


def add_verify(commands: Any) -> argparse.ArgumentParser:
    """Add the command `verify` to a parser."""
    verify: argparse.ArgumentParser = commands.add_parser("verify", help="check a release folder against its job")
    verify.add_argument("release", metavar="RELEASE_DIR")
    verify.add_argument("job", metavar="JOB.yaml")
    verify.add_argument(
        "--source",
        metavar="FILE",
        help="what was de-identified, whose records are compared; needed for a job that counts persons or releases a "
        "subset of its source",
    )
    return verify


def run_verify(options: argparse.Namespace) -> int:
    """Check a release folder, and say what holds; return the exit status.

    Raises
    ------
    InvalidData
        It cannot be judged: it is not there, its hierarchies are others, or the source is needed and not given.
    VerificationFailed
        It does not hold what the job demands.
    """
    from engine.pipeline.release import check_manifest  # noqa: PLC0415

    job = _job_of(options)
    folder = Path(options.release)
    if not folder.is_dir():
        raise InvalidData(
            f"{folder}: is not there, or is no folder, so that nothing can be judged; name the folder of a release, "
            "such as share/JOB/current"
        )
    check_manifest(folder)
    try:
        findings = _findings(folder, job, with_source=bool(options.source))
    except (InvalidJob, InvalidData) as problem:
        if not str(problem).startswith("hierarchy file ") or Path(options.job).resolve().parent != folder.resolve():
            raise
        raise type(problem)(f"{problem}; {_NO_HIERARCHIES}") from None
    for finding in findings:
        subject = finding.check if finding.column is None else f"{finding.check} of {finding.column}"
        print(visible(f"{'holds' if finding.holds else 'FAILS':6} {subject}: {finding.message}"))
    failed = [finding for finding in findings if not finding.holds]
    others = [str(finding.column) for finding in failed if finding.check == "hierarchy"]
    if others:
        raise InvalidData(
            f"{folder}: was not judged: the hierarchies of {', '.join(others)} are not those that it was made with; "
            "give them as they were then"
        )
    if failed and not any(finding.is_told for finding in failed):
        raise InvalidData(_not_shown(folder, job, failed))
    if failed:
        raise VerificationFailed(f"{folder}: does not hold what the job demands", list(findings))
    print(f"holds  the release: all of {len(findings)} checks")
    return 0


def _job_of(options: argparse.Namespace) -> Job:
    """Return the job, on the source that is named beside it.

    Raises
    ------
    InvalidJob
        One of the two is not there.
    """
    if Path(options.job).is_dir():
        raise InvalidJob(f"job file {options.job}: is a folder; the release comes first: verify RELEASE_DIR JOB.yaml")
    job = load_job(options.job)
    if not options.source:
        return job
    if "*" not in options.source and not Path(options.source).exists():
        raise InvalidJob(
            f"--source {options.source}: not found, so that nothing is compared with it; its path is relative to the "
            "working directory"
        )
    return job.with_source(options.source)


def _not_shown(folder: Path, job: Job, failed: Sequence[Finding]) -> str:
    """Return what of a release is neither shown nor refuted, and what to give."""
    checks = dict.fromkeys(finding.check for finding in failed)
    persons = bool({"persons", "series"} & set(checks))
    what = "that its classes are of enough persons" if persons else f"what is said of {', '.join(checks)}"
    column = f", with its column {job.subject!r}," if job.subject else ""
    has_source = any(source.path is not None for source in job.sources)
    lacks = not has_source if job.max_rows is not None else persons or bool(job.subset)
    lacks = lacks and "shift" not in checks  # a source does not help who has not the key of its dates
    fix = f"give what was de-identified{column} as --source" if lacks else str(failed[0].message)
    return (
        f"{folder}: what a release alone tells holds: columns, labels, suppression and rows; {what} is stated and "
        f"not shown; {fix}"
    )


def _findings(folder: Path, job: Job, *, with_source: bool) -> list[Finding]:
    from engine.pipeline.documents import compared_documents  # noqa: PLC0415 (errors need no pyarrow)
    from engine.pipeline.formats import compared_formats  # noqa: PLC0415 (as above)
    from engine.verification import (  # noqa: PLC0415 (as above)
        check_source_rows,
        class_table,
        has_structure,
        is_of_this_version,
        release_of,
        verify,
    )

    try:
        report = _report(folder)
        release = release_of(job, folder)
    except (OSError, ValueError, InvalidData) as problem:
        data = DATA if job.tables is None else "the file of a table"
        raise VerificationFailed(
            f"{folder}: {data} or {REPORT} is missing or cannot be read ({type(problem).__name__})"
        ) from None
    formats = compared_formats(folder, job)
    key = _key_of(report)
    try:
        classes = class_table(release, job) if has_structure(release.schema, job) else None
    except InvalidData as problem:
        raise VerificationFailed(problem.message) from None
    series = None
    if job.series is not None:
        from engine.job.open_series import series_evidence  # noqa: PLC0415 (as above)

        series = series_evidence(job, report)
    findings = verify(release if classes is None else classes, job, report, series=series, fingerprint_key=key)
    # what does not hold is described by no document, and is not compared with the source
    if classes is not None and all(finding.holds or not finding.is_told for finding in findings):
        # the file that the job names may be that of another night
        compared = check_source_rows(classes, job.as_run(report), report) if with_source else None
        findings += [] if compared is None else [compared]
        if is_of_this_version(report):
            findings.append(compared_documents(folder, job, report, classes))
        else:
            print(
                f"note   documents: {CODEBOOK}, {README}, {JOB}, what {MANIFEST} says of the report and the form of "
                f"{REPORT} are of another version, and were not compared"
            )
    return [*findings, *formats]


def _report(folder: Path) -> dict[str, Any]:
    """Read a report; without one a release would be judged by less."""
    report = strict_json((folder / REPORT).read_bytes())
    if not isinstance(report, dict):
        raise ValueError("is no object")  # noqa: TRY004 (a wrong document, not a wrong argument)
    return report


def _key_of(report: Mapping[str, Any]) -> bytes | None:
    """Return the key of fingerprints, if the report has some of hierarchies; note where they cannot be compared."""
    from engine.job.hierarchies_stated import is_stated, why_not_compared  # noqa: PLC0415 (schema and errors need none)

    stated = report.get("hierarchies")
    if stated is not None and not is_stated(stated):
        return None  # the verification says so
    key = None if stated is None else fingerprint_key(make=False)
    why = why_not_compared(stated, key)
    if why is not None:
        print(visible(f"note   hierarchies: judged by those that the job has now; {why}"))
    return key

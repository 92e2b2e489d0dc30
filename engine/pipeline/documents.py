"""The documents of a release folder that readers open first, compared with its file by whoever has the folder.

Codebook and README follow from the released file, the job and its hierarchies, and `job.yaml` has the hash that the
report names. Another version words them in another way, so that only those of this one are compared.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from engine.codebook.codebook import codebook
from engine.codebook.readme import readme
from engine.job.document import without_folders
from engine.job.job import Job
from engine.job.yaml_text import read_yaml
from engine.json_document import strict_json
from engine.message import Message
from engine.pipeline.release_metrics import release_metrics
from engine.pipeline.report_form import wrong_keys
from engine.tables.class_table import ClassTable
from engine.tables.release_files import CODEBOOK, DATA, JOB, MANIFEST, README, REPORT, VALIDATION
from engine.tables.sources.linked import file_name
from engine.verification import Finding

if TYPE_CHECKING:
    from engine.pipeline.document import PublishedReport

CHECK = "documents"


def compared_documents(folder: Path, job: Job, report: Mapping[str, Any], classes: ClassTable) -> Finding:
    """Compare codebook, README, job file, the figures of the manifest, and the form of the report.

    Parameters
    ----------
    folder : Path
        A release whose report is of this version, and well-formed.
    classes : ClassTable
        Of the released file.
    """
    job = job.as_run(report)
    keys = wrong_keys(job, report)
    # of a report of another form nothing can be said
    wrong = [f"{REPORT} ({', '.join(keys)})"] if keys else [*_others(folder, job, report, classes)]
    text = (
        f"{', '.join(wrong)}: not as the released file and the job have it" if wrong else "they are those of the file"
    )
    return Finding(CHECK, not wrong, None, None, None, Message(text))


def _others(folder: Path, job: Job, report: Mapping[str, Any], classes: ClassTable) -> Iterator[str]:
    """Name the documents that are not as file, job and report have them."""
    own = codebook(job, report["solution"]["levels"], report["suppressed_class"]["form"], classes)
    try:
        same = _same(strict_json((folder / CODEBOOK).read_bytes()), own)
    except (OSError, ValueError):
        same = False
    if not same:
        yield CODEBOOK
    if _content(folder / README) != readme(own, job.further_formats).encode():
        yield README
    if not _is_named(folder, report):
        yield JOB
    manifest = strict_json((folder / MANIFEST).read_bytes())
    if not _is_of_report(manifest, report):
        yield MANIFEST
    if not set(manifest["files"]) <= _names_of_files(job):
        yield "further files"


def _names_of_files(job: Job) -> set[str]:
    """Return the names that files of a release of a job may have."""
    data = [DATA] if job.tables is None else [file_name(name) for name in job.tables]
    further = [Path(name).with_suffix(f".{form}").name for name in data for form in job.further_formats]
    return {REPORT, CODEBOOK, README, JOB, VALIDATION, *data, *further}


def _is_of_report(manifest: Mapping[str, Any], report: Mapping[str, Any]) -> bool:
    """Tell whether a manifest says nothing but which files there are, of which release, and figures of its report."""
    texts = [manifest[key] for key in ("name", "release_id", "created") if key in manifest]
    figures: Mapping[str, Any] = {**release_metrics(cast("PublishedReport", report))}
    stated = manifest.get("metrics", {})
    return (
        set(manifest) <= {"name", "release_id", "created", "metrics", "files"}
        and all(isinstance(text, str) for text in texts)
        and manifest.get("name", report["name"]) == report["name"]
        and all(set(entry) == {"bytes", "sha256"} for entry in manifest["files"].values())
        and isinstance(stated, Mapping)
        and all(key in figures and _same(stated[key], figures[key]) for key in stated)
    )


def _same(one: Any, other: Any) -> bool:
    """Tell whether two parts of documents are the same: as text neither true nor 1.0 is 1."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def _is_named(folder: Path, report: Mapping[str, Any]) -> bool:
    """Tell whether the job file has the hash that the report names."""
    try:
        written = read_yaml((_content(folder / JOB) or b"").decode("utf-8"))
        text = json.dumps(without_folders(written), sort_keys=True)
    except (ValueError, TypeError, AttributeError):
        return False
    return report.get("job_sha256") == hashlib.sha256(text.encode()).hexdigest()


def _content(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None

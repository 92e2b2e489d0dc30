"""The documents of a release folder that readers open first, compared with its file by whoever has the folder.

Codebook and README follow from the released file, the job and its hierarchies, and `job.yaml` has the hash that the
report names. Another version words them in another way, so that only those of this one are compared.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from engine.codebook.codebook import codebook
from engine.codebook.readme import readme
from engine.job.document import without_folders
from engine.job.job import Job
from engine.job.yaml_text import read_yaml
from engine.json_document import strict_json
from engine.message import Message
from engine.tables.class_table import ClassTable
from engine.tables.release_files import CODEBOOK, JOB, README
from engine.verification import Finding

CHECK = "documents"


def compared_documents(folder: Path, job: Job, report: Mapping[str, Any], classes: ClassTable) -> Finding:
    """Compare codebook, README and job file.

    Parameters
    ----------
    folder : Path
        A release whose report is of this version, and well-formed.
    classes : ClassTable
        Of the released file.
    """
    wrong = [*_other_texts(folder, job, report, classes), *([] if _is_named(folder, report) else [JOB])]
    text = (
        f"{', '.join(wrong)}: not as the released file and the job have it" if wrong else "they are those of the file"
    )
    return Finding(CHECK, not wrong, None, None, None, Message(text))


def _other_texts(folder: Path, job: Job, report: Mapping[str, Any], classes: ClassTable) -> Iterator[str]:
    own = codebook(job.as_run(report), report["solution"]["levels"], report["suppressed_class"]["form"], classes)
    try:
        found = strict_json((folder / CODEBOOK).read_bytes())
        # as text neither true nor 1.0 is 1
        same = json.dumps(found, sort_keys=True) == json.dumps(own, sort_keys=True)
    except (OSError, ValueError):
        same = False
    if not same:
        yield CODEBOOK
    if _content(folder / README) != readme(own, job.further_formats).encode():
        yield README


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

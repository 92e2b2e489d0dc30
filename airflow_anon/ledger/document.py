"""The document of an attempt: everything an auditor may ask for later, in the form of docs/ledger.md.

In: the job, facts of the run and the source, and what the attempt left in a folder (a release folder in the share, or
what is staged of one that was refused). Out: plain JSON without a value of a record, and without a figure about fewer
records than the smallest class the job allows.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow_anon.disclosure.withhold import is_withheld, withheld_text
from engine import VerificationFailed, check_manifest, describe_levels

if TYPE_CHECKING:
    from engine import Job

FORMAT = 1
MANIFEST = "manifest.json"
REPORT = "report.json"
VALIDATION = "validation.json"
_ROWS = "expect_rows_accounted_for"
_COUNTS_SUPPRESSED = (_ROWS, "expect_suppression_within_limit")
_FINDING = ("description", "required", "sense", "observed", "holds", "margin")


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """What is known of an attempt beside its files.

    Attributes
    ----------
    job : Job
        The job as it was given to the tasks.
    run : mapping
        `dag_id`, `run_id`, `run_type`, `logical_date`, `run_after`, `attempt`, `task_group`, `triggered_by`.
    source : mapping
        What `extract` returned: `rows`, `columns`, `fingerprint`; empty if it did not come so far.
    versions : mapping
        Versions of packages that the report does not name.
    """

    job: Job
    run: Mapping[str, Any]
    source: Mapping[str, Any] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)

    def released(
        self,
        folder: Path,
        release_id: str,
        manifest_sha256: str,
        *,
        place: Path | None,
        table: Mapping[str, Any] | None,
    ) -> dict[str, Any]:
        """Make the document of a release.

        Parameters
        ----------
        folder : Path
            Where its files are now; they were compared with the manifest there.
        place : Path or None
            Its folder in the share, None without one.
        table : mapping or None
            `conn_id` and `table` of the SQL share, None without one.
        """
        files = _json(folder / MANIFEST)["files"]
        publication = {
            "release_id": release_id,
            "folder": None if place is None else str(place),
            "table": None if table is None else dict(table),
            "manifest_sha256": manifest_sha256,
            "files": files,
        }
        return self._document("released", None, folder, folder / VALIDATION, publication)

    def unreleased(self, outcome: str, reason: Mapping[str, Any], staged: Path | None) -> dict[str, Any]:
        """Make the document of an attempt that was refused, or failed.

        Parameters
        ----------
        outcome : {"refused", "failed"}
        reason : mapping
            `task`, `error` and `message`.
        staged : Path or None
            The run's staging folder, with `release/` and `validation.json` as far as it came.
        """
        release = None if staged is None else _sound(staged / "release")
        validation = None if staged is None else staged / VALIDATION
        told = {**reason, "message": withheld_text(str(reason["message"]), self._smallest)}
        return self._document(outcome, told, release, validation, None)

    @property
    def _smallest(self) -> int:
        return self.job.minimum_class_size

    def _document(
        self,
        outcome: str,
        reason: Mapping[str, Any] | None,
        release: Path | None,
        validation: Path | None,
        publication: Mapping[str, Any] | None,
    ) -> dict[str, Any]:
        report = {} if release is None else _json(release / REPORT)
        checked = _validation(validation, self._smallest, _suppressed(report))
        return {
            "format": FORMAT,
            "outcome": outcome,
            "name": self.job.name,
            "reason": reason,
            "run": dict(self.run),
            "job": {"sha256": self.job.sha256, "document": self.job.document()},
            "source": self._source(),
            "smallest_class_allowed": self._smallest,
            "records": self._records(report),
            "levels": self._levels(report),
            **self._from_report(report),
            "validation": checked,
            "versions": {**report.get("versions", {}), **_versions(checked), **self.versions},
            "publication": publication,
        }

    def _source(self) -> dict[str, Any]:
        written = self.job.source
        return {
            "conn_id": written and written.conn_id,
            "table": written and written.table,
            "query": bool(written and written.query),
            "rows": self.source.get("rows"),
            "columns": self.source.get("columns"),
            "fingerprint": self.source.get("fingerprint"),
        }

    def _records(self, report: Mapping[str, Any]) -> dict[str, Any]:
        limit = {"suppression_limit": self.job.suppression_limit}
        if not report:
            nothing = {"source": self.source.get("rows"), "released": None, "suppressed": None}
            return {**nothing, "suppressed_share": None, **limit}
        rows, suppressed = report["rows"], _suppressed(report)
        drop = self.job.output is not None and self.job.output.suppressed == "drop"
        if is_withheld(suppressed, self._smallest):
            withheld = {"suppressed": None, "suppressed_share": None, "below": self._smallest}
            return {"source": rows, "released": None if drop else rows, **withheld, **limit}
        return {
            "source": rows,
            "released": rows - suppressed if drop else rows,
            "suppressed": suppressed,
            "suppressed_share": suppressed / rows if rows else 0.0,
            **limit,
        }

    def _levels(self, report: Mapping[str, Any]) -> dict[str, Any] | None:
        """Describe the chosen level of each attribute; where the job has a rule, those of the policy that it chose."""
        if not report:
            return None
        described = describe_levels(self.job.as_run(report))
        chosen = report["solution"]["levels"]
        return {name: {"level": level, **described[name]} for name, level in chosen.items()}

    def _from_report(self, report: Mapping[str, Any]) -> dict[str, Any]:
        solution = report.get("solution")
        utility = self.job.utility
        return {
            "solution": solution
            and {
                **{name: solution[name] for name in ("information_loss", "lower_bound", "gap", "optimal")},
                "measure": utility.measure,
                "aggregate": utility.aggregate,
            },
            "privacy": [_finding(finding) for finding in report["privacy"]] if report else self._required(),
            "privacy_margin": report.get("privacy_margin"),
            **{part: report.get(part) for part in ("search", "risk", "utility", "classes", "timings")},
            **{part: report.get(part) for part in ("choice", "policy")},
            "warnings": list(report.get("warnings", ())),
        }

    def _required(self) -> list[dict[str, Any]]:
        """Return the criteria of an attempt that observed nothing."""
        written = self.job.document()["privacy"]
        return [
            _finding(
                {
                    **parameters,
                    "description": model.describe(),
                    **model.requirement(None)._asdict(),
                    "observed": None,
                    "holds": None,
                    "margin": None,
                }
            )
            for model, parameters in zip(self.job.privacy, written, strict=True)
        ]


def _sound(folder: Path) -> Path | None:
    """Return the staged release if it is whole: what was changed says nothing of the attempt."""
    try:
        check_manifest(folder)
    except (OSError, VerificationFailed):
        return None
    return folder


def _json(path: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return document


def _suppressed(report: Mapping[str, Any]) -> int:
    return int(report["solution"]["suppressed"]) if report else 0


def _finding(finding: Mapping[str, Any]) -> dict[str, Any]:
    parameters = {name: value for name, value in finding.items() if name not in {*_FINDING, "model"}}
    return {"model": finding["model"], "parameters": parameters, **{name: finding[name] for name in _FINDING}}


def _validation(path: Path | None, smallest: int, suppressed: int) -> dict[str, Any] | None:
    """Return the result of the validation, if there is one."""
    if path is None or not path.is_file():
        return None
    content = path.read_bytes()
    document = json.loads(content)
    return {
        **{name: document[name] for name in ("success", "suite", "great_expectations_version", "validated_at")},
        "expectations": document["expectations"],
        "sha256": hashlib.sha256(content).hexdigest(),
        "results": [_result(result, smallest, suppressed) for result in document["results"]],
    }


def _result(result: Mapping[str, Any], smallest: int, suppressed: int) -> dict[str, Any]:
    """Keep of a result what may be shown: one that holds observed nothing of few records but those suppressed."""
    shown = {
        name: result[name]
        for name in ("expectation_type", "description", "success", "column", "observed", "required", "message")
    }
    hides_suppressed = is_withheld(suppressed, smallest) and result["expectation_type"] in _COUNTS_SUPPRESSED
    if result["success"] and not hides_suppressed:
        return shown
    shown["message"] = withheld_text(str(result["message"]), smallest)
    if hides_suppressed:
        # Rows that are there or required tell, beside those of the source, how many were left out.
        shown["description"] = withheld_text(str(result["description"]), smallest)
        return {**shown, "observed": None, "required": None, "message": None, "below": smallest}
    if _misses_few(result, smallest):
        return {**shown, "observed": None, "message": None, "below": smallest}
    if is_withheld(result["observed"], smallest):
        return {**shown, "observed": None, "below": smallest}
    return shown


def _misses_few(result: Mapping[str, Any], smallest: int) -> bool:
    """Whether rows are there or missing that are few: each of the two counts tells them beside the other."""
    observed, required = result["observed"], result["required"]
    return (
        result["expectation_type"] == _ROWS
        and isinstance(observed, int)
        and isinstance(required, int)
        and is_withheld(abs(observed - required), smallest)
    )


def _versions(validation: Mapping[str, Any] | None) -> dict[str, str]:
    return {} if validation is None else {"great-expectations": validation["great_expectations_version"]}

"""Builds the document of an attempt: everything an auditor may ask for later (its form is in `form`).

In: the job, facts of the run and the source, and the attempt's folder (a release folder in the share, or the staging
folder of a refused attempt). Out: plain JSON without a value of a record, and without a figure about fewer records than
the smallest class the job allows, as `airflow_anon.disclosure` decides.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow_anon.disclosure.fingerprints import told_fingerprint
from airflow_anon.disclosure.fractions import about
from airflow_anon.disclosure.messages import reason_text
from airflow_anon.ledger import form, form_lint, form_publication, form_usefulness
from airflow_anon.ledger import form_parts as parts
from airflow_anon.ledger.entry import FORMAT
from airflow_anon.ledger.form_part import Part
from airflow_anon.ledger.records import records_counted
from airflow_anon.ledger.validation import validation_of
from airflow_anon.transport.release_files import MANIFEST, REPORT, VALIDATION
from engine import TABLE_COLUMN, VerificationFailed, check_manifest, describe_levels

if TYPE_CHECKING:
    from engine import Job

WAITING = "waiting"
"""The outcome of a release that waits for approval, which no entry has."""
_OF_SOURCE = ("distinction", "separation")
_CRITERION = ("description", "required", "sense", "observed", "holds", "margin")


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """What is known of an attempt besides its files.

    Attributes
    ----------
    job : Job
        The job as given to the tasks.
    run : mapping
        `dag_id`, `run_id`, `run_type`, `logical_date`, `run_after`, `attempt`, `task_group`, `triggered_by`.
    source : mapping
        What `extract` returned: `columns`, `fingerprint`, `fingerprint_key_id`, `read`; empty if the attempt
        ended before.
    population : mapping
        What `extract_population` returned, of which `read` is kept; empty for a job without a population in a database.
    versions : mapping
        Versions of packages not named in the report.
    delivered : mapping, optional
        What readers had of the job before it, as `delivery.delivered` found it.
    approval : mapping, optional
        What is recorded of its approval, as `run.approval` says; None for a job without the section, and for an
        attempt that ended before.
    key : callable, optional
        Gives the key of fingerprints, or None: without it nobody can tell whether hierarchies are those of the release.
    """

    job: Job
    run: Mapping[str, Any]
    source: Mapping[str, Any] = field(default_factory=dict)
    population: Mapping[str, Any] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    delivered: Mapping[str, Any] | None = None
    approval: Mapping[str, Any] | None = None
    key: Callable[[], bytes | None] | None = None

    def released(
        self,
        folder: Path,
        release_id: str,
        manifest_sha256: str,
        *,
        place: str | None,
        table: Mapping[str, Any] | None,
        also: Sequence[str] = (),
    ) -> dict[str, Any]:
        """Make the document of a release.

        Parameters
        ----------
        folder : Path
            Where its files are now; they have been compared with its manifest.
        place : str or None
            Its folder in the share, or its address in a store; None without either.
        also : sequence of str
            Its places in further shares.
        table : mapping or None
            `conn_id`, `table` and `content` (`sha256`, `method`, `columns`) of the SQL share; None without a SQL share.

        Raises
        ------
        LedgerError
            The result does not have the form of a document.
        """
        with form.writing():
            publication = form_publication.Publication(
                release_id=release_id,
                folder=place,
                **({"also": list(also)} if also else {}),
                table=None if table is None else form_publication.Table.model_validate(dict(table)),
                manifest_sha256=manifest_sha256,
                files=_json(folder / MANIFEST)["files"],
            )
            return self._document("released", None, folder, folder / VALIDATION, publication).stored()

    def unreleased(self, outcome: str, reason: Mapping[str, Any], staged: Path | None) -> dict[str, Any]:
        """Make the document of an attempt that was refused, or failed.

        Parameters
        ----------
        outcome : {"refused", "failed"}
        reason : mapping
            `task`, `error` and `message_parts`; a message without its parts is left out of the document.
        staged : Path or None
            The run's staging folder, with `release/` and `validation.json` if the attempt wrote them.

        Raises
        ------
        LedgerError
            The result does not have the form of a document.
        """
        release = None if staged is None else _sound(staged / "release")
        validation = None if staged is None else staged / VALIDATION
        with form.writing():
            return self._document(outcome, self._reason(reason), release, validation, None).stored()

    def waiting(self, folder: Path, validation: Path) -> dict[str, Any]:
        """Make the document of a release that waits for approval, as an entry would have it but for the outcome.

        Parameters
        ----------
        folder, validation : Path
            The staged release, which has been compared with its manifest, and the result of its validation.

        Raises
        ------
        LedgerError
            The result does not have the form of a document.
        """
        with form.writing():
            return self._document(WAITING, None, folder, validation, None).stored()

    @property
    def _smallest(self) -> int:
        return self.job.minimum_class_size

    def _reason(self, reason: Mapping[str, Any]) -> parts.Reason:
        task, error = str(reason["task"]), str(reason["error"])
        text = reason_text(reason.get("message_parts"), self._smallest, task=task, error=error)
        return parts.Reason(task=task, error=error, message=text)

    def _document(
        self,
        outcome: str,
        reason: parts.Reason | None,
        release: Path | None,
        validation: Path | None,
        publication: form_publication.Publication | None,
    ) -> form.Document:
        report = {} if release is None else _json(release / REPORT)
        records = records_counted(self.job, report)
        checked = validation_of(validation, self._smallest, _suppressed(report))
        return form.Document(
            format=FORMAT,
            outcome=outcome,
            name=self.job.name,
            reason=reason,
            run=parts.Run.model_validate(dict(self.run)),
            job=parts.WrittenJob(sha256=self.job.sha256, document=self.job.document()),
            source=self._source(records.source),
            population=self._population(),
            smallest_class_allowed=self._smallest,
            records=records,
            levels=self._levels(report),
            solution=self._solution(report),
            search=parts.Search.model_validate(report["search"]) if report else None,
            privacy=[_criterion(finding) for finding in report["privacy"]] if report else self._required(),
            privacy_margin=report.get("privacy_margin"),
            risk=report.get("risk"),
            attribute_inference=report.get("attribute_inference"),
            utility=report.get("utility"),
            timings=report.get("timings"),
            versions={**report.get("versions", {}), **_checked_with(checked), **self.versions},
            warnings=list(report.get("warnings", ())),
            classes=parts.Classes.model_validate(report["classes"]) if report else None,
            lint=self._lint(report, records.source),
            **_sometimes(report),
            choice=report.get("choice"),
            policy=report.get("policy"),
            validation=checked,
            approval=None if self.approval is None else parts.Approval.model_validate(dict(self.approval)),
            publication=publication,
            delivered=None
            if self.delivered is None
            else form_publication.Delivered.model_validate(dict(self.delivered)),
        )

    def _source(self, rows: int | None) -> parts.Source:
        written = self.job.source
        return parts.Source(
            conn_id=next((source.conn_id for source in self.job.sources), None),
            table=written.table if written else None,
            query=bool(written and written.query),
            tables=self._tables(),
            rows=rows,
            columns=self.source.get("columns"),
            # two nights with the same fingerprint have the same records, which differential privacy does not tell
            **told_fingerprint({} if self.job.is_private else self.source),
            read=None if self.source.get("read") is None else parts.Read.model_validate(self.source["read"]),
        )

    def _tables(self) -> dict[str, parts.SourceTable] | None:
        if self.job.tables is None:
            return None
        sources = {name: one.source for name, one in self.job.tables.items() if one.source is not None}
        return {name: parts.SourceTable(table=one.table, query=bool(one.query)) for name, one in sources.items()}

    def _population(self) -> parts.Population | None:
        written = self.job.population_query
        if written is None:
            return None
        read = self.population.get("read")
        return parts.Population(
            conn_id=written.conn_id, read=None if read is None else parts.Read.model_validate(dict(read))
        )

    def _levels(self, report: Mapping[str, Any]) -> dict[str, parts.Level] | None:
        """Describe the chosen level of each attribute; for a job with a rule, the levels of the policy it chose.

        Of a local recoding, the shares of the records by level. Examples are of the hierarchies of the release alone:
        a file may have changed while it waited for approval.
        """
        if not report:
            return None
        key = self.key() if self.key is not None and "hierarchies" in report else None
        described = describe_levels(self.job, report, key)
        chosen = report["solution"]["levels"]
        if chosen is None:
            return {
                name: parts.Level.model_validate({"level": None, "shares": shares, **described[name]})
                for name, shares in report["solution"]["shares"].items()
            }
        # which of several tables a record is of is no column that readers see
        told = [name for name in chosen if self.job.tables is None or name != TABLE_COLUMN]
        return {name: parts.Level.model_validate({"level": chosen[name], **described[name]}) for name in told}

    def _solution(self, report: Mapping[str, Any]) -> parts.Solution | None:
        if not report:
            return None
        found = report["solution"]
        return parts.Solution(
            information_loss=found["information_loss"],
            lower_bound=found["lower_bound"],
            gap=found["gap"],
            optimal=found["optimal"],
            measure=self.job.utility.measure,
            aggregate=self.job.utility.aggregate,
        )

    def _lint(self, report: Mapping[str, Any], rows: int | None) -> form_lint.Lint | None:
        """Keep what the linter measured; shares of the source tell no more digits than its number of records may."""
        if "lint" not in report:
            return None
        found = form_lint.Lint.model_validate(report["lint"])
        told = [
            one.model_copy(
                update={name: about(getattr(one, name), rows, self._smallest)["value"] for name in _OF_SOURCE}
            )
            for one in found.columns or ()
        ]
        return found.model_copy(update={"columns": told})

    def _required(self) -> list[parts.Criterion]:
        """Return the criteria of an attempt without observed figures."""
        written = self.job.document()["privacy"]
        nothing = {"observed": None, "holds": None, "margin": None}
        return [
            _criterion({**parameters, "description": model.describe(), **model.requirement(None)._asdict(), **nothing})
            for model, parameters in zip(self.job.counted_privacy, written, strict=True)
        ]


def _sound(folder: Path) -> Path | None:
    """Return the staged release if it is intact: changed files do not describe the attempt."""
    try:
        check_manifest(folder)
    except (OSError, VerificationFailed):
        return None
    return folder


def _json(path: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return document


def _suppressed(report: Mapping[str, Any]) -> int | None:
    """Return the number of suppressed records; None without a report, or where it is withheld."""
    records = report["suppressed_class"]["records"] if report else None
    return None if records is None else int(records)


def _criterion(finding: Mapping[str, Any]) -> parts.Criterion:
    parameters = {name: value for name, value in finding.items() if name not in {*_CRITERION, "model"}}
    told = {name: finding[name] for name in _CRITERION}
    return parts.Criterion(model=finding["model"], parameters=parameters, **told)


def _checked_with(validation: parts.Validation | None) -> dict[str, str | None]:
    return {} if validation is None else {"great-expectations": validation.great_expectations_version}


def _sometimes(report: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys that not all documents have: of hierarchies, of a series, of drift, and of usefulness."""
    forms: dict[str, type[Part]] = {
        "hierarchies": parts.Hierarchies,
        "series": parts.Series,
        "drift": parts.Drift,
        "usefulness": form_usefulness.Usefulness,
    }
    return {key: form_of.model_validate(report[key]) for key, form_of in forms.items() if key in report}

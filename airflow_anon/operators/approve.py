"""Four eyes: a validated release waits, unpublished, until a person of the job's choice approves it.

In: the staged release, proven, and what readers have. Out: the decision as an XCom, which `publish` checks again and
the ledger keeps. The task waits without a worker.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

from airflow.providers.common.compat.sdk import AirflowFailException
from airflow.providers.standard.operators.hitl import HITLOperator
from airflow.sdk import Param

from airflow_anon.observe.addresses import PREFIX, Addresses, base_path
from airflow_anon.operators.approval_need import need_of
from airflow_anon.run.approval import (
    APPROVE,
    CANDIDATE_KEY,
    LONGEST_COMMENT,
    REFUSE,
    ROLES_KEY,
    XCOM_KEY,
    Decision,
    approvers,
    comment_of,
    objection,
    role_of,
)
from airflow_anon.run.earlier_results import refuse_missing
from airflow_anon.run.facts import attempt_of, run_facts
from airflow_anon.run.refusal import ReleaseRefused, told
from airflow_anon.share.folder_share import local_path
from airflow_anon.transport.release_files import COUNTED, POPULATION, RELEASE_KEY, ROWS_KEY, SOURCE, VALIDATION
from engine import InvalidJob, VerificationFailed, check_manifest, load_job

if TYPE_CHECKING:
    from airflow.sdk import Context

    from engine import Job

NO_LONGER_NEEDED = (SOURCE, POPULATION, COUNTED, ROWS_KEY, RELEASE_KEY)
"""Files beside a staged release that only the tasks before its approval read."""
MOST_DISREGARDED = 20
"""Answers that did not count and are recorded; whoever goes on is not counted any more."""


class ApproveReleaseOperator(HITLOperator):
    """Let a release wait for approval, if the job's rule says so; fail if it is refused, or nobody answers in time.

    An answer counts if it is of a user whom the job names, or who has a role that it names, and who did not start the
    run; after any other the release waits on. While it waits, staging holds the release alone: what was extracted is
    removed.

    Parameters
    ----------
    job : path, mapping or Job
        With a section `approval`. A path and the texts of a mapping are templates.
    release : str
        The staged release folder; ``validation.json`` is beside it.
    manifest_sha256 : str
        SHA-256 of its ``manifest.json``, from the task that wrote it: the answer is about this release alone.
    extracted, population_extracted : mapping, optional
        What ``extract`` and ``extract_population`` returned, for the figures on the page.
    ledger : str, optional
        Where the release ledger is: a connection id or an SQLAlchemy URL; by default `AIRFLOW_ANON_LEDGER`.
    fingerprint_key : str, optional
        Where the key of fingerprints is, as of ``deidentify``: of hierarchies that are not known to be those of the
        release, no examples are shown.

    Returns
    -------
    dict
        `airflow_anon.run.approval.Decision`.

    Examples
    --------
    >>> ApproveReleaseOperator(
    ...     task_id="approve",
    ...     job="/opt/airflow/dags/jobs/hospital_stays.yaml",
    ...     release="{{ ti.xcom_pull('deidentify')['release'] }}",
    ...     manifest_sha256="{{ ti.xcom_pull('deidentify')['manifest_sha256'] }}",
    ... )  # doctest: +SKIP
    """

    template_fields: Sequence[str] = (
        "job",
        "release",
        "manifest_sha256",
        "extracted",
        "population_extracted",
        "ledger",
    )
    template_fields_renderers: ClassVar[dict[str, str]] = {"job": "yaml"}
    ui_color = "#fff2cc"

    def __init__(
        self,
        *,
        job: str | Path | Mapping[str, Any] | Job,
        release: str,
        manifest_sha256: str,
        extracted: Mapping[str, Any] | None = None,
        population_extracted: Mapping[str, Any] | None = None,
        ledger: str | None = None,
        fingerprint_key: str | None = None,
        **kwargs: Any,
    ) -> None:
        kwargs.setdefault("subject", "Approve this release?")
        comment = Param(
            "",
            type="string",
            maxLength=LONGEST_COMMENT,
            title="Comment",
            description="Kept in the ledger and on the certificate. Write no value of a record.",
        )
        # parameters of the DAG are no part of the form
        kwargs.pop("params", None)
        super().__init__(
            options=[APPROVE, REFUSE],
            params={"comment": comment},
            # a longer wait than that of the job, which is read when the task runs; without one, an
            # `execution_timeout` would be taken for it
            response_timeout=dt.timedelta(days=31),
            **kwargs,
        )
        self.job = job
        self.release = release
        self.manifest_sha256 = manifest_sha256
        self.extracted = extracted
        self.population_extracted = population_extracted
        self.ledger = ledger
        self.fingerprint_key = fingerprint_key

    @told
    def execute(self, context: Context) -> Decision:
        """Wait, unless the job's rule says that this release need not.

        Raises
        ------
        AirflowFailException
            The job has no section `approval`, or the release is not the one that was made.
        AirflowException
            The ledger could not be read; a retry may help.
        """
        from airflow_anon.ledger.address import open_ledger  # noqa: PLC0415 (heavy imports belong into execute)
        from airflow_anon.publication.delivered import delivered_now  # noqa: PLC0415
        from airflow_anon.publication.errors import ledger_errors  # noqa: PLC0415

        refuse_missing(release=self.release, manifest_sha256=self.manifest_sha256)
        job = self._approved_job()
        folder = self._checked()
        with ledger_errors():
            ledger = open_ledger(self.ledger)
        attempt = attempt_of(
            self.job, self.extracted, context, self.population_extracted, fingerprint_key=self.fingerprint_key
        )
        attempt = dataclasses.replace(attempt, delivered=delivered_now(ledger, job.name, self.log))
        with ledger_errors():
            candidate = attempt.waiting(folder, folder.parent / VALIDATION)
            need = need_of(job, ledger, candidate)
        decision = self._open_decision(job, need.why)
        if not need.waits:
            decision = {**decision, "answer": "not-needed", "asked_at": None, "expires_at": None}
            self._say(context, decision)
            self.log.info("The release needs no approval: %s", need.why)
            return decision
        for name in NO_LONGER_NEEDED:
            (folder.parent / name).unlink(missing_ok=True)
        self._say(context, decision)
        context["ti"].xcom_push(key=CANDIDATE_KEY, value=candidate)
        self.subject = f"Approve the release of {job.name}?"
        self.body = self._body(job, decision, context)
        self.log.info("The release waits for approval by %s: %s", " or ".join(approvers(job)), need.why)
        return self._wait(decision, context)

    @told
    def execute_complete(self, context: Context, event: dict[str, Any]) -> Decision:
        """Judge the answer that Airflow recorded.

        Raises
        ------
        ReleaseRefused
            Somebody refused the release, or nobody answered in time.
        AirflowFailException
            What was asked is not known any more, or the release is not the one that waited.
        """
        job = self._approved_job()
        decision: Decision | None = context["ti"].xcom_pull(task_ids=context["ti"].task_id, key=XCOM_KEY)
        if not isinstance(decision, Mapping) or decision.get("manifest_sha256") != self.manifest_sha256:
            raise AirflowFailException("what was asked for this release is not known any more; clear the whole run")
        answered = _moment(event.get("responded_at")) or _now()
        if event.get("error_type") == "timeout" or answered > _moment(decision["expires_at"]):
            self._say(context, {**decision, "answer": "expired", "answered_at": _text(answered)})
            raise ReleaseRefused(
                f"the approval expired: none of those who may approve ({', '.join(approvers(job))}) answered within "
                f"{job.approval.expires}"
            )
        user = event.get("responded_by_user")
        roles = self._roles(user, context)
        why = objection(job, user, run_facts(context)["triggered_by"], roles=roles)
        chosen = list(event.get("chosen_options") or ())
        if why is None and chosen not in ([APPROVE], [REFUSE]):
            why = f"the answer was neither {APPROVE} nor {REFUSE}"
        if why is not None:
            return self._ask_again(decision, user, answered, why, context)
        decision = {
            **decision,
            "answer": "approved" if chosen == [APPROVE] else "refused",
            "user": str(user.get("name") or user["id"]),
            "user_id": str(user["id"]),
            "role": role_of(job, roles),
            "comment": comment_of((event.get("params_input") or {}).get("comment")),
            "answered_at": _text(answered),
        }
        self._say(context, decision)
        if decision["answer"] == "refused":
            said = f": {decision['comment']}" if decision["comment"] else ", without a comment"
            raise ReleaseRefused(f"{decision['user']} refused the release{said}")
        self._checked()
        self.log.info("%s approved the release", decision["user"])
        return decision

    def _approved_job(self) -> Job:
        try:
            job = load_job(self.job)
        except InvalidJob as problem:
            raise AirflowFailException(str(problem)) from None
        if job.approval is None:
            raise AirflowFailException(f"job {job.name!r}: has no section approval; add one, or take this task away")
        return job

    def _checked(self) -> Path:
        """Return the folder of the staged release if it is the one that was made."""
        folder = local_path(self.release, "release")
        try:
            check_manifest(folder, self.manifest_sha256)
        except (OSError, VerificationFailed):
            raise AirflowFailException(
                "the staged release is not the one that was made in this run (its manifest or files are missing or "
                "changed), so nobody is asked to approve it; clear the whole run"
            ) from None
        return folder

    def _open_decision(self, job: Job, why: str) -> Decision:
        assert job.approval is not None  # noqa: S101 (`_approved_job`)
        now = _now()
        return {
            "when": job.approval.when,
            "why": why,
            "answer": None,
            "user": None,
            "user_id": None,
            "role": None,
            "comment": None,
            "asked_at": _text(now),
            "expires_at": _text(now + job.approval.waits),
            "answered_at": None,
            "manifest_sha256": self.manifest_sha256,
            "disregarded": [],
        }

    def _say(self, context: Context, decision: Decision) -> None:
        context["ti"].xcom_push(key=XCOM_KEY, value=decision)

    def _roles(self, user: Mapping[str, Any] | None, context: Context) -> tuple[str, ...]:
        """Return the roles of who answered, if it was on the page of the release, which leaves them here."""
        found = context["ti"].xcom_pull(task_ids=context["ti"].task_id, key=ROLES_KEY)
        if not isinstance(found, Mapping) or user is None or found.get("user_id") != user.get("id"):
            return ()
        return tuple(str(role) for role in found.get("roles") or ())

    def _ask_again(
        self,
        decision: Decision,
        user: Mapping[str, Any] | None,
        answered: dt.datetime,
        why: str,
        context: Context,
    ) -> NoReturn:
        name = "somebody" if user is None else str(user.get("name") or user.get("id"))
        self.log.warning("The answer of %s does not count, and the release waits on: %s", name, why)
        more = {"user": name, "at": _text(answered), "why": why}
        decision = {**decision, "disregarded": [*decision["disregarded"], more][-MOST_DISREGARDED:]}
        self._say(context, decision)
        job = self._approved_job()
        self.subject = f"Approve the release of {job.name}?"
        self.body = self._body(job, decision, context)
        self._wait(decision, context)

    def _wait(self, decision: Decision, context: Context) -> NoReturn:
        """Wait for the rest of the time; it ends the task's process, and an answer begins another."""
        until = _moment(decision["expires_at"])
        # Airflow looks for an answer that is too late only while there is time left
        self.response_timeout = max(until - _now(), dt.timedelta(seconds=1))
        super().execute(context)
        raise AssertionError("Airflow's operator waits by an exception")

    def _body(self, job: Job, decision: Decision, context: Context) -> str:
        from airflow.configuration import conf  # noqa: PLC0415 (a DAG file asks for no setting)

        run, task = context["dag_run"], context["ti"].task_id
        host = str(conf.get("api", "base_url", fallback="") or "").rstrip("/").removesuffix(base_path())
        page = host + Addresses(base_path() + PREFIX).approval(run.dag_id, run.run_id, task)
        return (
            f"[See the release, compare it with the current one, and answer]({page})\n\n"
            f"It waits because {decision['why']}. {' or '.join(approvers(job))} may answer until "
            f"{decision['expires_at']}; whoever started the run may not. Readers keep the release that they have."
        )


def _now() -> dt.datetime:
    return dt.datetime.now(dt.timezone.utc)


def _text(moment: dt.datetime) -> str:
    return moment.astimezone(dt.timezone.utc).isoformat(timespec="seconds")


def _moment(value: Any) -> Any:
    if value is None or isinstance(value, dt.datetime):
        return value
    return dt.datetime.fromisoformat(str(value).replace("Z", "+00:00"))

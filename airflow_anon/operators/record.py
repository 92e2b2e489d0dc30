"""The end of every attempt: an attempt without a release gets its entry in the ledger, with the reason."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from airflow.providers.common.compat.sdk import AirflowException, AirflowFailException, AirflowSkipException
from airflow.sdk import BaseOperator
from airflow.sdk.exceptions import AirflowRuntimeError

from airflow_anon.observe.lineage import AttemptLineage
from airflow_anon.observe.metrics import emit
from airflow_anon.observe.recorded import recorded_in
from airflow_anon.operators.cut_off_after_entry import lead_to_cut_off
from airflow_anon.operators.outcome import refuse_mapped, skipped_from_outside, task_states
from airflow_anon.operators.publish import job_with_output
from airflow_anon.run import staging
from airflow_anon.run.airflow_id import airflow_id
from airflow_anon.run.approval import XCOM_KEY
from airflow_anon.run.check_only import was_check
from airflow_anon.run.facts import ENDED, attempt_of, has_ended, run_facts
from airflow_anon.run.refusal import reason_of
from airflow_anon.run.release_id import release_id, release_id_of, run_digest

if TYPE_CHECKING:
    from airflow.sdk import Context

    from airflow_anon.ledger import Entry, Ledger, Pending
    from engine import Job

ROUNDS = 3
"""How often to settle a process that still publishes before the task gives up."""
_BY_HAND = "if nobody settles it any more, do so by `airflow-anon settle {pending.job}/{pending.release_id}`"


class RecordAttemptOperator(AttemptLineage, BaseOperator):
    """Enter a refused or failed attempt into the release ledger, and settle unfinished publications.

    It runs whether or not the tasks before it succeeded; as a teardown, also when somebody ended the run. A publication
    that was cut off and will not be retried is completed if the release is complete, otherwise taken back; so are those
    of earlier runs of the DAG that have ended.

    Parameters
    ----------
    job : path, mapping or Job
        The job of the attempt. A path and the texts of a mapping are templates.
    tasks : sequence of str
        Ids of the attempt's tasks in order; the last one publishes.
    extracted : mapping, optional
        What ``extract`` returned.
    population_extracted : mapping, optional
        What ``extract_population`` returned; what it read goes into the ledger.
    approval_task : str, optional
        Id of the task that asks for approval: what it was answered goes into the ledger.
    staging_base : str, optional
        Base of the staging folders, as given to the tasks that prepare and remove them: a refused release is described
        from what is left there.
    publish_to : mapping, optional
        As given to the task that publishes.
    umask : int
        As given to the task that publishes.
    ledger : str, optional
        Where the release ledger is: a connection id or an SQLAlchemy URL; by default `AIRFLOW_ANON_LEDGER`.
    fingerprint_key : str, optional
        Where the key of fingerprints is, as of ``deidentify``: of hierarchies that are not known to be those of the
        release, no examples are shown.

    Returns
    -------
    dict
        ``outcome`` (``released``, ``refused`` or ``failed``), ``ledger_sequence`` (int), ``ledger_sha256`` (str).

    Examples
    --------
    >>> RecordAttemptOperator(
    ...     task_id="record_attempt",
    ...     job="/opt/airflow/dags/jobs/hospital_stays.yaml",
    ...     tasks=["extract", "deidentify", "validate", "publish"],
    ... )  # doctest: +SKIP
    """

    template_fields: Sequence[str] = (
        "job",
        "extracted",
        "population_extracted",
        "staging_base",
        "publish_to",
        "ledger",
    )
    template_fields_renderers: ClassVar[dict[str, str]] = {"job": "yaml"}
    ui_color = "#dde5ee"

    def __init__(
        self,
        *,
        job: str | Path | Mapping[str, Any] | Job,
        tasks: Sequence[str],
        extracted: Mapping[str, Any] | None = None,
        population_extracted: Mapping[str, Any] | None = None,
        approval_task: str | None = None,
        staging_base: str | None = None,
        publish_to: Mapping[str, Any] | None = None,
        umask: int = 0o022,
        ledger: str | None = None,
        fingerprint_key: str | None = None,
        **kwargs: Any,
    ) -> None:
        kwargs.setdefault("trigger_rule", "all_done")
        super().__init__(**kwargs)
        self.job = job
        self.tasks = list(tasks)
        self.extracted = extracted
        self.population_extracted = population_extracted
        self.approval_task = approval_task
        self.staging_base = staging_base
        self.publish_to = publish_to
        self.umask = umask
        self.ledger = ledger
        self.fingerprint_key = fingerprint_key

    def execute(self, context: Context) -> dict[str, Any]:
        """Settle and record; return the outcome and the entry.

        Raises
        ------
        AirflowFailException
            The job is invalid, or an unfinished publication cannot be settled; or tasks are mapped.
        AirflowException
            The ledger or the share's database failed; a retry may help.
        AirflowSkipException
            No attempt was made, because tasks before it in the DAG skipped it, or the run was to check only.
        """
        from airflow_anon.ledger.address import open_ledger  # noqa: PLC0415 (heavy imports belong into execute)
        from airflow_anon.publication.errors import ledger_errors  # noqa: PLC0415

        refuse_mapped(self, context, self.tasks)
        job = job_with_output(self.job, self.publish_to)
        states = task_states(self.tasks, context)
        if skipped_from_outside(self, states, context):
            raise AirflowSkipException("no attempt was made: tasks before it skipped its tasks")
        if was_check(states, context):
            raise AirflowSkipException("no attempt was made: the run was to check only")
        with ledger_errors():
            ledger = open_ledger(self.ledger)
        if states[self.tasks[-1]] != "success":
            # a task that published has looked after it
            lead_to_cut_off(ledger, job.name, self.tasks[-1], self.umask, context, self.log)
        entry = self._ended(ledger, job, states, context)
        if states[self.tasks[-1]] != "success":
            self.recorded = recorded_in(ledger, entry)
            emit(entry, self.recorded.smallest, self.recorded.series)
        self._settle_earlier_runs(ledger, job, context)
        self._remove_earlier_leftovers(ledger, job, context)
        self.log.info("Outcome: %s (entry %d of the ledger: %s)", entry.outcome, entry.sequence, entry.entry_sha256)
        return {"outcome": entry.outcome, "ledger_sequence": entry.sequence, "ledger_sha256": entry.entry_sha256}

    def _ended(self, ledger: Ledger, job: Job, states: Mapping[str, str | None], context: Context) -> Entry:
        """Settle what this run published, and return the entry of the attempt.

        Raises
        ------
        AirflowFailException
            A run of the same id in another Airflow publishes.
        AirflowException
            A process that should have ended begins to publish again and again.
        """
        from airflow_anon.ledger import StillPending  # noqa: PLC0415 (heavy imports belong into execute)
        from airflow_anon.publication.errors import ledger_errors  # noqa: PLC0415

        run, airflow = context["dag_run"], airflow_id()
        for _ in range(ROUNDS):
            for pending in self._pending(ledger, job):
                if pending.is_of_run(run.dag_id, run.run_id):
                    if pending.is_of_another(airflow):
                        raise AirflowFailException(_of_another_text(pending))
                    self._settle(pending, ledger)
            self._remove_leftovers(ledger, job, release_id(context))
            with ledger_errors():
                entry = ledger.released(job.name, release_id(context))
                if entry is None or states[self.tasks[-1]] != "success":
                    entry = self._made_now(entry, ledger, context)
                try:
                    return entry or ledger.append(self._document(ledger, job, states, context))
                except StillPending:
                    self.log.warning("A process of this run publishes although its task has ended; settled again")
        raise AirflowException("a process of this run still publishes although its task has ended; try again later")

    def _settle_earlier_runs(self, ledger: Ledger, job: Job, context: Context) -> None:
        """Settle unfinished publications of earlier runs; a failure to do so does not fail this run.

        Those of a DAG, or of a job, with another name are there where it was renamed; no run of it settles them any
        more. Of another job only those in the shares of this one are: no others need be mounted where this task runs.
        """
        run, airflow = context["dag_run"], airflow_id()
        for pending in self._pending(ledger):
            is_own = pending.job == job.name
            if pending.is_of_run(run.dag_id, run.run_id) or not (is_own or _is_in(pending, job)):
                continue
            if not pending.is_of_another(airflow):
                self._settle_earlier(pending, ledger, context)
            elif is_own:
                self.log.warning("%s", _of_another_text(pending))

    def _settle_earlier(self, pending: Pending, ledger: Ledger, context: Context) -> None:
        try:
            # a run of another DAG that this Airflow does not know may be under way in another one
            is_own = pending.dag_id == context["dag_run"].dag_id
            if has_ended(pending.dag_id, pending.run_id, context, unknown=is_own):
                self._settle(pending, ledger, record=True)
            else:
                self.log.info("%s", _goes_on_text(pending))
        except (AirflowException, AirflowRuntimeError, OSError) as problem:
            self.log.warning("The publication of release %s stays pending: %s", pending.release_id, problem)

    def _remove_earlier_leftovers(self, ledger: Ledger, job: Job, context: Context) -> None:
        """Remove what earlier runs left in the share, hidden or as a table that waits; nothing else removes it.

        A process may have outlived its run, or the share could not be written when its run ended.
        """
        from airflow_anon.ledger.entry import is_of_another  # noqa: PLC0415 (heavy imports belong into execute)
        from airflow_anon.publication.errors import ledger_errors  # noqa: PLC0415

        own, airflow = release_id(context), airflow_id()
        hidden, is_left = self._left(job, ledger)
        with ledger_errors():
            entries = ledger.of_job(job.name) if hidden or is_left is not None else []
        for entry in entries:
            if entry.dag_id != context["dag_run"].dag_id:
                continue
            digest = run_digest(entry.dag_id, entry.run_id)
            theirs = {identity for identity in hidden if identity.endswith(digest)}
            if is_left is not None or theirs:
                with ledger_errors():
                    document = ledger.document(entry.sequence)
                identity = entry.release_id or release_id_of(document["run"])
                if identity is not None and is_left is not None and is_left(identity):
                    theirs.add(identity)
                if theirs - {own} and not is_of_another(document, airflow):
                    self._remove_if_ended(entry, ledger, job, min(theirs), context)

    def _left(self, job: Job, ledger: Ledger) -> tuple[set[str], Callable[[str], bool] | None]:
        """Return the ids of releases with hidden files, and what tells of an id whether a table of it was left."""
        from airflow_anon.publication.settle import hidden_leftovers, tables_left  # noqa: PLC0415 (heavy imports)

        hidden, is_left = set(), None
        try:
            hidden = hidden_leftovers(job, ledger, self.umask)
        except (AirflowException, OSError) as problem:
            self.log.warning("The share was not searched for hidden leftovers: %s", problem)
        try:
            is_left = tables_left(job)
        except AirflowException as problem:
            self.log.warning("The share was not searched for tables that were left: %s", problem)
        return hidden, is_left

    def _remove_if_ended(self, entry: Entry, ledger: Ledger, job: Job, identity: str, context: Context) -> None:
        try:
            if has_ended(entry.dag_id, entry.run_id, context):
                self._remove_leftovers(ledger, job, identity)
        except (AirflowException, AirflowRuntimeError) as problem:
            self.log.warning("Hidden leftovers of release %s stay in the share: %s", identity, problem)

    def _pending(self, ledger: Ledger, job: Job | None = None) -> list[Pending]:
        from airflow_anon.publication.errors import ledger_errors  # noqa: PLC0415 (heavy imports belong into execute)

        with ledger_errors():
            return ledger.pending(None if job is None else job.name)

    def _settle(self, pending: Pending, ledger: Ledger, *, record: bool = False) -> None:
        """End a publication that will not be retried; `record` it as failed if it is taken back."""
        from airflow_anon.publication.settle import settle, settle_and_record  # noqa: PLC0415 (heavy imports)

        if record:
            entry = settle_and_record(pending, ledger, self.umask, "the publication was cut off")
        else:
            entry = settle(pending, ledger, self.umask)
        is_complete = entry is not None and entry.outcome == "released"
        outcome = f"complete (entry {entry.sequence} of the ledger)" if is_complete else "taken back"
        self.log.warning("The publication of release %s was cut off; it is now %s", pending.release_id, outcome)

    def _remove_leftovers(self, ledger: Ledger, job: Job, identity: str) -> None:
        """Remove hidden leftovers; an error is only logged, because recording the attempt is more important."""
        from airflow_anon.publication.settle import remove_leftovers  # noqa: PLC0415 (heavy imports belong into execute)

        try:
            remove_leftovers(job, identity, ledger, self.umask)
        except (AirflowException, OSError) as problem:
            self.log.warning("Leftovers of the publication were not removed: %s", problem)

    def _made_now(self, entry: Entry | None, ledger: Ledger, context: Context) -> Entry | None:
        """Return the entry of a release that this attempt made although its last task did not succeed."""
        from airflow_anon.publication.settle import lead_readers_to  # noqa: PLC0415 (heavy imports belong into execute)

        if entry is None or entry.attempt != run_facts(context)["attempt"]:
            return None
        lead_readers_to(ledger.document(entry.sequence), ledger, self.umask)
        return entry

    def _document(self, ledger: Ledger, job: Job, states: Mapping[str, str | None], context: Context) -> dict[str, Any]:
        from airflow_anon.publication.delivered import delivered_now  # noqa: PLC0415 (as above)

        refused, reason = reason_of(self.tasks, states, context["ti"])
        attempt = attempt_of(
            self.job, self.extracted, context, self.population_extracted, fingerprint_key=self.fingerprint_key
        )
        staged = self._staged(job, context)
        attempt = replace(
            attempt,
            delivered=delivered_now(ledger, job.name, self.log),
            approval=self._approval(states, context),
        )
        return attempt.unreleased("refused" if refused else "failed", reason, staged)

    def _approval(self, states: Mapping[str, str | None], context: Context) -> Mapping[str, Any] | None:
        """Return what is recorded of the approval of this attempt; an earlier one may have left its own."""
        if self.approval_task is None or states.get(self.approval_task) not in ENDED:
            return None
        found = context["ti"].xcom_pull(task_ids=self.approval_task, key=XCOM_KEY)
        return found if isinstance(found, Mapping) else None

    def _staged(self, job: Job, context: Context) -> Path | None:
        run = context["dag_run"]
        try:
            folder = staging.run_folder(staging.base_folder(self.staging_base), run.dag_id, run.run_id, job.name)
        except staging.UnsafeStagingError:
            return None
        return folder if folder.is_dir() else None


def _is_in(pending: Pending, job: Job) -> bool:
    """Whether a publication is in the shares of a job alone, and in a database of its connection."""
    from airflow_anon.ledger.released_places import places_of  # noqa: PLC0415 (heavy imports belong into execute)
    from airflow_anon.transport.address import parent_of  # noqa: PLC0415
    from airflow_anon.transport.object_store import is_in_store  # noqa: PLC0415

    publication = pending.document.get("publication") or {}
    output, table = job.output, publication.get("table")
    places = places_of(publication)
    if output is None or not (places or table) or (table is not None and table.get("conn_id") != output.conn_id):
        return False
    named = [] if output.path is None else [output.path, *output.also]
    own = {path.rstrip("/") if is_in_store(path) else str(Path(path).absolute()) for path in named}
    return all(parent_of(parent_of(place)) in own for place in places)


def _of_another_text(pending: Pending) -> str:
    return (
        f"The publication of release {pending.release_id} of {pending.job} is left to another Airflow, which shares "
        f"this ledger and has a DAG {pending.dag_id!r} too; {_BY_HAND.format(pending=pending)}"
    )


def _goes_on_text(pending: Pending) -> str:
    return (
        f"The publication of release {pending.release_id} of {pending.job} is left to run {pending.run_id!r} of DAG "
        f"{pending.dag_id!r}, which goes on, or is not of this Airflow; {_BY_HAND.format(pending=pending)}"
    )

"""A notifier that reads the ledger when a run has ended, and notifies only if somebody should look.

It is attached to a DAG (`on_success_callback` and `on_failure_callback`) or to a task. In: the run that Airflow names.
Out: one warning per alert in the log, and a call of each other notifier, with the alerts in its context.
"""

from __future__ import annotations

import asyncio
import copy
import html
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from airflow.sdk.bases.notifier import BaseNotifier

from airflow_anon.observe.alerts import RELEASED, Alert, AlertSettings, alerts_of, notices_in
from airflow_anon.observe.left_pending import stayed_pending, told_by
from airflow_anon.run.check_only import CHECK_ONLY

if TYPE_CHECKING:
    from airflow.sdk import Context

    from airflow_anon.ledger import Entry, Ledger

_SUCCESS = "success"


class ReleaseAlertNotifier(BaseNotifier):
    """Report attempts without a release, changes in what readers had, recalls, lost shares, publications left pending.

    Also small margins and odd figures of releases.

    Parameters
    ----------
    send_to : sequence of BaseNotifier or callable
        Recipients: each is called with the context of the run, which has ``alerts`` (list of mappings with ``kind``,
        ``text``, ``what``, ``job`` and ``sequence``), ``alert_text`` (plain text, one line per alert) and
        ``alert_html`` (the same as a list, escaped). They are called only if there is an alert; if one fails, the
        others are still called.
    ledger : str, optional
        Connection id or URL; by default ``AIRFLOW_ANON_LEDGER``.
    **settings
        Attributes of `airflow_anon.observe.alerts.AlertSettings`.

    Raises
    ------
    ValueError, TypeError
        A setting is outside its range, or there is no such setting.

    Examples
    --------
    >>> from airflow.providers.smtp.notifications.smtp import SmtpNotifier
    >>> mail = SmtpNotifier(
    ...     to="privacy@example.org",
    ...     from_email="airflow@example.org",
    ...     subject="De-identification: {{ alerts | length }} to look at",
    ...     html_content="{{ alert_html }}",
    ... )
    >>> told = ReleaseAlertNotifier(send_to=[mail], margin_below=0.05)
    """

    def __init__(
        self,
        *,
        send_to: Sequence[BaseNotifier | Callable[[Any], Any]] = (),
        ledger: str | None = None,
        **settings: Any,
    ) -> None:
        super().__init__()
        self.send_to = tuple(send_to)
        self.ledger = ledger
        self.settings = AlertSettings(**settings)

    def __call__(self, *args: Any) -> None:
        """Notify; `airflow dags test` and `dag.test()` pass a DAG that renders no templates, so it is removed."""
        super().__call__(*map(_renderable, args))

    def notify(self, context: Context) -> None:
        """Check the run and report alerts.

        Raises
        ------
        RuntimeError
            A recipient could not be notified; the log says which. All others were notified before.
        """
        alerts = self._alerts(context)
        for alert in alerts:
            self.log.warning("%s: %s", alert.kind, alert.text)
        if not alerts:
            return
        told: dict[str, Any] = {**context, **_as_context(alerts)}
        failed = [_name(target) for target in self.send_to if not self._sent(target, told)]
        if failed:
            raise RuntimeError(f"not told of {len(alerts)} alerts: {', '.join(failed)}; the log says why")

    async def async_notify(self, context: Context) -> None:
        """Do the same in an event loop."""
        await asyncio.to_thread(self.notify, context)

    def _alerts(self, context: Context) -> list[Alert]:
        dag_id, run_id = run_of(context)
        try:
            entries, judged = self._judged(dag_id, run_id, context)
        except Exception as problem:  # noqa: BLE001 (a ledger that cannot be read must not look like a quiet night)
            unread = f"the ledger could not be read ({type(problem).__name__}), so it is unknown what was released"
            return [Alert("failed", f"DAG {dag_id}, run {run_id}: {unread}", unread)]
        missing = _missing(context, entries)
        return (
            judged if missing is None else [*judged, Alert("failed", f"DAG {dag_id}, run {run_id}: {missing}", missing)]
        )

    def _judged(self, dag_id: str, run_id: str, context: Context) -> tuple[list[Entry], list[Alert]]:
        """Return the newest entry of each job of the run, their alerts, and those of what stayed pending."""
        from airflow_anon.ledger.address import open_ledger  # noqa: PLC0415 (a DAG file imports this module)

        ledger = open_ledger(self.ledger)
        entries = newest(ledger.of_run(dag_id, run_id))
        found = [alert for entry in entries for alert in self._of_entry(ledger, entry)]
        if entries or not _only_checks(context):
            found += stayed_pending(told_by(ledger, dag_id, entries), self.settings)
        return entries, found

    def _of_entry(self, ledger: Ledger, entry: Entry) -> list[Alert]:
        from airflow_anon.ledger.form import read  # noqa: PLC0415 (a DAG file imports this module)

        document = read(ledger.document(entry.sequence))
        earlier = (before for before in ledger.of_job(entry.job, outcome=RELEASED) if before.sequence < entry.sequence)
        return alerts_of(
            entry,
            earlier,
            self.settings,
            smallest=None if document is None else document.smallest,
            reason=None if document is None else document.reason,
            delivered=None if document is None else document.delivered,
            series=None if document is None else document.series,
            notices=notices_in(ledger, entry),
        )

    def _sent(self, target: BaseNotifier | Callable[[Any], Any], context: Mapping[str, Any]) -> bool:
        # A notifier renders its templates in place, but the next run needs the original ones.
        try:
            copy.copy(target)(dict(context))
        except Exception:  # one that fails must not stop the others
            self.log.exception("%s could not be told", _name(target))
            return False
        return True


def _renderable(context: Any) -> Any:
    """Return a context whose DAG, if there is one, can render templates."""
    if not isinstance(context, Mapping) or hasattr(context.get("dag") or BaseNotifier, "get_template_env"):
        return context
    dag_id, run_id = run_of(context)
    run = context.get("dag_run") or {"dag_id": dag_id, "dag_run_id": run_id}
    return {**{name: value for name, value in context.items() if name != "dag"}, "dag_run": run}


def run_of(context: Mapping[str, Any]) -> tuple[str, str]:
    """Return DAG id and run id of the context of a task, of a DAG, or of a deadline.

    Raises
    ------
    ValueError
        The context names no run.
    """
    run, dag = context.get("dag_run"), context.get("dag")
    if isinstance(run, Mapping):
        return run["dag_id"], run["dag_run_id"]
    if run is not None:
        return run.dag_id, run.run_id
    if dag is None or "run_id" not in context:
        raise ValueError("the context names no run; attach the notifier to a DAG or to a task")
    return dag.dag_id, context["run_id"]


def newest(entries: Iterable[Entry]) -> list[Entry]:
    """Return the newest entry of each task group, of entries newest first: a run that was cleared has several."""
    found: dict[tuple[str, str], Entry] = {}
    for entry in entries:
        found.setdefault((entry.job, entry.task_group), entry)
    return list(found.values())


def _missing(context: Mapping[str, Any], entries: Sequence[Entry]) -> str | None:
    """Return what is missing in the ledger about the run.

    Airflow's context has the cause of the call: the reason for a run that has ended, the exception for a failed task.
    """
    if not entries and _only_checks(context):
        return None
    has_ended = "reason" in context
    failed = context["reason"] != _SUCCESS if has_ended else context.get("exception") is not None
    if failed and not entries:
        return "it failed, and no attempt of it is in the ledger"
    if failed and all(entry.outcome == RELEASED for entry in entries):
        return "it failed, although all its attempts were released; look at its tasks"
    if has_ended and not entries:
        return "it succeeded, but no attempt of it is in the ledger; does the notifier read the ledger of the tasks?"
    return None


def _only_checks(context: Mapping[str, Any]) -> bool:
    """Whether the run was triggered to check only: it attempts no release, and who triggered it looks at it."""
    run = context.get("dag_run")
    given = run.get("conf") if isinstance(run, Mapping) else getattr(run, "conf", None)
    return isinstance(given, Mapping) and given.get(CHECK_ONLY) is True


def _as_context(alerts: Sequence[Alert]) -> dict[str, Any]:
    items = "".join(f"<li>{html.escape(alert.text)}</li>" for alert in alerts)
    return {
        "alerts": [asdict(alert) for alert in alerts],
        "alert_text": "\n".join(alert.text for alert in alerts),
        "alert_html": f"<ul>{items}</ul>",
    }


def _name(target: Any) -> str:
    return str(getattr(target, "__name__", type(target).__name__))

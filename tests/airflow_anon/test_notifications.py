"""Who is told of a run, and that a quiet night stays quiet: real runs, a real ledger and a real mail server."""

from __future__ import annotations

import asyncio
import datetime as dt
import email
import itertools
import json
import math
import os
from email import policy
from types import SimpleNamespace

import pytest
import sqlalchemy as sa
import structlog
from airflow.providers.common.compat.sdk import AirflowFailException
from airflow.sdk import DAG, task
from airflow.sdk.bases.notifier import BaseNotifier

from airflow_anon.ledger import Ledger
from airflow_anon.notifications import ReleaseAlertNotifier, newest, run_of
from airflow_anon.observe.left_pending import stayed_pending
from airflow_anon.publication.withdraw import recall
from tests.airflow_anon.entries import JOB_SHA256, entry_of
from tests.ports import free_port

DAG_ID = "stays_at_night"
NIGHTS = itertools.count(1)
"""Release ids begin with the night, so that a later one is newer."""


def document_of(run_id, *, outcome="released", loss=0.3, share=0.02, job="stays", group="", reason=None, dag=DAG_ID):
    """Give a document of the ledger, as far as alerts need it."""
    released = outcome == "released"
    release_id = f"{next(NIGHTS):04}-{run_id}-{group}"
    publication = {"release_id": release_id, "manifest_sha256": "c" * 64, "folder": None, "files": {}}
    return {
        "format": 1,
        "outcome": outcome,
        "name": job,
        "reason": reason,
        "run": {"dag_id": dag, "run_id": run_id, "task_group": group, "attempt": 1},
        "job": {"sha256": JOB_SHA256, "document": {}},
        "records": {"source": 1000, "suppressed": None, "suppressed_share": share},
        "solution": {"information_loss": loss, "optimal": True} if released else None,
        "privacy_margin": 0.1 if released else None,
        "timings": None,
        "publication": publication if released else None,
    }


REFUSED = {"task": "validate", "error": "ReleaseRefused", "message": "3-diversity of <diagnosis> does not hold"}


@pytest.fixture
def ledger(tmp_path, monkeypatch):
    """Give a ledger with seven ordinary releases, where the tasks and the notifier find it."""
    url = f"sqlite:///{tmp_path}/ledger.sqlite"
    monkeypatch.setenv("AIRFLOW_ANON_LEDGER", url)
    ledger = Ledger(url)
    for night, loss in enumerate([0.30, 0.31, 0.29, 0.30, 0.32, 0.28, 0.30]):
        ledger.append(document_of(f"night-{night}", loss=loss))
    return ledger


class Told(BaseNotifier):
    """Keeps what it was told; fails if it is to."""

    template_fields = ("text",)

    def __init__(self, text="{{ alert_text }}", *, fails=False):
        super().__init__()
        self.text, self.fails, self.texts = text, fails, []

    def notify(self, context):
        self.texts.append((self.text, context["alerts"]))
        if self.fails:
            raise OSError("no route")


def told_of(run_id, *, reason="success", dag_id=DAG_ID, **settings):
    """Give what is told of a run that has ended, as the processor of DAG files would call."""
    target = Told()
    with DAG(dag_id, schedule=None, auto_register=False) as dag:
        pass
    ReleaseAlertNotifier(send_to=[target], **settings)({"dag": dag, "run_id": run_id, "reason": reason})
    return [alert["kind"] for _, alerts in target.texts for alert in alerts]


class Mailbox:
    """What a mail server received."""

    def __init__(self):
        self.mails = []

    async def handle_DATA(self, _server, _session, envelope):  # noqa: N802 (the server calls it so)
        self.mails.append(email.message_from_bytes(envelope.content, policy=policy.default))
        return "250 Message accepted for delivery"


@pytest.fixture
def mailbox(monkeypatch):
    controllers = pytest.importorskip("aiosmtpd.controller", reason="needs aiosmtpd")
    box = Mailbox()
    port = free_port()
    server = controllers.Controller(box, hostname="127.0.0.1", port=port)
    server.start()
    extra = {"disable_ssl": True, "disable_tls": True, "from_email": "airflow@example.org"}
    connection = {"conn_type": "smtp", "host": "127.0.0.1", "port": port, "extra": extra}
    monkeypatch.setenv("AIRFLOW_CONN_SMTP_DEFAULT", json.dumps(connection))
    yield box
    server.stop()


def recalled(ledger, run_id):
    """Give the entry of the recall of a run's release."""
    (entry,) = ledger.of_run(DAG_ID, run_id)
    return recall(ledger, entry, by="ada", why="wrong join")


def night_of(outcome, *, loss=0.3, **arguments):
    """Give a DAG whose only task writes its entry, and fails unless it is a release."""
    address = os.environ["AIRFLOW_ANON_LEDGER"]
    with DAG(DAG_ID, schedule=None, **arguments) as dag:

        @task
        def record_attempt(run_id=None):
            if outcome is None:
                raise AirflowFailException("the warehouse is away")
            reason = None if outcome == "released" else REFUSED
            Ledger(address).append(document_of(run_id, outcome=outcome, loss=loss, reason=reason))
            if outcome != "released":
                raise AirflowFailException("refused")

        record_attempt()
    return dag


def ended(run_dag, dag, notifier):
    """Run a DAG, and call its notifier as the processor of DAG files does on the scheduler's request.

    `dag.test` alone would hand a callback the serialized DAG, on which other notifiers cannot render a template.
    """
    from airflow.callbacks.callback_requests import DagCallbackRequest, DagRunContext  # noqa: PLC0415 (environment)
    from airflow.dag_processing import processor  # noqa: PLC0415

    run = run_dag(dag, logical_date=None)
    dag.on_success_callback = dag.on_failure_callback = notifier
    (instance,) = run.get_task_instances()
    request = DagCallbackRequest(
        filepath="dag.py",
        dag_id=run.dag_id,
        run_id=run.run_id,
        bundle_name="dags-folder",
        bundle_version=None,
        context_from_server=DagRunContext(dag_run=run, last_ti=instance),
        is_failure_callback=run.state == "failed",
        msg="success" if run.state == "success" else "task_failure",
    )
    processor._execute_dag_callbacks(SimpleNamespace(dags={run.dag_id: dag}), request, structlog.get_logger())
    return run


def mail_to_the_officer():
    smtp = pytest.importorskip("airflow.providers.smtp.notifications.smtp", reason="needs the provider of SMTP")
    return smtp.SmtpNotifier(
        to="privacy@example.org",
        subject="{{ dag.dag_id }}: {{ alerts | length }} to look at",
        html_content="{{ alert_html }}",
        smtp_conn_id="smtp_default",
    )


@pytest.mark.airflow
@pytest.mark.usefixtures("ledger")
class TestMail:
    """What reaches the privacy officer after a run in Airflow."""

    def test_a_refused_run_is_one_mail(self, run_dag, mailbox):
        run = ended(run_dag, night_of("refused"), ReleaseAlertNotifier(send_to=[mail_to_the_officer()]))
        assert run.state == "failed"
        (mail,) = mailbox.mails
        assert mail["To"] == "privacy@example.org"
        assert mail["Subject"] == "stays_at_night: 1 to look at"
        text = mail.get_body(("html",)).get_content()
        assert "was refused in task validate, nothing was published: " in text
        assert "3-diversity of &lt;diagnosis&gt; does not hold" in text
        assert run.run_id in text

    def test_an_unremarkable_run_is_none(self, run_dag, ledger, mailbox):
        run = ended(run_dag, night_of("released"), ReleaseAlertNotifier(send_to=[mail_to_the_officer()]))
        assert run.state == "success"
        assert len(ledger.of_run(DAG_ID, run.run_id)) == 1
        assert mailbox.mails == []

    def test_a_release_outside_of_the_band_is_one(self, run_dag, mailbox):
        run = ended(run_dag, night_of("released", loss=0.7), ReleaseAlertNotifier(send_to=[mail_to_the_officer()]))
        assert run.state == "success"
        (mail,) = mailbox.mails
        assert "information loss 0.7, outside the usual" in mail.get_body(("html",)).get_content()

    def test_a_run_that_fails_without_an_entry_is_one(self, run_dag, mailbox):
        ended(run_dag, night_of(None), ReleaseAlertNotifier(send_to=[mail_to_the_officer()]))
        (mail,) = mailbox.mails
        assert "no attempt of it is in the ledger" in mail.get_body(("html",)).get_content()

    def test_it_works_in_a_test_of_the_dag(self, run_dag):
        """As `airflow dags test` does: the callback is handed a DAG that renders nothing."""
        target = Told()
        run_dag(night_of("refused", on_failure_callback=ReleaseAlertNotifier(send_to=[target])), logical_date=None)
        ((text, _),) = target.texts
        assert "was refused in task validate, nothing was published: " in text

    def test_it_works_on_a_task(self, run_dag, mailbox):
        dag = night_of("refused")
        dag.get_task("record_attempt").on_failure_callback = [ReleaseAlertNotifier(send_to=[mail_to_the_officer()])]
        assert run_dag(dag, logical_date=None).state == "failed"
        (mail,) = mailbox.mails
        assert mail["Subject"] == "stays_at_night: 1 to look at"


@pytest.mark.usefixtures("ledger")
class TestARun:
    """Which runs are told of."""

    def test_a_quiet_release(self, ledger):
        ledger.append(document_of("tonight"))
        assert told_of("tonight") == []

    def test_a_failed_run_whose_attempts_were_released(self, ledger):
        ledger.append(document_of("tonight"))
        assert told_of("tonight", reason="task_failure") == ["failed"]

    def test_a_refused_attempt_is_told_once(self, ledger):
        ledger.append(document_of("tonight", outcome="refused", reason=REFUSED))
        assert told_of("tonight", reason="task_failure") == ["refused"]

    def test_all_jobs_of_a_run(self, ledger):
        ledger.append(document_of("tonight", group="a.", job="persons"))
        ledger.append(document_of("tonight", group="b.", loss=0.9))
        ledger.append(document_of("tonight", group="c.", job="visits", outcome="failed", reason=REFUSED))
        assert told_of("tonight", reason="task_failure") == ["failed", "loss"]

    def test_a_run_that_succeeded_without_an_entry_reads_another_ledger(self):
        assert told_of("tonight") == ["failed"]

    def test_later_releases_do_not_count_as_history(self, ledger):
        """A run that is told of late is judged by what came before it."""
        ledger.append(document_of("tonight", loss=0.5))
        for night in range(8):
            ledger.append(document_of(f"later-{night}", loss=0.5))
        assert told_of("tonight") == ["loss"]

    def test_a_recall_is_told_with_the_next_runs_until_one_has_released(self, ledger):
        told = recalled(ledger, "night-6")
        assert told_of(told.run_id) == ["recalled"]
        ledger.append(document_of("next", outcome="refused", reason=REFUSED))
        assert told_of("next", reason="task_failure") == ["refused", "recalled"]
        ledger.append(document_of("then"))
        assert told_of("then") == ["recalled"]
        ledger.append(document_of("later"))
        assert told_of("later") == []

    def test_a_threshold_of_the_margin(self, ledger):
        ledger.append(document_of("tonight"))
        assert told_of("tonight", margin_below=0.2) == ["margin"]

    def test_a_ledger_that_cannot_be_read_is_no_quiet_night(self, tmp_path):
        (tmp_path / "broken.sqlite").write_text("this is no database, and longer than the header of one " * 9)
        assert told_of("tonight", ledger=f"sqlite:///{tmp_path}/broken.sqlite") == ["failed"]

    def test_of_a_run_that_was_cleared_only_the_last_attempt_counts(self):
        again = [entry_of(3, attempt=2), entry_of(2, outcome="refused"), entry_of(1, job="other")]
        assert [entry.sequence for entry in newest(again)] == [3, 1]


def left_pending(ledger, run_id, *, hours=13, share=None, **of):
    """Begin a publication some hours ago, which nobody ends; return its release."""
    document = document_of(run_id, **of)
    document["publication"]["folder"] = None if share is None else f"{share}/{document['name']}/{run_id}-"
    ledger.begin(document)
    release_id = document["publication"]["release_id"]
    since = (dt.datetime.now(dt.timezone.utc) - dt.timedelta(hours=hours)).isoformat(timespec="seconds")
    rewritten(ledger, "UPDATE pending_release SET since = :since WHERE run_id = :run", since=since, run=run_id)
    return release_id


def rewritten(ledger, statement, **values):
    engine = sa.create_engine(ledger.address)
    with engine.begin() as connection:
        connection.execute(sa.text(statement), values)
    engine.dispose()


class TestWhatStayedPending:
    """Of a publication that was cut off, and that no run has ended since."""

    @pytest.mark.parametrize("of", [{}, {"dag": "before_it_was_renamed"}, {"job": "before_it_was_renamed"}])
    def test_the_next_runs_of_its_job_or_its_dag_tell_until_it_is_settled(self, ledger, of):
        release_id = left_pending(ledger, "cut-off", **of)
        for night in ("next", "then"):
            ledger.append(document_of(night))
            assert told_of(night) == ["pending"]
        ledger.append(document_of("refused", outcome="refused", reason=REFUSED))
        assert told_of("refused", reason="task_failure") == ["refused", "pending"]
        ledger.withdraw(of.get("job", "stays"), release_id)
        assert told_of("then") == []

    def test_the_text_names_it_and_the_command(self, ledger):
        release_id = left_pending(ledger, "cut-off")
        ledger.append(document_of("next"))
        told = []
        with DAG(DAG_ID, schedule=None, auto_register=False) as dag:
            pass
        ReleaseAlertNotifier(send_to=[told.append])({"dag": dag, "run_id": "next", "reason": "success"})
        (alert,) = told[0]["alerts"]
        command = f"`airflow-anon settle stays/{release_id}`"
        assert (alert["job"], alert["sequence"]) == ("stays", None)
        assert alert["text"].startswith(f"Job stays, release {release_id} (DAG {DAG_ID}, run cut-off): its publication")
        assert alert["text"].endswith(f"end it where the workers run, with its shares mounted, by {command}")

    def test_one_that_may_still_be_under_way_is_no_alert(self, ledger):
        left_pending(ledger, "cut-off", hours=11)
        ledger.append(document_of("next"))
        assert told_of("next") == []
        assert told_of("next", pending_hours=10) == ["pending"]
        assert told_of("next", pending_hours=math.inf) == []
        with pytest.raises(ValueError, match="pending_hours is -1"):
            ReleaseAlertNotifier(pending_hours=-1)

    def test_a_clock_that_ran_ahead_does_not_hide_it_until_that_time_comes(self, ledger):
        left_pending(ledger, "cut-off", hours=-30)
        ledger.append(document_of("next"))
        assert told_of("next") == ["pending"]
        assert told_of("next", pending_hours=math.inf) == []
        (alert,) = stayed_pending(ledger.pending())
        assert "UTC, which is later than now, as a clock ran ahead or is behind, and no run has ended it" in alert.text

    def test_clocks_of_two_machines_may_differ_by_a_little(self, ledger):
        left_pending(ledger, "under-way", hours=-0.9)
        ledger.append(document_of("next"))
        assert told_of("next") == []

    def test_of_another_job_whose_runs_tell_of_it_nothing_is_said(self, ledger):
        left_pending(ledger, "cut-off", share="/share", job="visits", dag="visits")
        ledger.append(document_of("since", job="visits", dag="visits"))
        ledger.append(in_share("next", "/share"))
        assert told_of("next") == []
        assert told_of("since", dag_id="visits") == ["pending"]

    @pytest.mark.parametrize(("share", "told"), [("/share", ["pending"]), ("/elsewhere", []), (None, [])])
    def test_of_a_job_that_runs_no_more_whoever_has_its_share_tells(self, ledger, share, told):
        ledger.append(document_of("before", job="visits", dag="visits"))
        rewritten(ledger, "UPDATE release_ledger SET recorded_at = '2026-01-01T00:00:00+00:00' WHERE job = 'visits'")
        left_pending(ledger, "cut-off", share="/share", job="visits", dag="visits")
        ledger.append(in_share("next", share))
        assert told_of("next") == told

    @pytest.mark.parametrize("since", ["", "yesterday", "2026-03-01", 7])
    def test_a_time_that_somebody_changed_hides_nothing(self, ledger, since):
        left_pending(ledger, "cut-off", hours=0, share="/share", job="visits", dag="visits")
        rewritten(ledger, "UPDATE pending_release SET since = :since", since=since)
        ledger.append(document_of("since", job="visits", dag="visits"))
        ledger.append(in_share("next", "/share"))
        assert told_of("next") == told_of("since", dag_id="visits") == ["pending"]

    def test_a_run_that_was_to_check_only_says_nothing(self, ledger):
        left_pending(ledger, "cut-off")
        told = []
        run = SimpleNamespace(dag_id=DAG_ID, run_id="manual", conf={"check_only": True})
        ReleaseAlertNotifier(send_to=[told.append]).notify({"dag_run": run, "reason": "success"})
        assert told == []


def in_share(run_id, share):
    """Give the document of a release in a share; in none for None."""
    document = document_of(run_id)
    document["publication"]["folder"] = None if share is None else f"{share}/stays/{run_id}"
    return document


def refused(ledger):
    ledger.append(document_of("tonight", outcome="refused", reason=REFUSED))
    with DAG(DAG_ID, schedule=None, auto_register=False) as dag:
        pass
    return {"dag": dag, "run_id": "tonight", "reason": "task_failure"}


def test_one_that_fails_stops_no_other_and_is_named(ledger, caplog):
    context, first, last = refused(ledger), Told(fails=True), []
    notifier = ReleaseAlertNotifier(send_to=[first, lambda told: last.append(told["alert_text"])])
    with pytest.raises(RuntimeError, match="not told of 1 alerts: Told"):
        notifier(context)
    assert len(last) == 1
    assert "refused" in last[0]


def test_templates_are_rendered_anew_each_time(ledger):
    context, target = refused(ledger), Told("{{ alerts[0].job }} {{ alerts[0].kind }}")
    notifier = ReleaseAlertNotifier(send_to=[target])
    notifier(dict(context))
    notifier(dict(context))
    assert [text for text, _ in target.texts] == ["stays refused"] * 2
    assert target.text == "{{ alerts[0].job }} {{ alerts[0].kind }}"


def test_text_of_a_job_is_escaped_in_html(ledger):
    told = []
    ReleaseAlertNotifier(send_to=[told.append])(refused(ledger))
    assert "<diagnosis>" in told[0]["alert_text"]
    assert "&lt;diagnosis&gt;" in told[0]["alert_html"]
    assert "<diagnosis>" not in told[0]["alert_html"]


def test_each_alert_is_a_warning_in_the_log(ledger):
    with structlog.testing.capture_logs() as logs:
        ReleaseAlertNotifier()(refused(ledger))
    (text,) = [log["event"] for log in logs if log["log_level"] == "warning"]
    assert text.startswith("refused: Job stays")


def test_it_can_be_awaited(ledger):
    told = []
    notifier = ReleaseAlertNotifier(send_to=[told.append])
    asyncio.run(notifier.async_notify(refused(ledger)))
    assert len(told) == 1


def test_the_context_of_a_deadline_names_the_run():
    assert run_of({"dag_run": {"dag_id": "stays", "dag_run_id": "night"}, "deadline": {}}) == ("stays", "night")
    with pytest.raises(ValueError, match="names no run"):
        run_of({})


def test_a_setting_that_is_none_is_refused():
    with pytest.raises(TypeError, match="margins_below"):
        ReleaseAlertNotifier(margins_below=0.1)
    with pytest.raises(ValueError, match="factor is -1"):
        ReleaseAlertNotifier(factor=-1)


@pytest.mark.parametrize("reason", ["success", "task_failure"])
@pytest.mark.parametrize(("conf", "alerts"), [({"check_only": True}, 0), ({"check_only": False}, 1), (None, 1)])
def test_nobody_is_told_of_a_run_that_was_to_check_only(ledger, reason, conf, alerts):
    """It attempts no release; one that was not to check and left no entry is told of."""
    told = []
    run = SimpleNamespace(dag_id=DAG_ID, run_id="manual", conf=conf)
    ReleaseAlertNotifier(send_to=[told.append]).notify({"dag_run": run, "reason": reason})
    assert len(told) == alerts

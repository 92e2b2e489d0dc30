"""What a renamed or removed job left in staging is removed by the runs of others, and what a run may need never is."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
import sqlalchemy as sa
from airflow.models import DagModel, DagRun, TaskInstance
from airflow.sdk import DAG
from airflow.utils.session import create_session

from airflow_anon.operators import PrepareStagingOperator, RemoveStagingOperator
from airflow_anon.operators.forgotten import DAY, ENDED_SECONDS, MARK, STUCK_SECONDS
from airflow_anon.run.staging import Note, folder_of_run, noted, prepare, quiet_seconds, remove, run_folder, write_note

pytestmark = pytest.mark.airflow
JOB = "stays"


@pytest.fixture
def base(tmp_path):
    return tmp_path / "staging"


def dag_of(dag_id, base, *, ends):
    """Give a DAG that stages; with `ends` it removes what it staged."""
    with DAG(dag_id, schedule=None) as dag:
        setup = PrepareStagingOperator(task_id="prepare", job_name=JOB, staging_base=str(base)).as_setup()
        if ends:
            teardown = RemoveStagingOperator(task_id="remove", job_name=JOB, staging_base=str(base))
            setup >> teardown.as_teardown(setups=setup)
    return dag


@pytest.fixture
def left(run_dag, base):
    """Give a function that runs a DAG whose job is then removed; it gives the run and its folder."""

    def leave(dag_id="removed-job", *, days):
        run = run_dag(dag_of(dag_id, base, ends=False), logical_date=None)
        folder = run_folder(base, dag_id, run.run_id, JOB)
        (folder / "source.parquet").write_bytes(b"patients")
        age(folder, days)
        return run, folder

    return leave


def age(folder, days):
    """Let everything in a folder, and its note, be so old."""
    then = time.time() - days * DAY
    for path in (*folder.rglob("*"), folder, folder.parent / f".{folder.name}.run.json"):
        os.utime(path, (then, then))


def unfinished(run, *, paused=False):
    """Let Airflow call a run unfinished, of a DAG that is or is not paused."""
    with create_session() as session:
        session.execute(sa.update(DagRun).where(DagRun.run_id == run.run_id).values(state="running"))
        session.execute(sa.update(DagModel).where(DagModel.dag_id == run.dag_id).values(is_paused=paused))


def look(run_dag, base):
    """Run the DAG of another job, which looks for what was forgotten."""
    run = run_dag(dag_of("todays-job", base, ends=True), logical_date=None)
    assert run.state == "success"


def test_the_folder_of_an_ended_run_of_a_removed_job_is_removed(run_dag, base, left, capfd):
    _, folder = left(days=2)
    look(run_dag, base)
    assert list(base.iterdir()) == []
    assert "which no task needs any more, was left there; now removed" in capfd.readouterr().out
    assert not folder.exists()


def test_what_was_touched_a_moment_ago_stays(run_dag, base, left):
    _, folder = left(days=0)
    look(run_dag, base)
    assert (folder / "source.parquet").exists()


@pytest.mark.parametrize(("days", "is_told"), [(-30, True), (-1 / 48, False)])
def test_what_has_times_of_the_future_stays_and_is_told(run_dag, base, left, capfd, days, is_told):
    """Whoever staged it had a wrong clock: it would lie there until that day, and nobody would know of it."""
    run, folder = left(days=days)
    look(run_dag, base)
    assert (folder / "source.parquet").exists()
    said = capfd.readouterr().out
    assert ("ahead of this clock" in said and f"if run {run.run_id} of DAG removed-job has ended" in said) == is_told


def test_a_run_that_was_deleted_with_its_dag_is_known_by_the_note(run_dag, base, left):
    run, folder = left(days=2)
    with create_session() as session:
        session.execute(sa.delete(TaskInstance).where(TaskInstance.run_id == run.run_id))
        session.execute(sa.delete(DagRun).where(DagRun.run_id == run.run_id))
        session.execute(sa.delete(DagModel).where(DagModel.dag_id == run.dag_id))
    look(run_dag, base)
    assert not folder.exists()


@pytest.mark.parametrize(("days", "stays"), [(30, True), (41, False)])
def test_a_run_that_airflow_never_ends_since_its_dag_is_gone(run_dag, base, left, capfd, days, stays):
    """The scheduler looks at no run of a stale DAG: it is running for ever."""
    run, folder = left(days=days)
    unfinished(run)
    look(run_dag, base)
    assert folder.exists() == stays
    assert ("mark the run as failed" in capfd.readouterr().out) == stays


@pytest.mark.parametrize("state", ["deferred", "running", "scheduled", "up_for_retry"])
def test_a_run_with_a_task_under_way_keeps_its_folder(run_dag, base, left, state):
    run, folder = left(days=400)
    unfinished(run)
    with create_session() as session:
        session.execute(sa.update(TaskInstance).where(TaskInstance.run_id == run.run_id).values(state=state))
    look(run_dag, base)
    assert (folder / "source.parquet").exists()


def test_a_run_of_a_paused_dag_keeps_its_folder(run_dag, base, left):
    run, folder = left(days=400)
    unfinished(run, paused=True)
    look(run_dag, base)
    assert (folder / "source.parquet").exists()


def test_an_airflow_that_cannot_tell_whether_a_dag_is_paused(base, mark):
    """An older version: nothing of a run that has not ended is removed."""
    folder = staged(base, "removed-job", mark)
    age(folder, 400)
    instance = SimpleNamespace(
        map_index=-1,
        get_dagrun_state=lambda **_: "running",
        get_task_states=lambda **_: {},
        log_url="",
        task_id="prepare",
    )
    execute(base, instance)
    assert folder.exists()


def staged(base, dag_id, mark, run_id="manual__1"):
    folder = run_folder(base, dag_id, run_id, JOB)
    prepare(folder, base)
    write_note(folder, Note(airflow=mark, dag_id=dag_id, run_id=run_id, job=JOB))
    return folder


def execute(base, instance, dag_id="todays-job"):
    """Run the task of a run, with what Airflow would say of others."""
    context = {"dag_run": SimpleNamespace(dag_id=dag_id, run_id="tonight"), "ti": instance}
    PrepareStagingOperator(task_id="prepare", job_name=JOB, staging_base=str(base)).execute(context)


@pytest.fixture
def mark(monkeypatch):
    monkeypatch.setenv(f"AIRFLOW_VAR_{MARK.upper()}", "mark")
    return "mark"


def ended(**_):
    return "success"


ENDED = SimpleNamespace(map_index=-1, get_dagrun_state=ended, get_task_states=lambda **_: {"manual__1": {}})


@pytest.mark.parametrize(("days", "told"), [(0, 0), (3, 1)])
def test_what_an_airflow_that_is_gone_has_left_is_a_warning_after_a_day(base, mark, capfd, days, told):
    """Its database was lost: nobody comes back for the patient data, and a line for information is not read."""
    age(staged(base, "todays-job", "another"), days)
    execute(base, ENDED)
    warned = [line for line in capfd.readouterr().out.splitlines() if "if that Airflow is no more" in line]
    assert len(warned) == told
    assert all("warning" in line and "for 3 days" in line for line in warned)


def test_another_airflow_on_the_same_volume_keeps_its_folders(base, mark):
    """Its runs have the ids of ours: those of other DAGs, and those of this one."""
    theirs = [staged(base, dag_id, "another") for dag_id in ("removed-job", "todays-job")]
    for folder in theirs:
        age(folder, 400)
    execute(base, ENDED)
    assert all(folder.exists() for folder in theirs)


def test_what_has_no_note_of_its_own_run_is_nobodys_business(base, mark):
    ours = staged(base, "removed-job", mark)
    foreign = base / "photos/2026/holidays"
    foreign.mkdir(parents=True)
    notes = {
        foreign.parent / ".holidays.run.json": json.loads((ours.parent / f".{JOB}.run.json").read_text()),
        base / "photos/2026/.list.run.json": ["no note"],
        base / "photos/2026/.number.run.json": {"airflow": mark, "dag_id": 1, "run_id": "x", "job": "y"},
    }
    for path, content in notes.items():
        path.write_text(json.dumps(content))
    (base / "photos/2026/.broken.run.json").write_text("{")
    (base / "photos/2026/.link.run.json").symlink_to(ours.parent / f".{JOB}.run.json")
    assert list(noted(base)) == [(ours, Note(airflow=mark, dag_id="removed-job", run_id="manual__1", job=JOB))]
    age(ours, 2)
    execute(base, ENDED)
    assert foreign.is_dir()
    assert not ours.exists()


def test_a_link_in_place_of_the_folder_is_not_followed(base, mark, tmp_path, capfd):
    folder = staged(base, "removed-job", mark)
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs/file").touch()
    folder.rmdir()
    folder.symlink_to(tmp_path / "theirs")
    then = time.time() - 2 * DAY
    os.utime(folder.parent / f".{JOB}.run.json", (then, then))
    os.utime(folder, (then, then), follow_symlinks=False)
    os.utime(tmp_path / "theirs/file", (then, then))
    execute(base, ENDED)
    assert (tmp_path / "theirs/file").exists()
    assert "was not removed" in capfd.readouterr().out


def test_without_a_mark_nothing_is_noted_and_nothing_of_others_removed(base, monkeypatch, capfd):
    folder = staged(base, "removed-job", "mark")
    age(folder, 400)

    def fails(*_, **__):
        raise PermissionError

    monkeypatch.setattr("airflow_anon.operators.forgotten.Variable.get", fails)
    execute(base, ENDED)
    assert folder.exists()
    assert not list(folder_of_run(base, "todays-job", "tonight").glob(".*"))
    assert "could not be read or made (PermissionError)" in capfd.readouterr().out


def test_the_first_run_makes_the_mark_and_later_ones_have_the_same(run_dag, base):
    for dag_id in ("one-job", "other-job"):
        run_dag(dag_of(dag_id, base, ends=False), logical_date=None)
    marks = {note.airflow for _, note in noted(base)}
    assert len(marks) == 1


def test_the_note_goes_with_its_folder_and_no_other_may_read_it(base):
    folder = staged(base, "nightly", "mark")
    note = folder.parent / f".{JOB}.run.json"
    assert note.stat().st_mode & 0o777 == 0o600
    assert 0 <= quiet_seconds(folder) < ENDED_SECONDS < STUCK_SECONDS
    remove(folder, base)
    assert list(base.iterdir()) == []
    folder = staged(base, "nightly", "mark")
    folder.rmdir()
    remove(folder, base)
    assert list(base.iterdir()) == []


def test_what_cannot_be_removed_keeps_its_note(base, monkeypatch):
    folder = staged(base, "nightly", "mark")

    def fails(path: Path):
        raise OSError(5, "Input/output error", str(path))

    monkeypatch.setattr("shutil.rmtree", fails)
    with pytest.raises(OSError, match="Input/output"):
        remove(folder, base)
    assert len(list(noted(base))) == 1

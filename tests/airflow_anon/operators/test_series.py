"""Nights of a series through the tasks of Airflow: vault, share and ledger agree, whatever a night ends by."""

from __future__ import annotations

import datetime as dt
import json
import sqlite3
from contextlib import contextmanager
from dataclasses import replace
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from airflow.sdk.exceptions import AirflowException, AirflowFailException

from airflow_anon.commands.main import main
from airflow_anon.jobs import deidentification_dag
from airflow_anon.ledger.address import open_ledger
from airflow_anon.operators.deidentify import DeidentifyTableOperator
from airflow_anon.operators.publish import PublishReleaseOperator
from airflow_anon.operators.validate import ValidateReleaseOperator
from airflow_anon.run.release_id import release_id
from airflow_anon.transport.series_vault import series_of
from engine import load_job
from engine.series.kept import KeptRows
from tests.airflow_anon.nights.night import connection_of
from tests.airflow_anon.operators.sqlite_warehouse import warehouse_of
from tests.airflow_anon.publication.publishing import run_context
from tests.engine.series.nights import FIXED, in_file, job, movers, patients, table
from tests.reference import traces

PEOPLE = patients(60)


class World:
    """The staging folders, the share and the job of a series."""

    def __init__(self, folder, settings):
        self.folder = folder
        document = job(folder, 3, 2).document()
        document["output"] = {"path": str(folder / "share")}
        private = {"key_file": str(folder / "key")} if "key_conn_id" not in settings else {}
        document["series"] = {"memory": 4, **private, **settings}
        self.job = document

    def context(self, day):
        context = run_context(run_id=f"night {day}")
        first = dt.datetime(2026, 3, 1, 2, 30, tzinfo=dt.timezone.utc)
        context["dag_run"].logical_date = first + dt.timedelta(days=day - 1)
        return context

    def records(self, people):
        return pa.Table.from_pandas(table(people), preserve_index=False)

    def deidentify(self, day, people):
        staging = self.folder / f"night {day}"
        staging.mkdir(exist_ok=True)
        pq.write_table(self.records(people), staging / "source.parquet")
        operator = DeidentifyTableOperator(
            task_id="deidentify", job=self.job, source=str(staging / "source.parquet"), staging=str(staging)
        )
        return operator.execute(self.context(day))

    def validate(self, day, made):
        operator = ValidateReleaseOperator(
            task_id="validate",
            job=self.job,
            release=made["release"],
            manifest_sha256=made["manifest_sha256"],
            source=str(self.folder / f"night {day}" / "source.parquet"),
        )
        return operator.execute(self.context(day))

    def publish(self, day, made, validated):
        operator = PublishReleaseOperator(
            task_id="publish",
            job=self.job,
            release=made["release"],
            manifest_sha256=made["manifest_sha256"],
            validation_sha256=validated["validation_sha256"],
            metrics=made["metrics"],
        )
        return operator.execute(self.context(day))

    def night(self, day, people):
        made = self.deidentify(day, people)
        return self.publish(day, made, self.validate(day, made))

    def seen(self, published):
        return in_file(pq.ParquetFile(f"{published['path']}/data.parquet").read())

    def known(self):
        return series_of(load_job(self.job), "").vault.known()


@pytest.fixture(params=["file", "sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def world(request, tmp_path, monkeypatch):
    """Keep the vault in a file, or in a database that is named by its connection, as is the key then."""
    if request.param == "file":
        return World(tmp_path, {"vault": str(tmp_path / "vault.sqlite")})
    url = f"sqlite:///{tmp_path}/vault.db"
    if request.param == "postgres":
        url = request.getfixturevalue("postgres_database")
    monkeypatch.setenv("AIRFLOW_CONN_PRIVATE_VAULT", connection_of(url))
    monkeypatch.setenv("AIRFLOW_CONN_VAULT_KEY", json.dumps({"conn_type": "generic", "password": "k" * 64}))
    return World(tmp_path, {"vault_conn_id": "private_vault", "key_conn_id": "vault_key"})


@pytest.fixture
def small(tmp_path):
    return World(tmp_path, {"vault": str(tmp_path / "vault.sqlite")})


def test_nights_are_published_and_nobody_is_in_a_trace_below_k(world):
    people, seen = dict(PEOPLE), []
    for day in range(1, 5):
        told = world.night(day, people)
        seen.append(world.seen(told))
        people.pop(day)
        people[100 + day] = (40, 1, "a")
    assert traces.smallest(seen) >= 3
    assert traces.fewest_values(seen) >= 2
    assert [one.state for one in world.known()] == ["confirmed"] * 4
    ledger = open_ledger()
    entry = ledger.of_job("patients", outcome="released")[0]
    stated = ledger.document(entry.sequence)["series"]
    assert (stated["releases"], stated["release_id"]) == (4, entry.release_id)
    changed = {name: one for name, one in stated["levels_changed"].items() if one["before"] != one["now"]}
    assert changed == stated["levels_changed"] == told["levels_changed"]
    assert told["smallest_trace"] == stated["smallest_trace"]
    validation = json.loads((world.folder / "night 4" / "validation.json").read_text())
    assert "expect_traces_to_satisfy_models" in {one["expectation_type"] for one in validation["results"]}


def world_of(folder, monkeypatch, model, **series):
    """Return a world with a ledger of its own, at fixed levels."""
    folder.mkdir()
    world = World(folder, {"vault": str(folder / "vault.sqlite"), **series})
    world.job["attributes"] |= FIXED
    world.job |= {"privacy": [{"model": "k-anonymity", "k": 5}, model], "suppression_limit": 0.0}
    monkeypatch.setenv("AIRFLOW_ANON_LEDGER", f"sqlite:///{folder}/ledger.sqlite")
    return world


@pytest.mark.parametrize("model", ["l-diversity", "t-closeness"])
def test_movers_of_one_value_are_found_where_the_values_of_every_night_count(tmp_path, monkeypatch, model):
    """The engine covers them; one that does not is found by the second judge, from the vault."""
    one = {
        "l-diversity": {"model": "l-diversity", "variant": "distinct", "attribute": "diagnosis", "l": 2},
        "t-closeness": {"model": "t-closeness", "distance": "equal", "attribute": "diagnosis", "t": 0.6},
    }[model]
    first, second = movers()
    for name, covers in (("covers", True), ("does not", False)):
        world = world_of(tmp_path / name, monkeypatch, one, values="every")
        nights = [world.seen(world.night(1, first))]
        if covers:
            nights.append(world.seen(world.night(2, second)))
            assert traces.fewest_values_then(nights) >= 2
            continue
        monkeypatch.setattr("engine.series.trace_groups.TraceGroups._add_failing_then", lambda *_: None)
        monkeypatch.setattr("engine.pipeline.verified._verify", lambda *_: [])
        made = world.deidentify(2, second)
        with pytest.raises(AirflowFailException, match="expect_traces_to_satisfy_models"):
            world.validate(2, made)


def test_a_value_that_was_corrected_alone_is_found_where_changes_count(tmp_path, monkeypatch):
    """The engine withholds it; one that does not is found by the second judge, from the vault."""
    people = {number: (30, number % 2, "abcd"[number // 2 % 4]) for number in range(48)}
    second = people | {0: (30, 0, "b")}
    one = {"model": "l-diversity", "variant": "distinct", "attribute": "diagnosis", "l": 2}
    for name, waits in (("waits", True), ("does not", False)):
        world = world_of(tmp_path / name, monkeypatch, one, values="changes")
        nights = [world.seen(world.night(1, people))]
        if waits:
            nights.append(world.seen(world.night(2, second)))
            assert traces.smallest(nights, traces.with_changes) == 5
            continue
        for module in ("night", "remembered"):
            monkeypatch.setattr(f"engine.series.{module}.told_apart", lambda classes, _: classes)
        monkeypatch.setattr("engine.pipeline.verified._verify", lambda *_: [])
        made = world.deidentify(2, second)
        with pytest.raises(AirflowFailException, match="expect_traces_to_satisfy_models"):
            world.validate(2, made)


def cells_of(file):
    """Give every cell of a file of records."""
    return [cell for column in pq.read_table(file).columns for cell in column.to_pylist()]


@contextmanager
def held(world):
    """Hold the vault of a file, as another process that works on it."""
    connection = sqlite3.connect(world.folder / "vault.sqlite", isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        connection.close()


@pytest.mark.parametrize("kind", ["file", "connection"])
def test_a_vault_that_another_process_holds_is_tried_again(tmp_path, monkeypatch, kind):
    """It ends no attempt for good: where the task is tried again, the night is released."""
    monkeypatch.setattr("engine.series.vault_database.WAIT_FOR_LOCK_SECONDS", 0.01)
    monkeypatch.setattr("airflow_anon.transport.connection.WAIT_FOR_LOCK_MILLISECONDS", 1)
    monkeypatch.setenv("AIRFLOW_CONN_PRIVATE_VAULT", connection_of(f"sqlite:///{tmp_path}/vault.sqlite"))
    place = {"vault": str(tmp_path / "vault.sqlite")} if kind == "file" else {"vault_conn_id": "private_vault"}
    world = World(tmp_path, place)
    world.night(1, PEOPLE)
    with held(world), pytest.raises(AirflowException, match=r"VaultBusy: .*wait") as told:
        world.deidentify(2, PEOPLE)
    assert not isinstance(told.value, AirflowFailException)
    made = world.deidentify(2, PEOPLE)
    with held(world), pytest.raises(AirflowException, match=r"is not validated: .*wait") as told:
        world.validate(2, made)
    assert not isinstance(told.value, AirflowFailException)
    validated = world.validate(2, made)
    with held(world), pytest.raises(AirflowException, match=r"VaultBusy: .*wait") as told:
        world.publish(2, made, validated)
    assert not isinstance(told.value, AirflowFailException)
    world.publish(2, made, validated)
    assert [one.state for one in world.known()] == ["confirmed"] * 2


def test_a_night_waits_for_a_publication_that_is_under_way(small, monkeypatch):
    """Where it is tried again it finds that one ended."""
    small.night(1, PEOPLE)
    made = small.deidentify(2, PEOPLE)
    validated = small.validate(2, made)
    with monkeypatch.context() as patched:
        patched.setattr("airflow_anon.publication.publish.Publication._record", lambda *_: 1 / 0)
        with pytest.raises(AirflowException, match="ZeroDivisionError"):
            small.publish(2, made, validated)
    with pytest.raises(AirflowException, match="is being published") as told:
        small.deidentify(3, PEOPLE)
    assert not isinstance(told.value, AirflowFailException)
    small.publish(2, made, validated)
    small.night(3, PEOPLE)
    assert [one.state for one in small.known()] == ["confirmed"] * 3


def test_a_run_that_another_one_has_settled_is_not_sent_to_a_backup(small):
    """The vault is not an older copy: the other run, which began meanwhile, has removed what was pending."""
    small.night(1, PEOPLE)
    made = small.deidentify(2, PEOPLE)
    small.deidentify(3, PEOPLE)
    with pytest.raises(AirflowFailException, match="another run of the series began meanwhile: let that end"):
        small.validate(2, made)


def test_who_is_gone_is_kept_through_all_tasks(tmp_path):
    world = World(tmp_path, {"vault": str(tmp_path / "vault.sqlite"), "departures": "keep", "max_nights": 2})
    people = {number: (30, number % 2 * 3, "abcd"[number % 4]) for number in range(24)}
    gone = {number: one for number, one in people.items() if number != 0}
    seen = [world.seen(world.night(day, of_day)) for day, of_day in enumerate([people, gone, gone, gone], start=1)]
    assert ["0" in night for night in seen] == [True, True, True, False]
    assert traces.smallest(seen) >= 3
    files = [file for file in (tmp_path / "share").rglob("*") if file.is_file()]
    assert not [file for file in files if file.suffix != ".parquet" and "MRN1" in file.read_text()]
    cells = [str(cell) for file in files if file.suffix == ".parquet" for cell in cells_of(file)]
    assert cells
    assert not [cell for cell in cells if "MRN1" in cell]
    changed = world.deidentify(5, {number: one for number, one in gone.items() if number != 1})
    with sqlite3.connect(tmp_path / "vault.sqlite") as connection:
        number = connection.execute("SELECT number FROM series_release WHERE state = 'confirmed'").fetchall()[-1][0]
        content = connection.execute("SELECT kept FROM series_release WHERE number = ?", (number,)).fetchone()[0]
        kept = KeptRows.unpacked(content)
        other = replace(kept, rows=kept.rows.set_column(3, "diagnosis", pa.array(["e"] * kept.rows.num_rows)))
        connection.execute("UPDATE series_release SET kept = ? WHERE number = ?", (other.packed(), number))
    with pytest.raises(AirflowFailException, match="other ones than the release before"):
        world.validate(5, changed)


def test_who_is_gone_is_kept_where_somebody_else_has_no_number(tmp_path):
    class Numbered(World):
        def records(self, people):
            rows = pa.array([None if number == 1 else 2**60 + number % 2 for number in people], pa.int64())
            return super().records(people).append_column("stays", rows)

    world = Numbered(tmp_path, {"vault": str(tmp_path / "vault.sqlite"), "departures": "keep"})
    world.job["attributes"]["stays"] = {"role": "insensitive"}
    people = {number: (30, number % 2 * 3, "abcd"[number % 4]) for number in range(24)}
    world.night(1, people)
    seen = world.seen(world.night(2, {number: one for number, one in people.items() if number != 0}))
    assert "0" in seen


def test_newcomers_have_levels_of_their_own_through_all_tasks(tmp_path):
    world = World(tmp_path, {"vault": str(tmp_path / "vault.sqlite"), "arrivals": "batch"})
    people = {number: (30, number % 2 * 2, "abcd"[number % 4]) for number in range(24)}
    world.job["suppression_limit"] = 0
    seen = [world.seen(world.night(1, people))]
    people |= {100: (30, 0, "a"), 101: (30, 1, "b"), 102: (30, 3, "c")}
    for day in (2, 3):
        seen.append(world.seen(world.night(day, people)))
        assert {seen[-1][str(number)][0][1] for number in (100, 101, 102)} == {"any"}
        assert {cell[1] for who, (cell, _) in seen[-1].items() if int(who) < 100} == {"0", "2"}
    assert traces.smallest(seen) == 3
    told = json.loads((tmp_path / "share/patients/current/report.json").read_text())
    assert (told["solution"]["levels"], told["series"]["held_back_share"]) == (None, 0)
    document = open_ledger().document(open_ledger().current("patients").sequence)
    assert document["levels"]["ward"]["shares"] == told["solution"]["shares"]["ward"]
    made = world.deidentify(4, people)
    with sqlite3.connect(tmp_path / "vault.sqlite") as connection:
        facts = json.loads(connection.execute("SELECT facts FROM series_release WHERE state = 'pending'").fetchone()[0])
        facts["cohorts"] = facts["cohorts"][::-1]
        connection.execute("UPDATE series_release SET facts = ? WHERE state = 'pending'", (json.dumps(facts),))
    with pytest.raises(AirflowFailException, match="expect_traces_to_satisfy_models"):
        world.validate(4, made)


def test_newcomers_have_levels_of_their_own_beside_a_column_of_levels(tmp_path):
    class Levelled(World):
        def records(self, people):
            levels = pa.array([number % 2 for number in people], pa.int64())
            return super().records(people).append_column("level ward", levels)

    world = Levelled(tmp_path, {"vault": str(tmp_path / "vault.sqlite"), "arrivals": "batch"})
    world.job["attributes"]["level ward"] = {"role": "insensitive"}
    assert world.seen(world.night(1, {number: (30, number % 2 * 2, "abcd"[number % 4]) for number in range(24)}))


def test_both_zeros_of_a_float_are_one_person_through_all_tasks(small, monkeypatch):
    as_texts = table

    def with_zero(zero):
        """Let the numbers of persons be floats; the first one is a zero."""
        numbers = {f"MRN{number}": float(place) or zero for place, number in enumerate(PEOPLE)}

        def made(people):
            frame = as_texts(people)
            return frame.assign(mrn=frame["mrn"].map(numbers))

        return made

    seen = []
    for day, zero in ((1, 0.0), (2, -0.0)):
        monkeypatch.setattr("tests.airflow_anon.operators.test_series.table", with_zero(zero))
        seen.append(small.seen(small.night(day, PEOPLE)))
    assert seen[0] == seen[1]
    assert "0" in seen[0]


def test_traces_are_compared_with_the_table_through_all_tasks(tmp_path, monkeypatch):
    world = World(tmp_path, {"vault": str(tmp_path / "vault.sqlite")})
    closeness = {"model": "t-closeness", "distance": "equal", "attribute": "diagnosis", "t": 0.3}
    world.job["privacy"] = [{"model": "k-anonymity", "k": 3}, closeness]
    people = {number: (30, 0, "ab"[number % 2]) for number in range(24)}
    world.night(1, people)
    more = people | {30 + place: (30, 0, "a") for place in range(3)}
    assert len(world.seen(world.night(2, more))) == 24
    with monkeypatch.context() as patched:
        # a search that forgets traces, and an engine that does not look at them again
        patched.setattr("engine.series.trace_groups.TraceGroups.failing", lambda groups, _: groups.counts < 3)
        patched.setattr("engine.verification.checks.series._judged", lambda *_: iter(()))
        made = world.deidentify(3, more)
    with pytest.raises(AirflowFailException, match="expect_traces_to_satisfy_models"):
        world.validate(3, made)


def test_a_night_that_is_not_published_is_not_remembered(small):
    small.night(1, PEOPLE)
    small.validate(2, small.deidentify(2, PEOPLE))
    assert [one.state for one in small.known()] == ["confirmed", "pending"]
    small.night(3, PEOPLE)
    assert [one.number for one in small.known()] == [1, 2]
    assert {one.state for one in small.known()} == {"confirmed"}


def test_a_night_killed_before_the_vault_confirms_is_settled_by_the_ledger(small, monkeypatch):
    small.night(1, PEOPLE)
    with monkeypatch.context() as patched:
        patched.setattr("airflow_anon.publication.series.confirm", _killed)
        with pytest.raises(SystemExit):
            small.night(2, PEOPLE)
    assert [one.state for one in small.known()] == ["confirmed", "pending"]
    small.night(3, PEOPLE)
    assert [one.state for one in small.known()] == ["confirmed"] * 3


def _killed(*_):
    raise SystemExit


def test_a_run_that_another_one_has_settled_is_not_published(small):
    small.night(1, PEOPLE)
    made = small.deidentify(2, PEOPLE)
    validated = small.validate(2, made)
    small.night(3, PEOPLE)
    with pytest.raises(AirflowFailException, match="not pending in the vault"):
        small.publish(2, made, validated)
    assert not (small.folder / "share/patients" / release_id(small.context(2))).exists()


def test_a_night_that_was_published_can_be_cleared_and_run_again(small):
    small.night(1, PEOPLE)
    published = small.night(2, PEOPLE)
    before = small.seen(published)
    again = small.night(2, {number: one for number, one in PEOPLE.items() if number > 3})
    assert (again["release_id"], small.seen(again)) == (published["release_id"], before)
    small.night(3, PEOPLE)
    assert [one.state for one in small.known()] == ["confirmed"] * 3


def test_a_night_of_the_past_is_refused(small):
    small.night(1, PEOPLE)
    small.night(5, PEOPLE)
    with pytest.raises(AirflowFailException, match="of a date before"):
        small.deidentify(3, PEOPLE)


def test_a_vault_behind_the_ledger_is_refused(small):
    small.night(1, PEOPLE)
    older = (small.folder / "vault.sqlite").read_bytes()
    small.night(2, PEOPLE)
    (small.folder / "vault.sqlite").write_bytes(older)
    with pytest.raises(AirflowFailException, match="older copy"):
        small.deidentify(3, PEOPLE)


def test_what_is_being_published_is_waited_for(small, monkeypatch):
    small.night(1, PEOPLE)
    made = small.deidentify(2, PEOPLE)
    begun = SimpleNamespace(release_id=release_id(small.context(2)))
    ledger = open_ledger()
    monkeypatch.setattr(type(ledger), "pending", lambda *_: [begun])
    with pytest.raises(AirflowException, match="is being published"):
        small.deidentify(3, PEOPLE)
    assert made["release"]


def test_a_release_of_others_than_the_vault_says_is_refused(small):
    small.night(1, PEOPLE)
    made = small.deidentify(2, PEOPLE)
    source = small.folder / "night 2" / "source.parquet"
    changed = pq.read_table(source).to_pandas()
    changed["mrn"] = changed["mrn"].tolist()[::-1]
    pq.write_table(pa.Table.from_pandas(changed, preserve_index=False), source)
    with pytest.raises(AirflowFailException, match="expect_"):
        small.validate(2, made)


def test_the_vault_is_compared_with_the_ledger(world, capsys):
    published = world.night(1, PEOPLE)
    path = world.folder / "job.yaml"
    path.write_text(json.dumps(world.job))  # YAML holds JSON
    assert main(["vault", "verify", str(path)]) == 0
    assert f"the newest one in the ledger is {published['release_id']}" in capsys.readouterr().out
    somebody = next(iter(world.seen(published)))
    assert main(["vault", "forget", str(path), f"MRN{somebody}"]) == 0
    assert main(["vault", "forget", str(path), f"MRN{somebody}"]) == 0
    assert capsys.readouterr().out.splitlines() == ["forgotten", "the vault does not know this person"]


@pytest.mark.airflow
@pytest.mark.parametrize("arrivals", ["hold-back", pytest.param("batch", marks=pytest.mark.thorough)])
def test_a_night_in_a_real_airflow(run_dag, tmp_path, monkeypatch, arrivals):
    rows = list(table(PEOPLE).itertuples(index=False, name=None))
    create = "CREATE TABLE visit (mrn TEXT, who TEXT, age TEXT, ward TEXT, diagnosis TEXT)"
    warehouse_of(tmp_path, monkeypatch, create, rows)
    private = World(tmp_path, {"vault": str(tmp_path / "vault.sqlite"), "arrivals": arrivals})
    document = {**private.job, "name": "nights-of-patients", "source": {"conn_id": "warehouse", "table": "visit"}}
    path = tmp_path / "job.yaml"
    path.write_text(json.dumps(document))  # YAML holds JSON
    for _ in range(2):
        assert run_dag(deidentification_dag(path, schedule=None), logical_date=None).state == "success"
    known = series_of(load_job(path), "").vault.known()
    assert [one.state for one in known] == ["confirmed", "confirmed"]
    report = json.loads((tmp_path / "share/nights-of-patients/current/report.json").read_text())
    assert report["series"]["releases"] == 2
    everything = b"".join(file.read_bytes() for file in (tmp_path / "share").rglob("*") if file.is_file())
    assert not [one for one, *_ in rows if f'"{one}"'.encode() in everything]

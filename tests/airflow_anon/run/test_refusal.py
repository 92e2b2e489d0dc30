"""What a task tells of its refusal: no count that the ledger would withhold."""

from __future__ import annotations

import errno
import json
import os
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
from airflow.providers.common.compat.sdk import AirflowException, AirflowFailException

import engine.pipeline.output as of_output
from airflow_anon.operators import check as check_module
from airflow_anon.operators.deidentify import DeidentifyTableOperator
from airflow_anon.operators.validate import ValidateReleaseOperator
from airflow_anon.run import check_table
from airflow_anon.run.refusal import XCOM_KEY, ReleaseRefused, told
from engine import Count, EngineError, Message, check, load_job, run, write_manifest
from engine.tables.sources.released import open_release
from engine.verification import class_table
from tests.airflow_anon.expectations import build
from tests.counted import assert_told_as_counts, counts_of, numbers_of, words_of

JOB = {
    "name": "persons",
    "attributes": {
        "age": {
            "role": "quasi-identifying",
            "hierarchy": {"builder": "interval", "widths": [10], "lower": 0, "upper": 100},
            "minimum_level": 1,
            "maximum_level": 1,
        },
        "diagnosis": {"role": "sensitive", "nulls": "error"},
    },
    "privacy": [{"model": "k-anonymity", "k": 11}],
    "suppression_limit": 0.1,
}
# 40 in their thirties, 43 in their forties and 7 in their seventies, who have to be suppressed; 9 may be
AGES = [str(age) for age in [*range(30, 40), *range(30, 40)] * 2 + [40 + i % 10 for i in range(43)] + [71] * 7]
SMALL = {2, 3, 4, 5, 6, 7, 8}
"""No parameter of the job, so that in words they could only be counts."""


def table(ages=AGES, missing=0):
    return pa.table({"age": ages, "diagnosis": [None] * missing + ["u"] * (len(ages) - missing)})


class Instance:
    """A task instance that keeps what is pushed, as the metadata database does: as JSON."""

    def __init__(self):
        self.pushed = {}

    def xcom_push(self, key, value):
        self.pushed[key] = json.loads(json.dumps(value))


def refusal_of(operator):
    """Execute, which must fail; give what it told and the exception."""
    instance = Instance()
    with pytest.raises(AirflowException) as caught:
        operator.execute({"ti": instance})
    return instance.pushed[XCOM_KEY], caught.value


def deidentify(folder, source, **changes):
    pq.write_table(source, folder / "source.parquet")
    return DeidentifyTableOperator(
        task_id="deidentify", job={**JOB, **changes}, source=f"{folder}/source.parquet", staging=str(folder)
    )


def shown(parts):
    """Give a message of a job whose classes have 11 records at least."""
    texts = [part if isinstance(part, str) else part["count"] for part in parts]
    return "".join("[fewer than 11]" if isinstance(one, int) and 0 < one < 11 else str(one) for one in texts)


REFUSED = {
    "no solution": (table(), {"suppression_limit": 0.0}, True, set()),
    "unseen values": (table(["x-one"] * 4 + ["x-two"] * 3 + AGES[7:]), {}, False, {2, 7}),
    "missing values": (table(missing=7), {}, False, {7}),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_a_refused_run_tells_no_small_count(tmp_path, kind):
    source, changes, is_refused, planted = REFUSED[kind]
    refusal, problem = refusal_of(deidentify(tmp_path, source, **changes))
    assert set(refusal) == {"refused", "error", "message", "message_parts"}
    assert refusal["refused"] is is_refused
    with pytest.raises(EngineError) as full:
        run({**JOB, **changes}, source)
    assert_told_as_counts(full.value.message.parts, *planted)
    # the text of the exception is in the log, and in what Airflow mails
    assert str(problem) == refusal["message"] == f"{type(full.value).__name__}: {shown(full.value.message.parts)}"
    assert refusal["message_parts"] == [refusal["message"]]
    assert not SMALL & numbers_of(refusal["message"])


def test_a_check_tells_no_small_count(tmp_path, monkeypatch):
    """All reasons are one text, whose counts are withheld as those of each of them."""
    source = tmp_path / "source.csv"
    pacsv.write_csv(table(["x-one"] * 4 + ["x-two"] * 3 + AGES[7:], missing=7), source)
    job = load_job({**JOB, "source": {"path": str(source)}})
    monkeypatch.setattr(check_module, "is_check", lambda _: True)
    monkeypatch.setattr(check_table, "check_job", lambda job, **_: check(job))
    monkeypatch.setenv("AIRFLOW_ANON_STAGING", str(tmp_path / "staging"))
    operator = check_module.PrepareRunOperator(task_id="prepare_staging", job=job)
    instance = Instance()
    dag_run = SimpleNamespace(dag_id="persons", run_id="night", run_type="manual")
    with pytest.raises(AirflowException) as caught:
        operator.execute(
            {"ti": instance, "dag_run": dag_run, "run_id": "night", "dag": SimpleNamespace(dag_id="persons")}
        )
    problems = check(job).problems
    assert_told_as_counts([part for one in problems for part in one.parts], 2, 7)
    told_of_them = "\n".join([*(shown(one.parts) for one in problems), "a run would release nothing"])
    assert str(caught.value) == instance.pushed[XCOM_KEY]["message"] == told_of_them
    assert not SMALL & numbers_of(instance.pushed[XCOM_KEY]["message"])


def test_a_failed_verification_tells_the_checks_and_no_figure(tmp_path, monkeypatch):
    def wrong(release, job):
        output = pa.Table.from_batches(release.batches(release.schema.names))
        ages = output["age"].to_pylist()
        ages[40:43] = ["[20, 30["] * 3
        return class_table(open_release(output.set_column(0, "age", [ages])), job)

    monkeypatch.setattr(of_output, "class_table", wrong)
    refusal, problem = refusal_of(deidentify(tmp_path, table()))
    assert isinstance(problem, ReleaseRefused)
    assert "equivalence classes with fewer than 11 records: 1 of 3" in problem.details
    assert "k-anonymity" in refusal["message"]
    assert refusal["message_parts"] == [refusal["message"]]
    assert not SMALL & numbers_of(refusal["message"].replace("k-anonymity", ""))


def staged(folder, harm=lambda output: output, how="star", **changes):
    """Release into a folder, 7 records suppressed, change its table, and give the task that validates it."""
    job = load_job({**JOB, "output": {"path": "unused", "suppressed": how}, **changes})
    release = folder / "release"
    run(job, table(), output=release)
    pq.write_table(harm(pq.ParquetFile(release / "data.parquet").read()), release / "data.parquet")
    return ValidateReleaseOperator(
        task_id="validate",
        job=job,
        release=str(release),
        manifest_sha256=write_manifest(release),
        source_rows=90,
    )


def with_ages(label, *rows):
    def harm(output):
        for row in rows:
            output = build.changed(output, "age", row, label)
        return output

    return harm


# the 7 records that are left out are fewer than the smallest class, so they are in no count, nor the 90 of the source
DEFECTS = {
    "none": (lambda output: output, "star", set()),
    "three more are suppressed": (with_ages("*", 80, 81, 82), "star", {3}),
    "a class of three": (with_ages("[70, 80[", 0, 1, 2), "star", {3}),
    "three labels of another level": (with_ages("33", 0, 1, 2), "star", {3}),
    "three rows are lost": (lambda output: output.slice(3), "star", set()),
    "dropped ones, three rows are lost": (lambda output: output.slice(3), "drop", set()),
}


@pytest.mark.parametrize("kind", DEFECTS)
def test_a_validation_tells_its_counts_as_data(tmp_path, kind):
    harm, how, planted = DEFECTS[kind]
    operator = staged(tmp_path, harm, how)
    if kind == "none":
        assert operator.execute({})["success"] is True
    else:
        refusal, _ = refusal_of(operator)
        assert refusal["refused"] is True
        assert refusal["message_parts"] == [refusal["message"]]
        assert not SMALL & numbers_of(refusal["message"])
    results = json.loads((tmp_path / "validation.json").read_text())["results"]
    counted = set()
    for result in results:
        for name in ("message", "description"):
            parts = result[f"{name}_parts"]
            assert Message.from_parts(parts) == result[name]
            assert not SMALL & numbers_of(words_of(parts)), result[name]
            counted |= counts_of(parts)
    assert planted <= counted
    assert not {7, 90} & counted


def test_an_error_of_the_engine_within_an_expectation(tmp_path):
    """The extraction lacks 3 of the persons whom the subset lists: the model cannot be judged."""
    pacsv.write_csv(table(AGES[:83]).select(["age"]), tmp_path / "subset.csv", pacsv.WriteOptions(quoting_style="none"))
    models = [{"model": "delta-presence", "delta_min": 0, "delta_max": 1, "subset": str(tmp_path / "subset.csv")}]
    operator = staged(tmp_path, privacy=models)
    pq.write_table(table(AGES[3:]), tmp_path / "source.parquet")
    operator.source = str(tmp_path / "source.parquet")
    refusal_of(operator)
    results = json.loads((tmp_path / "validation.json").read_text())["results"]
    result = build.result_of({"results": results}, build.PRIVACY)
    assert result["message_parts"] == ["subset: rows that are no records of the source: ", {"count": 3}]


def test_an_error_of_the_engine_before_the_expectations(tmp_path):
    operator = staged(tmp_path)
    operator.job = {**JOB, "privacy": [{"model": "k-anonymity", "k": 0}]}
    refusal, problem = refusal_of(operator)
    assert refusal["refused"] is False
    assert refusal["message"] == str(problem) == Message.from_parts(refusal["message_parts"])
    assert "privacy.0.k" in refusal["message"]


def raised(problem, job=JOB):
    """Tell of an exception that a task of a job raises."""
    instance = Instance()

    def execute(self, context):
        raise problem

    task = SimpleNamespace(log=SimpleNamespace(error=lambda *_: None), **({} if job is None else {"job": job}))
    with pytest.raises(AirflowException):
        told(execute)(task, {"ti": instance})
    return instance.pushed[XCOM_KEY]


@pytest.mark.parametrize(
    ("job", "text"),
    [
        (JOB, "[fewer than 11] of 90 records arrived, 0 did not"),
        ({**JOB, "privacy": [{"model": "k-anonymity", "k": 2}]}, "3 of 90 records arrived, 0 did not"),
        (None, "[a number] of [a number] records arrived, 0 did not"),
        ({"name": "none"}, "[a number] of [a number] records arrived, 0 did not"),
    ],
    ids=["eleven", "two", "no job", "an invalid job"],
)
def test_an_exception_with_a_message(job, text):
    message = Message.of(
        "{loaded} of {rows} records arrived, {no} did not", loaded=Count(3), rows=Count(90), no=Count(0)
    )
    assert raised(AirflowFailException(message), job) == {
        "refused": False,
        "error": "AirflowFailException",
        "message": text,
        "message_parts": [text],
    }


def test_an_exception_with_a_text_has_one_part():
    assert raised(AirflowException("table 'person': is a view"))["message_parts"] == ["table 'person': is a view"]


def test_of_an_error_of_the_system_its_name_is_told():
    """A full disk at night: the alert says so, and not only that something happened."""
    full = OSError(errno.ENOSPC, "Error writing Jane Roe", "/share/stays/data.parquet")
    said = raised(full)["message"]
    assert said.startswith(
        f"ended unexpectedly: {os.strerror(errno.ENOSPC)}; make room where a run writes: in the staging"
    )
    assert said.endswith("; its log has more")
    assert raised(OSError("Jane Roe"))["message"] == "ended unexpectedly; its log has more"


def test_of_a_foreign_exception_nothing_is_told():
    refusal = raised(ValueError(Message("value ", Count(7), " of Jane Roe")))
    assert refusal["message"] == "ended unexpectedly; its log has more"
    assert refusal["message_parts"] == [refusal["message"]]

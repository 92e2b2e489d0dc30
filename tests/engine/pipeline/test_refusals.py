"""What a refused run tells of few records is data: its words alone hold no count."""

from __future__ import annotations

import pyarrow as pa
import pytest

from engine import EngineError, InvalidData, Message, NoSolution, VerificationFailed, run
from engine.pipeline import output
from engine.tables.sources.released import open_release
from engine.verification import class_table
from tests.counted import assert_told_as_counts, counts_of, numbers_of, words_of

INTERVALS = {"builder": "interval", "widths": [10], "lower": 0, "upper": 100}
AGE = {"role": "quasi-identifying", "hierarchy": INTERVALS, "minimum_level": 1, "maximum_level": 1}
JOB = {
    "name": "people",
    "attributes": {"age": AGE, "diagnosis": {"role": "sensitive"}},
    "privacy": [{"model": "k-anonymity", "k": 11}],
    "suppression_limit": 0.1,
}
# 40 in their thirties, 43 in their forties and 7 in their seventies, who have to be suppressed; 9 may be
AGES = [30 + i % 10 for i in range(40)] + [40 + i % 10 for i in range(43)] + [71] * 7


def people(ages=AGES, missing=0):
    diagnoses = [None] * missing + ["u"] * (len(ages) - missing)
    return pa.table({"age": pa.array(ages, pa.string()), "diagnosis": pa.array(diagnoses, pa.string())})


PEOPLE = people(list(map(str, AGES)))


def with_attributes(**changes):
    return {**JOB, "attributes": {**JOB["attributes"], **changes}}


def with_values(values, name="age"):
    column = PEOPLE[name].to_pylist()
    return PEOPLE.set_column(PEOPLE.column_names.index(name), name, [values + column[len(values) :]])


REFUSED = {
    "unseen values": (InvalidData, JOB, with_values(["x-one"] * 2 + ["x-two"] * 3 + ["x-three"] * 2), (3, 7)),
    "unseen values of two columns": (
        InvalidData,
        with_attributes(diagnosis={**AGE, "hierarchy": INTERVALS}),
        with_values(["x-one"] * 5),
        (1, 5, 90),
    ),
    "missing values": (
        InvalidData,
        with_attributes(diagnosis={"role": "sensitive", "nulls": "error"}),
        people(list(map(str, AGES)), missing=7),
        (7,),
    ),
    "values without a place in the order": (
        InvalidData,
        {
            **with_attributes(diagnosis={"role": "sensitive", "order": "integer"}),
            "privacy": [{"model": "t-closeness", "distance": "ordered", "attribute": "diagnosis", "t": 0.5}],
        },
        with_values(["x-one", "x-two"], "diagnosis"),
        (3,),
    ),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_counts_of_a_refused_run_are_data(kind):
    error, job, table, planted = REFUSED[kind]
    with pytest.raises(error) as caught:
        run(job, table)
    message = caught.value.message
    assert Message.from_parts(message.parts) == str(caught.value)
    assert_told_as_counts(message.parts, *planted)


@pytest.mark.parametrize("algorithm", ["optimal", "datafly"])
def test_a_refusal_does_not_tell_the_records_of_the_source(algorithm):
    """The same table may be released later without a few of its records: their number would be the difference."""
    job = {**JOB, "suppression_limit": 0.05, "search": {"algorithm": algorithm}}
    with pytest.raises(NoSolution) as caught:
        run(job, PEOPLE)
    assert counts_of(caught.value.message.parts) == set()
    assert not numbers_of(str(caught.value)) & {90, 4, 7}


def test_a_hierarchy_that_ends_in_several_labels(tmp_path):
    (tmp_path / "age.csv").write_text("".join(f"{age};{age % 7}\n" for age in set(AGES)))
    age = {**AGE, "hierarchy": str(tmp_path / "age.csv"), "unseen": "root"}
    with pytest.raises(InvalidData) as caught:
        run(with_attributes(age=age), with_values(["x-one"]))
    assert_told_as_counts(caught.value.message.parts, 7, folder=tmp_path)


def test_rows_of_a_subset_that_are_no_records(tmp_path):
    (tmp_path / "subset.csv").write_text("age\n" + "31\n" * 9 + "99\n" * 3, encoding="utf-8")
    models = [{"model": "delta-presence", "delta_min": 0, "delta_max": 0.5, "subset": str(tmp_path / "subset.csv")}]
    with pytest.raises(InvalidData) as caught:
        run({**JOB, "privacy": models}, PEOPLE)
    assert "no records of the source" in str(caught.value)
    planted = 12 - len([age for age in AGES if age == 31])
    assert_told_as_counts(caught.value.message.parts, planted, folder=tmp_path)


def test_the_findings_of_an_output_that_is_refused(monkeypatch):
    """An engine with a defect releases two of the forties as twenties, and one with its age."""

    def wrong(release, job):
        table = pa.Table.from_batches(release.batches(release.schema.names))
        ages = table["age"].to_pylist()
        ages[40:43] = ["[20, 30["] * 2 + ["40"]
        return class_table(open_release(table.set_column(0, "age", [ages])), job)

    monkeypatch.setattr(output, "class_table", wrong)
    with pytest.raises(VerificationFailed) as caught:
        run(JOB, PEOPLE)
    problem = caught.value
    assert "equivalence classes with fewer than 11 records: 2 of 4" in str(problem)
    assert_told_as_counts(problem.message.parts, 2, 4)
    for finding in problem.findings:
        assert not {2, 4, 7, 40, 83, 90} & numbers_of(words_of(finding.message.parts)), finding
    balance = next(finding for finding in problem.findings if finding.check == "suppression-limit")
    assert balance.message == "suppressed records: 7 of 90, allowed: 9"
    assert words_of(balance.message.parts) == "suppressed records: # of #, allowed: 9"


def test_every_error_of_the_engine_has_a_message():
    assert {kind.__name__ for kind in EngineError.__subclasses__()} >= {"InvalidJob", "InvalidData", "NoSolution"}
    for kind in EngineError.__subclasses__():
        assert kind("column 'age'").message.parts == ["column 'age'"]


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"suppression_limit": 0}, "the farthest from it is 11-anonymity: even at the highest levels allowed it "),
        (
            {"privacy": [{"model": "l-diversity", "variant": "distinct", "attribute": "diagnosis", "l": 2}]},
            "the farthest from it is distinct 2-diversity of diagnosis",
        ),
    ],
)
def test_a_refusal_names_the_criterion_that_is_farthest(changes, told):
    with pytest.raises(NoSolution) as refused:
        run({**JOB, **changes}, table=PEOPLE)
    assert told in str(refused.value)
    share = "fewer than 11" if "suppression_limit" in changes else "all"
    assert f"suppresses {share} of them" in str(refused.value)
    # where no record is kept, a higher limit is no remedy
    assert ("higher suppression_limit" in str(refused.value)) == (share != "all")


def test_a_refusal_does_not_tell_how_few_records_would_be_left():
    """Five of two diagnoses, in a class of their own: k is 11, but only for the larger classes."""
    ages = [31] * 80 + [75] * 5
    table = pa.table({"age": pa.array(list(map(str, ages))), "diagnosis": ["u"] * 80 + ["v", "w", "v", "w", "v"]})
    diversity = {"model": "l-diversity", "variant": "distinct", "attribute": "diagnosis", "l": 2}
    with pytest.raises(NoSolution) as refused:
        run({**JOB, "privacy": [*JOB["privacy"], diversity]}, table=table)
    assert "suppresses nearly all of them" in str(refused.value)


def test_a_refusal_of_a_job_without_k_anonymity():
    """Half of the records have the diagnosis of all in their class."""
    table = pa.table({"age": ["31"] * 20 + ["45"] * 20, "diagnosis": ["u"] * 20 + ["v", "w"] * 10})
    diversity = {"model": "l-diversity", "variant": "distinct", "attribute": "diagnosis", "l": 2}
    with pytest.raises(NoSolution, match="it suppresses about 50% of them"):
        run({**JOB, "privacy": [diversity]}, table=table)


def test_a_refusal_does_not_tell_how_few_records_a_later_release_leaves_out():
    """Of 43 to 46 records 30% to 35% are suppressed; with another limit the classes of five go, and 1 to 4 do not."""
    told = set()
    for few in (1, 2, 3, 4):
        ages = ["31"] * 30 + [str(age) for age in (45, 55, 65, 75) for _ in range(3)] + ["85"] * few
        with pytest.raises(NoSolution) as refused:
            run({**JOB, "suppression_limit": 0.2}, table=pa.table({"age": ages, "diagnosis": ["u"] * len(ages)}))
        told.add(str(refused.value))
    assert len(told) == 1
    assert "suppresses about 30% of them" in told.pop()


@pytest.mark.parametrize("knows", ["any-row", "all-rows", {"rows": 2}])
def test_a_refusal_does_not_tell_how_many_rows_few_persons_have(knows):
    """One of 21 persons is suppressed with six rows, or with nine."""
    attributes = {**JOB["attributes"], "mrn": {"role": "identifying"}}
    job = {
        **JOB,
        "attributes": attributes,
        "subject": "mrn",
        "knows": knows,
        "privacy": [{"model": "k-anonymity", "k": 5}],
    }
    told = set()
    for rows in (6, 9):
        ages, persons = ["31"] * 20 + ["75"] * rows, [*map(str, range(20)), *["one"] * rows]
        table = pa.table({"age": ages, "diagnosis": ["u"] * len(ages), "mrn": persons})
        with pytest.raises(NoSolution) as refused:
            run(job, table=table)
        told.add(str(refused.value))
    assert len(told) == 1
    assert "suppresses those of fewer than 5 persons" in told.pop()


def test_a_search_that_found_nothing_in_its_time_does_not_say_that_there_is_nothing():
    job = {**JOB, "suppression_limit": 0.0, "search": {"algorithm": "best-first", "time_limit_seconds": 1e-9}}
    with pytest.raises(NoSolution, match=r"was found that satisfies .* within 1e-09 seconds") as cut:
        run(job, PEOPLE)
    assert "; raise search.time_limit_seconds, or " in str(cut.value)
    with pytest.raises(NoSolution, match=r"^no transformation of the table satisfies ") as whole:
        run({**job, "search": {"algorithm": "best-first", "time_limit_seconds": 1000}}, PEOPLE)
    assert " seconds" not in str(whole.value)

"""The linter in a run: what it refuses, what it warns of, and what it measures."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from engine import InvalidData, InvalidJob, load_job, run
from engine.cli import main

AGE = {"role": "quasi-identifying", "hierarchy": {"builder": "interval", "widths": [10, 100]}}
SEX = {"role": "quasi-identifying", "hierarchy": {"builder": "grouping", "groups": [{"any": ["f", "m"]}]}}
DIVERSE = {"model": "l-diversity", "variant": "distinct", "attribute": "diagnosis", "l": 2}


def job_of(attributes=None, privacy=(), **further):
    return {
        "name": "people",
        "attributes": {"age": AGE, **(attributes or {})},
        "privacy": [{"model": "k-anonymity", "k": 5}, *privacy],
        **further,
    }


def table_of(records=200, **columns):
    """Ages of four decades, and further columns."""
    return pa.table({"age": [20 + n % 40 for n in range(records)], **columns})


def kinds(result):
    return [(finding["kind"], finding["column"]) for finding in result.report["lint"]["findings"]]


def warned(result, name):
    return [text for text in result.report.get("warnings", []) if repr(name) in text]


def nearly_unique(records, distinct):
    return [f"SECRET-{min(n, distinct - 1)}" for n in range(records)]


@pytest.mark.parametrize("role", ["insensitive", "sensitive"])
@pytest.mark.parametrize("distinct", [180, 200])
def test_nearly_unique_values_are_refused(tmp_path, role, distinct):
    job = job_of({"note": {"role": role}}, output={"path": str(tmp_path / "release")})
    with pytest.raises(InvalidData) as refused:
        run(job, table_of(note=nearly_unique(200, distinct)))
    text = str(refused.value)
    assert all(part in text for part in (f"{role} column 'note'", "at least 90%", "accept: unique"))
    assert "SECRET" not in text
    assert list(tmp_path.iterdir()) == []


def test_the_refusal_of_nearly_unique_values_tells_not_how_many_there_are():
    """Of 100 records each percent is one of them, and a release that accepts them withholds the share."""
    told = set()
    for distinct in (91, 95, 100):
        with pytest.raises(InvalidData) as refused:
            run(job_of({"note": {"role": "insensitive"}}), table_of(100, note=nearly_unique(100, distinct)))
        told.add(str(refused.value))
    assert len(told) == 1


def test_below_the_threshold_they_are_released_with_a_warning():
    result = run(job_of({"note": {"role": "insensitive"}}), table_of(note=nearly_unique(200, 179)))
    assert kinds(result) == [("rare-values", "note")]
    assert len(warned(result, "note")) == 1


@pytest.mark.parametrize("role", ["insensitive", "sensitive"])
def test_a_job_may_accept_them_and_the_reader_is_told(role):
    job = job_of({"note": {"role": role, "accept": "unique"}})
    result = run(job, table_of(note=nearly_unique(200, 200)))
    assert ("nearly-unique", "note") in kinds(result)
    assert any("the job accepts it" in text for text in warned(result, "note"))
    assert result.report["lint"]["columns"][1]["accept"] == "unique"
    assert load_job(job).document()["attributes"]["note"]["accept"] == "unique"


@pytest.mark.parametrize("role", ["identifying", "quasi-identifying"])
def test_only_columns_that_are_released_as_they_are_can_be_accepted(role):
    column = {"role": role, "accept": "unique", **({"hierarchy": AGE["hierarchy"]} if role[0] == "q" else {})}
    with pytest.raises(InvalidJob, match=r"note.*accept: only for sensitive and insensitive columns"):
        load_job(job_of({"note": column}))


def test_small_tables_are_not_refused():
    """A measurement of few records differs by chance; 99 that have a value are few."""
    job = job_of({"note": {"role": "insensitive"}})
    result = run(job, table_of(99, note=nearly_unique(99, 99)))
    assert kinds(result) == [("nearly-unique", "note")]
    assert "fewer than 100 records have a value" in warned(result, "note")[0]
    missing = [None, ""] * 500
    assert kinds(run(job, table_of(1099, note=[*nearly_unique(99, 99), *missing]))) == [("nearly-unique", "note")]
    with pytest.raises(InvalidData):
        run(job, table_of(1100, note=[*nearly_unique(100, 100), *missing]))


@pytest.mark.parametrize("records", [100, 200, 1000, 20_000])
def test_a_measurement_of_three_hundred_values_is_never_refused(records):
    weights = np.random.default_rng(records).integers(600, 900, records) / 10
    job = job_of({"weight": {"role": "insensitive"}})
    assert "nearly-unique" not in dict(kinds(run(job, table_of(records, weight=weights))))


def test_a_measurement_in_seconds_is_refused():
    """Of 1,000 stays of up to 30 days, written in seconds, hardly two agree."""
    stays = np.random.default_rng(7).integers(0, 30 * 86_400, 1000)
    with pytest.raises(InvalidData, match="'stay'"):
        run(job_of({"stay": {"role": "insensitive"}}), table_of(1000, stay=stays))


def test_only_the_records_of_the_released_subset_are_judged(tmp_path):
    """Half of the values of the source are equal, but none of those that are released."""
    ids, notes = list(range(400)), [*nearly_unique(200, 200), *["same"] * 200]
    (tmp_path / "subset.csv").write_text("id\n" + "\n".join(map(str, ids[:200])))
    presence = {"model": "delta-presence", "delta_min": 0.0, "delta_max": 1.0, "subset": str(tmp_path / "subset.csv")}
    job = job_of({"id": {"role": "identifying"}, "note": {"role": "insensitive"}}, privacy=[presence])
    with pytest.raises(InvalidData, match="'note'"):
        run(job, table_of(400, id=ids, note=notes))


def test_a_sensitive_column_without_a_model_and_its_homogeneous_classes():
    attributes = {"diagnosis": {"role": "sensitive"}}
    table = table_of(diagnosis=["flu" if n % 40 < 10 else "ab"[n % 2] for n in range(200)])
    open_ = run(job_of({**attributes, "age": {**AGE, "maximum_level": 1}}), table)
    assert kinds(open_) == [("no-model", "diagnosis"), ("homogeneous-classes", "diagnosis")]
    ages, values = (open_.table[name].to_pylist() for name in ("age", "diagnosis"))
    shown = set(zip(ages, values, strict=True))
    alike = [age for age, _ in shown if sum(other == age for other, _ in shown) == 1]
    in_them = sum(ages.count(age) for age in alike)
    [found] = open_.report["lint"]["classes"]
    assert found == {"column": "diagnosis", "homogeneous": len(alike), "records_share": in_them / 200}
    assert found["homogeneous"]
    closed = run(job_of(attributes, privacy=[DIVERSE]), table)
    # how it stands is said where it is well
    assert closed.report["lint"]["classes"] == [{"column": "diagnosis", "homogeneous": 0, "records_share": 0.0}]
    assert kinds(closed) == []
    assert "warnings" not in closed.report


def test_a_hierarchy_of_a_sensitive_column_that_no_model_reads():
    """It is read by t-closeness of hierarchical distance alone: else the column is released as it is."""
    hierarchy = {"builder": "grouping", "groups": [{"any": ["a", "b"]}]}
    table = table_of(diagnosis=["ab"[n % 2] for n in range(200)])
    closeness = {"model": "t-closeness", "attribute": "diagnosis", "t": 0.5}
    unused = ("unused-hierarchy", "diagnosis")
    for model, found in (
        (DIVERSE, True),
        ({**closeness, "distance": "equal"}, True),
        ({**closeness, "distance": "hierarchical"}, False),
    ):
        result = run(job_of({"diagnosis": {"role": "sensitive", "hierarchy": hierarchy}}, privacy=[model]), table)
        assert (unused in kinds(result)) is found
        assert any("its hierarchy has no effect" in text for text in warned(result, "diagnosis")) is found
    without = run(job_of({"diagnosis": {"role": "sensitive"}}, privacy=[DIVERSE]), table)
    assert unused not in kinds(without)


@pytest.mark.parametrize(("others", "found"), [(0, True), (1, True), (2, True), (3, False)])
def test_a_quasi_identifier_that_hardly_varies(others, found):
    """Of 200 records 2 with the other value make 396 of 39,800 pairs differ, twice: 1.99%; 3 make 2.97%."""
    result = run(job_of({"sex": SEX}), table_of(sex=["f"] * (200 - others) + ["m"] * others))
    assert (("hardly-varies", "sex") in kinds(result)) is found


@given(st.lists(st.sampled_from(["f", "m", None]), min_size=2, max_size=30))
def test_distinction_and_separation_by_hand(values):
    job = job_of({"sex": SEX, "also": {"role": "insensitive", "accept": "unique"}}, privacy=[], suppression_limit=1.0)
    columns = run(job, table_of(len(values), sex=pa.array(values, pa.string()), also=pa.array(values, pa.string())))
    there = [value for value in values if value is not None]
    pairs = list(combinations(there, 2))
    separation = Fraction(sum(one != other for one, other in pairs), len(pairs)) if pairs else None
    for measured in columns.report["lint"]["columns"][1:]:
        assert measured["distinction"] == (rounded(Fraction(len(set(there)), len(there))) if there else None)
        assert measured["separation"] == (None if separation is None else rounded(separation))


def rounded(share):
    return pytest.approx(float(share), rel=0.051)


PEOPLE = {"mrn": {"role": "identifying"}}


REPEATING = [f"PATIENT-{n // 2}" for n in range(200)]


def test_a_column_that_repeats_is_a_question_that_the_job_has_to_answer():
    with pytest.raises(InvalidData, match="identifying column 'mrn': several records have the same value") as problem:
        run(job_of(PEOPLE), table_of(mrn=REPEATING))
    assert "subject: COLUMN" in str(problem.value)
    assert "unit: record" in str(problem.value)
    assert "PATIENT" not in str(problem.value)


@pytest.mark.parametrize(("answer", "unit"), [({"unit": "record"}, "record"), ({"subject": "mrn"}, "person")])
def test_either_answer_is_in_the_report(answer, unit):
    result = run(job_of(PEOPLE, **answer), table_of(mrn=REPEATING))
    assert result.report["lint"]["unit"] == unit
    assert kinds(result) == []
    assert "PATIENT" not in json.dumps(result.report)


def test_a_column_that_does_not_repeat_needs_no_unit():
    result = run(job_of(PEOPLE), table_of(mrn=[*(f"PATIENT-{n}" for n in range(150)), *[None] * 25, *[""] * 25]))
    assert kinds(result) == []
    assert "warnings" not in result.report


@pytest.mark.parametrize(
    ("answer", "reason"), [(True, "'mrn': several records"), (None, "'mrn': it is not known whether several records")]
)
def test_what_a_warehouse_says_of_columns_that_stay_there(answer, reason):
    with pytest.raises(InvalidData, match=reason):
        run(job_of(PEOPLE), table_of(), repeats={"mrn": answer})


def test_a_warehouse_in_which_nothing_repeats_asks_nothing():
    assert kinds(run(job_of(PEOPLE), table_of(), repeats={"mrn": False})) == []


def test_another_unit_is_refused():
    with pytest.raises(InvalidJob, match="unit"):
        load_job(job_of(PEOPLE, unit="person"))


def test_the_command_line_says_it(tmp_path, capsys):
    rows = "".join(f"{20 + n % 40},PATIENT-{n // 2}\n" for n in range(200))
    (tmp_path / "source.csv").write_text("age,mrn\n" + rows)
    job = {**job_of(PEOPLE), "source": {"path": "source.csv"}, "output": {"path": "release"}}
    (tmp_path / "job.yaml").write_text(yaml.safe_dump(job))
    assert main(["run", str(tmp_path / "job.yaml")]) == 2
    printed = capsys.readouterr().err
    assert printed.count("identifying column 'mrn'") == 1
    assert "PATIENT" not in printed
    assert not (tmp_path / "release").exists()

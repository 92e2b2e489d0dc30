"""A run that counts persons: an independent recount with pandas finds nobody below k, and figures of persons."""

from __future__ import annotations

import json
import math
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings

from engine import InvalidData, NoSolution, load_job, run, verify
from engine.hierarchy.builder import SUPPRESSED
from engine.hierarchy.builders.age import Age
from engine.hierarchy.builders.grouping import Grouping
from tests.engine import build
from tests.engine.person_problems import job_of, person_problems
from tests.profiles import examples

SLOW_START = settings(deadline=None, suppress_health_check=list(HealthCheck), max_examples=examples(100))
WARDS = {"builder": "grouping", "groups": [{"low": ["0", "1"], "high": ["2", "3"]}, {"any": ["low", "high"]}]}


KEY = bytes(range(32))


def job(**changes):
    document = {
        "name": "visits",
        "attributes": {
            "mrn": {"role": "identifying"},
            "age": {"role": "quasi-identifying", "hierarchy": {"builder": "age"}},
            "ward": {"role": "quasi-identifying", "hierarchy": WARDS},
            "diagnosis": {"role": "sensitive"},
        },
        "subject": "mrn",
        "privacy": [
            {"model": "k-anonymity", "k": 5},
            {"model": "t-closeness", "distance": "equal", "attribute": "diagnosis", "t": 0.4},
        ],
        "suppression_limit": 0.05,
    }
    return load_job({**document, **changes})


def visits(persons=200, seed=0):
    """Each person has one age, and several visits in wards."""
    rng = np.random.default_rng(seed)
    number = rng.poisson(4, persons) + 1
    mrn = np.repeat(np.arange(persons), number)
    age = rng.integers(20, 90, persons)[mrn]
    return pd.DataFrame(
        {
            "mrn": [f"M{person}" for person in mrn],
            "age": age.astype(str),
            "ward": rng.integers(0, 4, mrn.size).astype(str),
            "diagnosis": np.array(list("abcd"))[rng.integers(0, 4, mrn.size)],
        }
    )


def recounted(frame, released, levels):
    """Return the persons of each kept class of a file, from the source and the release alone, with pandas."""
    ages = {row[0]: row for row in Age().rows(sorted(frame["age"].unique()))}
    groups = Grouping.model_validate(WARDS)
    wards = {row[0]: row for row in groups.rows(sorted(frame["ward"].unique()))}
    cells = pd.DataFrame(
        {
            "mrn": frame["mrn"],
            "age": [ages[age][levels["age"]] for age in frame["age"]],
            "ward": [wards[ward][levels["ward"]] for ward in frame["ward"]],
        }
    )
    kept = released[released["age"].ne(SUPPRESSED) | released["ward"].ne(SUPPRESSED)]
    there = cells.merge(kept[["age", "ward"]].drop_duplicates(), on=["age", "ward"])
    return there.groupby(["age", "ward"])["mrn"].nunique(), there


@pytest.mark.parametrize("limit", [0.0, 0.05, 0.3])
def test_an_independent_recount_finds_nobody_below_k(limit):
    frame = visits()
    result = run(job(suppression_limit=limit), frame)
    sizes, there = recounted(frame, result.table.to_pandas(), result.report["solution"]["levels"])
    assert sizes.min() >= 5
    assert result.report["classes"]["smallest"] <= sizes.min()
    worst = there.join(sizes.rename("size"), on=["age", "ward"]).groupby("mrn")["size"].min()
    if result.report["suppressed_class"]["form"] != "star":
        assert result.report["risk"]["prosecutor"] == 1 / sizes.min()
        assert result.report["risk"]["marketer"] == pytest.approx(math.fsum(1 / worst) / len(worst))
        assert result.report["classes"]["smallest"] == sizes.min()
    assert result.report["persons"] == frame["mrn"].nunique()
    gone = frame["mrn"].nunique() - there["mrn"].nunique()
    assert result.report["persons_suppressed_share"] == gone / frame["mrn"].nunique()
    assert "mrn" not in result.table.column_names


def test_records_alone_would_leave_persons_below_k():
    frame = pd.DataFrame(
        {
            "mrn": ["A"] * 5 + [f"B{i}" for i in range(10)],
            "age": ["30"] * 5 + ["70"] * 10,
            "ward": ["0"] * 15,
            "diagnosis": list("abcab") + list("abcabcabca"),
        }
    )
    size = [{"model": "k-anonymity", "k": 5}]
    of_records = run(job(subject=None, unit="record", privacy=size), frame)
    assert of_records.report["solution"]["levels"]["age"] == 0
    of_persons = run(job(privacy=size, allow_empty_information=True), frame)
    assert of_persons.report["solution"]["levels"]["age"] > 0
    assert of_persons.report["classes"]["smallest"] >= 5
    assert "persons" not in of_records.report


def test_where_nobody_has_two_records_nothing_changes():
    frame = visits().drop_duplicates("mrn")
    of_persons, of_records = run(job(), frame), run(job(subject=None), frame)
    for part in ("solution", "classes", "risk", "suppressed_class"):
        assert of_persons.report[part] == of_records.report[part], part
    assert of_persons.report["persons"] == len(frame)


def test_a_person_of_100_000_records():
    frame = pd.concat([visits(), pd.DataFrame([["M0", "44", "0", "a"]] * 100_000, columns=list(visits().columns))])
    result = run(job(privacy=[{"model": "k-anonymity", "k": 5}]), frame)
    sizes, _ = recounted(frame, result.table.to_pandas(), result.report["solution"]["levels"])
    assert sizes.min() >= 5


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ([None, "B"], "missing or blank"),
        (["", "B"], "missing or blank"),
        (["  ", "B"], "missing or blank"),
        (["b", "B"], "case or blanks"),
        ([" B", "B"], "case or blanks"),
        (["A 1", "A1"], "case or blanks"),
    ],
)
def test_persons_that_cannot_be_told_are_an_error(values, reason):
    frame = visits()
    frame.loc[[0, 1], "mrn"] = values
    with pytest.raises(InvalidData, match=reason) as problem:
        run(job(), frame)
    assert "'mrn'" in str(problem.value)


def test_a_source_without_the_subject_is_an_error():
    with pytest.raises(InvalidData, match="subject 'mrn': the source lacks this column"):
        run(job(), visits().drop(columns="mrn"))


def test_numbers_are_persons_too():
    frame = visits()
    frame["mrn"] = frame["mrn"].str[1:].astype("int64")
    assert run(job(), frame).report["persons"] == 200


@pytest.mark.parametrize("kind", [pa.float32(), pa.float64()])
def test_a_float_that_is_no_number_is_nobody(kind):
    """Numbers of persons are floats where some are missing, in pandas and in Parquet files that keep NaN."""
    table = pa.Table.from_pandas(visits())
    numbers = [float(text[1:]) for text in table["mrn"].to_pylist()]
    place = table.schema.get_field_index("mrn")
    assert run(job(), table.set_column(place, "mrn", pa.array(numbers, kind))).report["persons"] == 200
    numbers[:3] = [float("nan")] * 3
    with pytest.raises(InvalidData, match="subject 'mrn': has a missing or blank value in 3 of its records"):
        run(job(), table.set_column(place, "mrn", pa.array(numbers, kind)))


@pytest.mark.parametrize("kind", [pa.float32(), pa.float64()])
@pytest.mark.parametrize("changes", [{}, {"knows": "all-rows"}, {"knows": {"rows": 2}}, {"max_rows": 1}])
def test_both_zeros_of_a_float_are_one_person(kind, changes):
    """A sum or a product leaves -0.0 where another table has 0.0: a class of two would be of one person."""
    table = pa.Table.from_pandas(visits())
    numbers = np.array([float(text[1:]) for text in table["mrn"].to_pylist()])
    place = table.schema.get_field_index("mrn")
    plain = table.set_column(place, "mrn", pa.array(numbers, kind))
    zeros = np.flatnonzero(numbers == 0)
    assert zeros.size > 1
    numbers[zeros[::2]] = -0.0
    signed = table.set_column(place, "mrn", pa.array(numbers, kind))
    this = job(suppression_limit=1.0, privacy=[{"model": "k-anonymity", "k": 5}], **changes)
    one, other = (run(this, given, rows_key=KEY) for given in (plain, signed))
    assert one.report["persons"] == other.report["persons"] == 200
    assert one.report["solution"] == other.report["solution"]
    assert all(finding.holds for finding in verify(other.table, this, other.published, signed, KEY))


@SLOW_START
@given(problem=person_problems())
def test_what_is_released_is_verified(problem):
    """Verification generalizes and counts by code of its own, and refuses nothing that the search and report say."""
    with tempfile.TemporaryDirectory() as folder:
        this = job_of(problem, Path(folder))
        source = build.table(problem)
        try:
            result = run(this, source)
            released = result.table
        except NoSolution:
            return
        assert all(finding.holds for finding in result.findings)
        findings = verify(released, this, result.published, source=source)
        assert all(finding.holds for finding in findings), [str(f.message) for f in findings if not f.holds]


def test_without_source_or_report_nobody_can_count_persons():
    result = run(job(), visits())
    for report, source in ((None, visits()), (result.published, None)):
        findings = {finding.check: finding for finding in verify(result.table, job(), report, source=source)}
        assert not findings["persons"].holds


def test_another_source_is_not_that_of_the_release():
    result = run(job(), visits())
    findings = verify(result.table, job(), result.published, source=visits(seed=1))
    assert not all(finding.holds for finding in findings)


def test_persons_who_are_fewer_than_the_records_are_found():
    """A source in which the records of a class are one person's proves that the release does not hold."""
    frame = visits()
    result = run(job(), frame)
    levels = result.report["solution"]["levels"]
    sizes, there = recounted(frame, result.table.to_pandas(), levels)
    rows = there[(there["age"] == sizes.index[0][0]) & (there["ward"] == sizes.index[0][1])]
    changed = frame.assign(mrn=frame["mrn"].where(~frame["mrn"].isin(rows["mrn"]), "M0"))
    findings = verify(result.table, job(), result.published, source=changed)
    assert "k-anonymity" in {finding.check for finding in findings if not finding.holds}


def test_figures_of_few_persons_are_withheld():
    frame = visits()
    alone = pd.DataFrame([[f"X{i}", "89", "3", "a"] for i in range(2)], columns=list(frame.columns))
    size = [{"model": "k-anonymity", "k": 5}]
    result = run(job(privacy=size, output=None), pd.concat([frame, alone]))
    assert result.report["persons"] == 202
    gone = round(result.report["persons_suppressed_share"] * 202)
    if 0 < gone < 5:
        assert result.published["persons"] is None
        assert {"persons", "persons_suppressed_share"} <= set(result.published["withheld"])
    json.dumps(result.published)


@pytest.mark.parametrize("gone", [0, 1, 4, 5])
def test_few_persons_left_out_are_in_no_figure(gone, tmp_path):
    """A share at risk is a fraction of the persons in the file: `persons` would tell how many others there are."""
    rows = [[f"A{i}", "30", "0", "a"] for i in range(20)] + [[f"B{i}", "30", "0", "b"] for i in range(20)]
    rows += [[f"C{i}", "85", "3", "b"] for i in range(gone)] * 3
    frame = pd.DataFrame(rows, columns=["mrn", "age", "ward", "diagnosis"])
    kept = {"age": {"role": "quasi-identifying", "hierarchy": {"builder": "age"}, "maximum_level": 0}}
    ward = {"ward": {"role": "quasi-identifying", "hierarchy": WARDS, "maximum_level": 0}}
    attributes = {**job().document()["attributes"], **kept, **ward}
    this = job(attributes=attributes, privacy=[{"model": "k-anonymity", "k": 6}], suppression_limit=0.5)
    result = run(this, frame)
    assert result.report["persons_suppressed_share"] == gone / (40 + gone)
    told = result.published
    assert (told["persons"] is None) is (gone > 0)
    assert (told["persons_suppressed_share"] is None) is (gone > 0)


@pytest.mark.parametrize(
    ("gone", "changed", "holds"),
    [
        (4, {}, True),
        (4, {"rows": 52, "persons": 44, "persons_suppressed_share": 4 / 44}, False),
        (10, {}, True),
        (10, {"persons": None, "persons_suppressed_share": None}, False),
        (10, {"rows": None, "persons": None, "persons_suppressed_share": None}, False),
        (0, {}, True),
        (0, {"persons": None, "persons_suppressed_share": None}, False),
    ],
)
def test_numbers_of_persons_are_withheld_only_where_they_are_few(tmp_path, gone, changed, holds):
    """The source tells how many they are; without `rows` the report says that few were left out."""
    rows = [[f"A{i}", "30", "0", "a"] for i in range(20)] + [[f"B{i}", "30", "0", "b"] for i in range(20)]
    rows += [[f"C{i}", "85", "2" if i % 2 else "3", "b"] for i in range(gone)] * 3
    frame = pd.DataFrame(rows, columns=["mrn", "age", "ward", "diagnosis"])
    exact = {
        name: {"role": "quasi-identifying", "hierarchy": {"builder": "flat"}, "maximum_level": 0}
        for name in ("age", "ward")
    }
    this = job(
        attributes={**job().document()["attributes"], **exact},
        privacy=[{"model": "k-anonymity", "k": 6}],
        suppression_limit=0.5,
        output={"path": str(tmp_path / "release"), "suppressed": "drop"},
    )
    result = run(this, frame)
    report = {**result.published, **changed}
    if changed.get("rows", 0) is None:
        report["solution"] = {**report["solution"], "suppressed": None}
        report["suppressed_class"] = {**report["suppressed_class"], "records": None, "below": 6}
    failed = {finding.check for finding in verify(result.table, this, report, source=frame) if not finding.holds}
    assert (not failed) is holds
    assert failed <= {"figures", "persons", "report"}


def test_the_file_has_no_identifier(tmp_path):
    frame = visits()
    frame["mrn"] = "SECRET-" + frame["mrn"]
    run(job(), frame, output=tmp_path / "release")
    for path in (tmp_path / "release").iterdir():
        assert b"SECRET-" not in path.read_bytes()
    assert pa.parquet.read_table(tmp_path / "release" / "data.parquet").column_names == ["age", "ward", "diagnosis"]


@pytest.mark.parametrize("most", [None, 3])
def test_a_file_is_counted_like_a_table(tmp_path, most):
    """Texts of a Parquet file are read as its dictionaries."""
    frame = visits()
    frame.to_parquet(tmp_path / "visits.parquet")
    limit = {} if most is None else {"max_rows": most}
    of_table = run(job(**limit), frame, rows_key=KEY)
    of_file = run(job(**limit, source={"path": str(tmp_path / "visits.parquet")}), rows_key=KEY)
    assert all(finding.holds for finding in of_file.findings)
    left = ("timings", "search", "job_sha256")
    assert {key: part for key, part in of_file.report.items() if key not in left} == {
        key: part for key, part in of_table.report.items() if key not in left
    }


def test_a_release_that_counts_records_is_none_of_a_job_that_counts_persons():
    frame = pd.DataFrame(
        {"mrn": ["A"] * 5 + [f"B{i}" for i in range(10)], "age": ["30"] * 5 + ["70"] * 10, "ward": ["0"] * 15}
    ).assign(diagnosis=list("abcababcabcabca"))
    size = [{"model": "k-anonymity", "k": 5}]
    result = run(job(subject=None, unit="record", privacy=size), frame)
    findings = verify(result.table, job(privacy=size), result.published, source=frame)
    assert "k-anonymity" in {finding.check for finding in findings if not finding.holds}


@pytest.mark.parametrize("most", [1, 3, 1000])
def test_further_rows_of_a_person_are_left_out_and_told(most):
    frame = visits()
    this = job(max_rows=most)
    result = run(this, frame, rows_key=KEY)
    rows = frame.groupby("mrn").size()
    stay = int(rows.clip(upper=most).sum())
    assert result.report["rows"] == stay
    assert result.report["further_rows"] == {"left_out": len(frame) - stay, "share": 1 - stay / len(frame)}
    assert result.report["persons"] == 200
    assert result.table.num_rows <= stay
    assert all(finding.holds for finding in verify(result.table, this, result.published, frame, KEY))


def test_which_rows_stay_depends_on_the_key_alone():
    frame = visits().assign(ward="0")
    frame["note"] = np.arange(len(frame)) // 2
    attributes = {**job().document()["attributes"], "note": {"role": "insensitive", "accept": "unique"}}
    this = job(max_rows=2, attributes=attributes)

    def notes(key):
        return sorted(run(this, frame, rows_key=key).table["note"].to_pylist())

    assert notes(KEY) == notes(KEY)
    assert notes(KEY) != notes(bytes(32))
    assert notes(None) != notes(None)


@pytest.mark.parametrize("key", [None, bytes(32)])
def test_without_its_key_a_choice_of_rows_is_not_proven(key):
    frame = visits()
    this = job(max_rows=2)
    result = run(this, frame, rows_key=KEY)
    findings = {finding.check: finding for finding in verify(result.table, this, result.published, frame, key)}
    assert not findings["persons"].holds


def test_few_further_rows_are_not_told():
    frame = visits().drop_duplicates("mrn")
    frame = pd.concat([frame, frame.iloc[:3]])
    result = run(job(max_rows=1), frame, rows_key=KEY)
    assert result.report["further_rows"]["left_out"] == 3
    assert result.published["further_rows"] == {"left_out": None, "share": None}
    assert {"further_rows.left_out", "further_rows.share"} <= set(result.published["withheld"])
    assert all(finding.holds for finding in verify(result.table, job(max_rows=1), result.published, frame, KEY))


@pytest.mark.parametrize(("persons", "told"), [(1, False), (4, False), (5, True), (12, True)])
def test_further_rows_are_told_of_as_many_persons_as_a_class_has(persons, told):
    """All of them are in the file; of one alone the number would be how many rows he or she has."""
    frame = pd.DataFrame({"mrn": [f"p{number}" for number in range(40)] * 2, "age": ["34"] * 80})
    more = pd.DataFrame({"mrn": [f"p{number % persons}" for number in range(60)], "age": ["34"] * 60})
    columns = {"mrn": {"role": "identifying"}, "age": {"role": "quasi-identifying", "hierarchy": {"builder": "age"}}}
    this = job(max_rows=2, attributes=columns, privacy=[{"model": "k-anonymity", "k": 5}])
    result = run(this, pd.concat([frame, more]), rows_key=KEY)
    assert result.report["further_rows"]["left_out"] == 60
    assert result.published["further_rows"]["left_out"] == (60 if told else None)


def test_further_rows_of_few_persons_that_are_left_out_are_not_told():
    """They may all be of one person, who alone has more rows than others."""
    told = []
    for rows in (10, 30, 77):
        frame = pd.DataFrame({"mrn": [f"p{number}" for number in range(40)] + ["old"] * rows})
        frame["age"] = ["34"] * 40 + ["91"] * rows
        document = {
            "name": "few",
            "subject": "mrn",
            "max_rows": 2,
            "suppression_limit": 0.2,
            "attributes": {
                "mrn": {"role": "identifying"},
                "age": {"role": "quasi-identifying", "hierarchy": {"builder": "age"}, "maximum_level": 0},
            },
            "privacy": [{"model": "k-anonymity", "k": 5}],
        }
        result = run(document, frame)
        assert result.report["further_rows"]["left_out"] == rows - 2
        told.append({key: result.published[key] for key in ("rows", "further_rows", "suppressed_class", "warnings")})
    assert told[0]["further_rows"] == {"left_out": None, "share": None}
    assert told == [told[0]] * 3


def test_a_report_of_other_further_rows_is_found():
    frame = visits()
    this = job(max_rows=2)
    result = run(this, frame, rows_key=KEY)
    other = {**result.published, "further_rows": {"left_out": 1000, "share": 0.5}}
    findings = {finding.check: finding for finding in verify(result.table, this, other, frame, KEY)}
    assert not findings["persons"].holds

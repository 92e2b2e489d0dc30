"""A check: everything that is wrong at once, the figures of a release that is not made, and nothing left behind."""

from __future__ import annotations

import tempfile

import pandas as pd
import pyarrow as pa
import pytest

from engine import InvalidData, InvalidJob, Message, check, check_lines, run
from engine.tables.altered.coded import CodedTable
from tests.engine.series import nights

ROWS = 200
TABLE = pd.DataFrame(
    {
        "mrn": [f"m{row}" for row in range(ROWS)],
        "age": [str(20 + row % 40) for row in range(ROWS)],
        "sex": ["fm"[row % 2] for row in range(ROWS)],
        "illness": [["flu", "cold", "none"][row % 3] for row in range(ROWS)],
    }
)
JOB = {
    "name": "people",
    "attributes": {
        "mrn": {"role": "identifying"},
        "age": {"role": "quasi-identifying", "hierarchy": {"builder": "age"}},
        "sex": {"role": "quasi-identifying", "hierarchy": {"builder": "flat"}},
        "illness": {"role": "sensitive"},
    },
    "privacy": [{"model": "k-anonymity", "k": 5}],
    "suppression_limit": 0.1,
}


@pytest.fixture(autouse=True)
def _temporary(tmp_path, monkeypatch):
    """Give temporary folders a place of their own, so that what is left of them is seen."""
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))


def test_the_figures_are_those_of_a_run_and_nothing_is_left(tmp_path):
    job = {**JOB, "output": {"path": str(tmp_path / "release")}}
    found = check(job, TABLE)
    made = run(JOB, TABLE).published
    assert (found.problems, found.exit_code, found.is_sample) == ((), 0, False)
    for key in ("solution", "risk", "privacy", "released"):
        assert found.published[key] == made[key]
    assert list((tmp_path / "temporary").iterdir()) == []
    assert not (tmp_path / "release").exists()
    assert "released     nothing: this was a check" in list(check_lines(found))


def test_columns_of_which_nothing_would_be_left_are_named():
    strict = {**JOB, "privacy": [{"model": "k-anonymity", "k": 60}]}
    found = check(strict, TABLE)
    assert found.emptied == ("age",)
    told = next(line for line in check_lines(found) if line.startswith("nothing left of age: "))
    assert "where records are counted, transformation: local-recoding" in told
    assert check({**JOB, "privacy": [{"model": "k-anonymity", "k": 2}]}, TABLE).emptied == ()


def test_few_left_out_are_not_told(tmp_path):
    """A check may be sent on as a report may."""
    table = pd.concat([TABLE, pd.DataFrame({"mrn": ["x"], "age": ["99"], "sex": ["f"], "illness": ["flu"]})])
    published = check({**JOB, "suppression_limit": 0.05}, table).published
    assert published["rows"] is None or published["suppressed_class"]["records"] != 1


BROKEN = {
    **JOB,
    "attributes": {
        "age": {
            "role": "quasi-identifying",
            "hierarchy": {"builder": "age", "maximum": 50, "top_code": "none"},
            "minimum_level": 7,
        },
        "sex": {"role": "quasi-identifying", "hierarchy": "nowhere.csv"},
        "illness": {"role": "sensitive", "nulls": "error"},
        "gone": {"role": "insensitive"},
        "email": {"role": "insensitive"},
    },
}


def broken_table():
    illness = [None, *TABLE["illness"][1:]]
    return TABLE.assign(illness=illness, email=[f"q{row % 9}@example.org" for row in range(ROWS)])


def test_all_problems_are_told_in_one_round():
    found = check(BROKEN, broken_table())
    told = "\n".join(found.problems)
    assert (found.exit_code, found.published) == (2, None)
    for text in (
        "column number 1 of its 5 is not named in the job",
        "columns 'gone': named in the job but not in the source",
        "attributes.age.minimum_level: is 7, the hierarchy ends at 4",
        "column 'age': its hierarchy has no entry for 9 of the distinct values, in 45 of the records",
        "nowhere.csv: not found",
        "column 'illness': missing values: 1",
        "'email': looks like e-mail addresses",
    ):
        assert text in told
    assert "example.org" not in told
    assert all(isinstance(problem, Message) for problem in found.problems)
    assert {"count": 45} in next(one for one in found.problems if "no entry for 9" in one).parts


BELOW = [
    lambda path: {"role": "quasi-identifying", "hierarchy": path, "unseen": "root"},
    lambda path: {
        "role": "quasi-identifying",
        "hierarchy": {"builder": "policy", "hierarchy": {"path": path}, "groups": [{"node": "*"}]},
    },
    lambda path: {"role": "sensitive", "hierarchy": path},
]


@pytest.mark.parametrize("attribute", BELOW)
def test_a_header_in_a_hierarchy_file_is_refused_by_run_and_check(tmp_path, attribute):
    file = tmp_path / "sex.csv"
    closeness = {"model": "t-closeness", "distance": "hierarchical", "attribute": "sex", "t": 0.5}
    job = {**JOB, "attributes": {**JOB["attributes"], "sex": attribute(str(file))}}
    if job["attributes"]["sex"]["role"] == "sensitive":
        job["privacy"] = [*JOB["privacy"], closeness]
    file.write_text("Sex;level1\nf;*\nm;*\n")
    (told,) = check(job, TABLE).problems
    assert "sex.csv: row 1 is a header (its first field is the name of the column); remove it" in told
    with pytest.raises(InvalidData, match=r"sex\.csv: row 1 is a header"):
        run(job, TABLE)
    file.write_text("f;*\nm;*\n")
    assert check(job, TABLE).problems == ()


def test_values_but_for_their_case_are_told_by_run_and_check(tmp_path):
    (tmp_path / "sex.csv").write_text("F;*\nm;*\n")
    sex = {"role": "quasi-identifying", "hierarchy": str(tmp_path / "sex.csv")}
    job = {**JOB, "attributes": {**JOB["attributes"], "sex": sex}}
    (told,) = check(job, TABLE).problems
    assert "its file sex.csv lists, and would take 1 of those with other blanks, in other case or" in told
    assert {"count": 1} in told.parts
    with pytest.raises(InvalidData) as caught:
        run(job, TABLE)
    assert caught.value.message.parts == told.parts


@pytest.mark.parametrize("name", ["Sex", " sex", "sex\u00a0", "S E X", "\ufeffsex", "\uff53ex"])
def test_a_column_name_but_for_what_a_person_may_not_see(name):
    """The job's spelling is told: that of the source may be a value of a file without header."""
    job = {**JOB, "attributes": {**JOB["attributes"], "gone": {"role": "insensitive"}}}
    nearly, gone, *_ = check(job, TABLE.rename(columns={"sex": name})).problems
    assert nearly == (
        "source: its column 3 is 'sex' of the job but for case, blanks or Unicode form; write each in the job as it is "
        "in the source, or rename it there"
    )
    assert gone == (
        "columns 'gone': named in the job but not in the source; take them out of the job, or correct their names"
    )
    with pytest.raises(InvalidData, match="its column 3 is 'sex' of the job"):
        run(JOB, TABLE.rename(columns={"sex": name}))


def test_all_column_names_in_capitals():
    (told,) = check(JOB, TABLE.rename(columns=str.upper)).problems
    assert told.startswith("source: its columns 1, 2, 3, 4 are 'mrn', 'age', 'sex', 'illness' of the job but for case")


def test_a_composed_letter_is_the_same_as_one_of_two_characters():
    job = {**JOB, "attributes": {**JOB["attributes"], "gr\u00f6\u00dfe": {"role": "insensitive"}}}
    table = TABLE.rename(columns={"sex": "gro\u0308\u00dfe"})
    (told, *_) = check(job, table).problems
    assert told.startswith("source: its column 3 is 'gr\u00f6\u00dfe' of the job but for case")


def test_a_column_that_the_job_names_too_is_another_one():
    table = TABLE.assign(Sex="x")
    (told, *_) = check(JOB, table).problems
    assert told.startswith("source: column number 5 of its 5 is not named in the job")


def test_values_are_shown_only_when_asked_for():
    found = check(BROKEN, broken_table())
    assert "'59'" not in repr(found) + "\n".join(check_lines(found))
    assert any("'59'" in line for line in check_lines(found, show_values=True))


def test_unseen_values_that_the_job_allows_for_are_no_problem_but_can_be_shown():
    attributes = {**JOB["attributes"], "age": {**BROKEN["attributes"]["age"], "minimum_level": 0, "unseen": "root"}}
    found = check({**JOB, "attributes": attributes}, TABLE)
    assert found.problems == ()
    assert found.unseen["age"]


def test_an_identifier_that_repeats_elsewhere_is_asked_about():
    found = check(JOB, TABLE.drop(columns="mrn"), repeats={"mrn": True})
    assert "'mrn': several records have the same value" in found.problems[0]


def test_no_solution_is_a_problem_with_the_exit_status_of_a_run():
    found = check({**JOB, "privacy": [{"model": "k-anonymity", "k": 500}]}, TABLE)
    assert (len(found.problems), found.exit_code) == (1, 3)


@pytest.mark.parametrize("kind", ["frame", "table", "reader"])
def test_a_sample(kind):
    table = pa.Table.from_pandas(TABLE, preserve_index=False)
    given = {"frame": TABLE, "table": table, "reader": table.to_reader()}[kind]
    found = check(JOB, given, most=60)
    assert found.is_sample
    assert found.published["released"] <= 60
    assert next(check_lines(found)).startswith("sample")
    assert not check(JOB, TABLE, most=ROWS).is_sample


def test_an_empty_table():
    assert "is empty" in check(JOB, TABLE[:0]).problems[0]


def test_a_job_that_cannot_be_read_ends_the_check():
    with pytest.raises(InvalidJob, match="suppression_limit"):
        check({**JOB, "suppression_limit": 2}, TABLE)


def test_a_check_of_a_series_writes_no_vault(tmp_path):
    """Nor its key: a night that was only looked at must not be remembered as one that readers had."""
    job = nights.job(tmp_path)
    people = nights.table(nights.patients(300))
    found = check(job, people)
    assert (found.problems, found.left_out) == ((), ("series",))
    assert any(line.startswith("not checked  series") for line in check_lines(found))
    assert {path.name for path in tmp_path.iterdir()} <= {"temporary"}
    run(job, people)
    vault = (tmp_path / "vault.sqlite").read_bytes()
    check(job, nights.table(nights.patients(300, seed=1)))
    assert (tmp_path / "vault.sqlite").read_bytes() == vault


def test_numbers_are_coded_once(monkeypatch):
    """The release of a check is of the source that its columns were looked at in."""
    sources = []
    real = CodedTable.__init__

    def noted(self, source, columns):
        sources.append(type(source))
        real(self, source, columns)

    monkeypatch.setattr(CodedTable, "__init__", noted)
    coded = {"role": "quasi-identifying", "microaggregation": "mean", "coding": {"top": 50}, "order": "integer"}
    job = {**JOB, "attributes": {**JOB["attributes"], "age": coded}}
    assert check(job, TABLE).problems == ()
    assert len(sources) == 1


@pytest.mark.parametrize("most", [0, -1])
def test_no_records_are_no_sample(most):
    """The table was told to be empty."""
    with pytest.raises(InvalidJob, match=f"most: is {most}, must be at least 1"):
        check(JOB, TABLE, most)


def test_columns_that_the_job_does_not_name_are_told_by_their_places():
    """Not by their names, which are cells of a file without a header; and '3 of 9' would count them."""
    text = "source: columns number 5, 6 of its 6 are not named in the job; give each a role"
    assert check(JOB, TABLE.assign(ward="a", town="b")).problems[0].startswith(text)
    text = "source: column number 5 of its 5 is not named in the job; give it a role"
    assert check(JOB, TABLE.assign(ward="a")).problems[0].startswith(text)


@pytest.mark.parametrize(("written", "named", "told"), [(";", ",", '";"'), (",", ";", '","'), ("\t", ",", r'"\t"')])
def test_the_delimiter_of_a_header_in_one_piece_is_told(tmp_path, written, named, told):
    """The usual file of a spreadsheet; what stands in the header is not told, since it may be a record."""
    TABLE.to_csv(tmp_path / "people.csv", index=False, sep=written)
    (problem,) = check({**JOB, "source": {"path": str(tmp_path / "people.csv"), "delimiter": named}}).problems
    assert problem == (
        "source: holds none of the job's columns; another delimiter stands between them: say source: {delimiter: "
        f"{told}}}"
    )

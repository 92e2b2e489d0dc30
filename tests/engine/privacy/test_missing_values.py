"""Missing sensitive values: whether l-diversity counts them, in run and verification."""

from __future__ import annotations

import math

import pyarrow as pa
import pyarrow.csv
import pytest

from engine import InvalidData, InvalidJob, load_job, recount, run, verify

FORMS = {
    "distinct": {"l": 2},
    "shannon-entropy": {"l": 2},
    "grassberger-entropy": {"l": 1.5},
    "recursive": {"c": 2.0, "l": 2},
}
# everybody in x whose diagnosis is known has the same; in y two are as frequent
TABLE = pa.table({"q": ["x"] * 4 + ["y"] * 4, "s": ["flu", "flu", None, None, "flu", "flu", "gout", "gout"]})


def model(form, **keys):
    return {"model": "l-diversity", "variant": form, "attribute": "s", **FORMS[form], **keys}


def job(form="distinct", attribute=None, limit=0.5, **keys):
    return load_job(
        {
            "name": "diagnoses",
            "attributes": {
                "q": {
                    "role": "quasi-identifying",
                    "hierarchy": {"builder": "grouping", "groups": [{"any": ["x", "y"]}]},
                },
                "s": {"role": "sensitive", **(attribute or {})},
            },
            "privacy": [model(form, **keys)],
            "suppression_limit": limit,
        }
    )


def suppressed(this, table=TABLE):
    """Return the suppressed records at the lowest level; the verification must agree with the run."""
    result = run(this, table)
    assert result.report["solution"]["levels"] == {"q": 0}
    findings = verify(result.table, this, result.report)
    [stated] = result.report["privacy"]
    assert all(finding.holds for finding in findings)
    [found] = [finding for finding in findings if finding.check == "l-diversity"]
    assert found.observed == pytest.approx(stated["observed"], rel=1e-12)
    return result.report["solution"]["suppressed"]


@pytest.mark.parametrize("form", FORMS)
def test_a_missing_value_is_no_value_unless_the_job_says_so(form):
    assert suppressed(job(form)) == 4
    assert suppressed(job(form, missing="not-a-value")) == 4
    assert suppressed(job(form, missing="value")) == 0


@pytest.mark.parametrize("form", FORMS)
def test_a_class_without_a_known_value_fails(form):
    table = TABLE.set_column(1, "s", pa.array([None] * 4 + ["flu", "flu", "gout", "gout"]))
    assert suppressed(job(form), table) == 4
    finding = recount(table, ["q"], model(form))
    assert (finding.holds, finding.observed) == (False, None if form == "recursive" else 0)


@pytest.mark.parametrize(("form", "figure"), [("shannon-entropy", 2.0), ("recursive", 1.0)])
def test_the_others_are_judged_as_if_the_missing_were_not_there(form, figure):
    table = pa.table({"q": ["y"] * 9, "s": ["flu", "gout", *[None] * 7]})
    result = run(job(form), table)
    assert result.report["privacy"][0]["observed"] == pytest.approx(figure)
    assert recount(table, ["q"], model(form)).observed == pytest.approx(figure)
    # with the seven they are far from diverse
    finding = recount(table, ["q"], model(form, missing="value"))
    assert finding.holds is False
    if form == "shannon-entropy":
        assert finding.observed == pytest.approx(math.exp(-7 / 9 * math.log(7 / 9) - 2 / 9 * math.log(1 / 9)))


def test_the_report_says_how_they_were_counted():
    for missing, words in (("value", "count as one"), ("not-a-value", "not counted")):
        [entry] = run(job(missing=missing), TABLE).report["privacy"]
        assert entry["missing"] == missing
        assert entry["description"] == f"distinct 2-diversity of s (missing values {words})"


def test_texts_that_mean_a_missing_value(tmp_path):
    pyarrow.csv.write_csv(TABLE.set_column(1, "s", TABLE["s"].fill_null("")), tmp_path / "s.csv")
    read = pyarrow.csv.read_csv(
        tmp_path / "s.csv", convert_options=pyarrow.csv.ConvertOptions(strings_can_be_null=False)
    )
    assert suppressed(job(attribute={"missing": ["", "?"]}), read) == 4
    assert suppressed(job(attribute={"missing": ["", "?"]}, missing="value"), read) == 0
    # without the key, an empty text would be a diagnosis
    with pytest.raises(InvalidData, match="column 's': holds empty texts, written in the job as ''"):
        run(job(), read)
    assert suppressed(job(missing="value"), read) == 0
    # the release has the texts of the source
    released = run(job(attribute={"missing": ["", "?"]}, missing="value"), read).table
    assert sorted(released["s"].to_pylist()) == sorted(read["s"].to_pylist())


def test_blank_texts_are_refused_until_the_job_says_what_they_are():
    table = TABLE.set_column(1, "s", TABLE["s"].fill_null(" \t"))
    with pytest.raises(InvalidData, match="column 's': holds texts of nothing but blanks"):
        run(job(), table)
    assert suppressed(job(attribute={"missing": [" \t"]}), table) == 4


def with_values(kind, *of_x):
    """Give the table with numbers, of which the class x has some."""
    return pa.table({"q": ["x"] * 4 + ["y"] * 4, "s": pa.array([*of_x, 6, 6, 7, 7], kind)})


@pytest.mark.parametrize("kind", [pa.float32(), pa.float64(), pa.dictionary(pa.int8(), pa.float64())], ids=str)
@pytest.mark.parametrize("form", FORMS)
def test_a_float_that_is_no_number_is_refused_until_the_job_says_what_it_is(form, kind):
    table = with_values(pa.float64(), 5, 5, math.nan, math.nan)
    table = table.set_column(1, "s", table["s"].dictionary_encode() if pa.types.is_dictionary(kind) else table["s"])
    with pytest.raises(InvalidData, match="column 's': holds floats that are no number, written in the job as 'nan'"):
        run(job(form), table)
    assert suppressed(job(form, attribute={"missing": ["nan"]}), table) == 4
    assert suppressed(job(form, missing="value"), table) == 0


@pytest.mark.parametrize(
    ("kind", "order", "values"),
    [
        (pa.float64(), None, [0.0, 0.0, -0.0, -0.0]),
        (pa.float32(), "text", [0.0, 0.0, -0.0, -0.0]),
        (pa.string(), "decimal", ["5", "5.0", "5", "5.00"]),
        (pa.string(), "integer", ["5", "05", "5", "5"]),
    ],
)
@pytest.mark.parametrize("missing", ["value", "not-a-value"])
def test_numbers_that_are_written_in_several_ways_are_refused(kind, order, values, missing):
    """In x everybody has the same one."""
    table = with_values(pa.int64(), 0, 0, 0, 0)
    table = table.set_column(1, "s", pa.array([*pa.array(values, kind), *table["s"][4:].cast(kind)], kind))
    attribute = {} if order is None else {"order": order}
    with pytest.raises(
        InvalidData, match=r"column 's': distinct values that are numbers that others are too.*: [12];"
    ) as refused:
        run(job(attribute=attribute, missing=missing), table)
    assert "coding: {round_to: " in str(refused.value)
    assert "05" not in str(refused.value)
    if order != "text":
        coded = {**attribute, "coding": {"round_to": 1}}
        assert suppressed(job(attribute=coded, missing=missing), table) == 4


def test_such_numbers_are_no_concern_of_models_that_count_no_values():
    table = with_values(pa.float64(), 0.0, -0.0, math.nan, math.inf)
    document = {
        **job().document(),
        "privacy": [{"model": "t-closeness", "distance": "equal", "attribute": "s", "t": 1.0}],
    }
    assert run(load_job(document), table).table.num_rows == 8


def test_floats_that_are_all_different_are_no_concern():
    table = with_values(pa.float64(), 0.1, 0.1 + 2**-56, math.inf, -math.inf)
    assert suppressed(job(), table) == 0


def test_such_texts_are_no_numbers_and_have_none_to_be():
    numbers = pa.table({"q": ["x"] * 3, "s": ["1", "", "9"]})
    document = job(attribute={"missing": [""], "order": "integer"}).document()
    this = load_job({**document, "privacy": [{"model": "k-e-anonymity", "attribute": "s", "k": 2, "e": 8.0}]})
    result = run(this, numbers)
    assert all(finding.holds for finding in verify(result.table, this, result.report))


def test_such_texts_are_refused_where_missing_values_are():
    # also where no model reads the column
    this = job(attribute={"missing": ["flu"], "nulls": "error"})
    other = load_job({**this.document(), "privacy": [{"model": "k-anonymity", "k": 2}]})
    for refusing in (this, other):
        with pytest.raises(InvalidData, match=r"column 's': missing values: 6"):
            run(refusing, TABLE)


def test_another_way_of_counting_is_refused():
    with pytest.raises(InvalidJob, match=r"privacy.0.*missing"):
        job(missing="ignore")

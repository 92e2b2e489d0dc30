"""The order of a sensitive attribute that the job does not give: that of the column's type, in run and verification."""

from __future__ import annotations

import math

import pyarrow as pa
import pyarrow.csv
import pytest

from engine import InvalidJob, load_job, run, verify

# the example of Li et al., t-closeness, section 5: of nine salaries, those of x are 0.375 from all, by number
SALARIES = {"x": [3, 4, 5], "y": [6, 8, 11], "z": [7, 9, 10]}
NUMBERS = pa.array([salary for salaries in SALARIES.values() for salary in salaries], pa.int64())
DISTANCE = 0.375
AS_TEXT = 15 / 72
"""10 and 11 come first: the classes are 15/72, 7/72 and 12/72 from all."""

ORDERED = {"model": "t-closeness", "distance": "ordered", "attribute": "salary", "t": 0.4}


def job(order=None, model=ORDERED, **changes):
    return load_job(
        {
            "name": "salaries",
            "attributes": {
                "q": {
                    "role": "quasi-identifying",
                    "hierarchy": {"builder": "grouping", "groups": [{"any": ["x", "y", "z"]}]},
                },
                "salary": {"role": "sensitive", **({} if order is None else {"order": order})},
            },
            "privacy": [model],
            **changes,
        }
    )


def table(values):
    return pa.table({"q": [q for q, salaries in SALARIES.items() for _ in salaries], "salary": values})


def distance(this, values=None, **source):
    """Return the largest distance of the release by the report; the verification must find the same."""
    result = run(this, **({} if values is None else {"table": table(values)}), **source)
    [stated] = result.report["privacy"]
    findings = verify(result.table, this, result.report)
    assert all(finding.holds for finding in findings)
    [found] = [finding for finding in findings if finding.check == "t-closeness"]
    assert found.observed == pytest.approx(stated["observed"], rel=1e-12)
    assert result.report["solution"]["levels"] == {"q": 0}
    return stated["observed"]


TYPES = {
    "integers": NUMBERS,
    "small integers": NUMBERS.cast(pa.uint8()),
    "doubles": NUMBERS.cast(pa.float64()),
    "decimals": NUMBERS.cast(pa.decimal128(21, 2)),
    "codes of integers": NUMBERS.dictionary_encode(),
    "dates": NUMBERS.cast(pa.int32()).cast(pa.date32()),
    "timestamps": NUMBERS.cast(pa.timestamp("ns")),
    "timestamps with an offset": NUMBERS.cast(pa.timestamp("s", "Europe/Berlin")),
    "durations": NUMBERS.cast(pa.duration("s")),
}


@pytest.mark.parametrize("kind", TYPES)
def test_without_an_order_the_type_of_the_column_orders_the_values(kind):
    assert distance(job(), TYPES[kind]) == pytest.approx(DISTANCE, rel=1e-12)


def test_missing_values_come_first():
    # nine salaries less the 3, and a missing value in its place
    values = pa.array([None, *NUMBERS.to_pylist()[1:]], pa.int64())
    assert distance(job(), values) == pytest.approx(DISTANCE, rel=1e-12)


def test_numbers_are_ordered_as_text_only_if_the_job_says_so():
    assert distance(job("text"), NUMBERS) == pytest.approx(AS_TEXT, rel=1e-12)
    assert job("text").document()["attributes"]["salary"]["order"] == "text"
    assert "order" not in job().document()["attributes"]["salary"]


def test_the_numbers_of_a_csv_file_need_an_order(tmp_path):
    pyarrow.csv.write_csv(table(NUMBERS), tmp_path / "salaries.csv")
    source = {"path": str(tmp_path / "salaries.csv")}
    with pytest.raises(InvalidJob, match=r"attributes\.salary\.order to text, integer, decimal, date") as refused:
        run(job(source=source))
    assert "looks like numbers" in str(refused.value)
    assert distance(job("integer", source=source)) == pytest.approx(DISTANCE, rel=1e-12)
    assert distance(job("text", source=source)) == pytest.approx(AS_TEXT, rel=1e-12)


LIKE_OTHER_TYPES = {
    "decimals": (["1.5", "-2", "1e3", "4", "5", "6", "7", "8", "9"], "numbers"),
    "numbers and blanks": (["", " ", None, "4", "5", "6", "7", "8", "9"], "numbers"),
    "numbers but for a few": (["<1", "n/a", "3", "4", "5", "6", "7", "8", "9"], "numbers"),
    "dates": ([f"2026-03-0{day}" for day in range(1, 10)], "dates"),
}


@pytest.mark.parametrize("kind", LIKE_OTHER_TYPES)
def test_texts_that_are_no_text_need_an_order(kind):
    values, what = LIKE_OTHER_TYPES[kind]
    with pytest.raises(InvalidJob, match=rf"column 'salary': is text that looks like {what}, .*set attributes.salary"):
        run(job(), table(values))
    released = run(job("text", suppression_limit=1.0), table(values))
    # the verification does not take the word of the run for it
    with pytest.raises(InvalidJob, match=r"attributes.salary.order: the values look like d.* name it"):
        verify(released.table, job(suppression_limit=1.0), released.report)


def test_texts_are_ordered_as_text():
    assert distance(job(), [f"{chr(97 + number)}-{number}" for number in NUMBERS.to_pylist()]) == pytest.approx(
        DISTANCE, rel=1e-12
    )


@pytest.mark.parametrize(
    "model",
    [{**ORDERED, "distance": "equal", "t": 1.0}, {"model": "l-diversity", "variant": "distinct", "l": 2}],
)
def test_models_that_read_no_order_need_none(model):
    # a float that is no number is a value unless it is said to be missing, or counted
    missing = ["nan"] if model["model"] == "l-diversity" else []
    document = job(model={**model, "attribute": "salary"}).document()
    document["attributes"]["salary"]["missing"] = missing
    this = load_job(document)
    for values in (NUMBERS.cast(pa.string()), pa.array([math.nan, math.inf, *NUMBERS.to_pylist()[2:]], pa.float64())):
        result = run(this, table(values))
        assert all(finding.holds for finding in verify(result.table, this, result.report))

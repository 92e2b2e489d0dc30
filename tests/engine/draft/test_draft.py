"""A drafted job file: it runs as it is, holds no value of a record, and releases nothing that it cannot place."""

from __future__ import annotations

import random
import re

import pandas as pd
import pyarrow as pa
import pytest
import yaml

from engine import InvalidData, InvalidJob, draft_job, load_job, run
from engine.draft.roles import least_class, most_quasi

SOURCE, OUTPUT = {"path": "patients.csv"}, {"path": "release"}


def patients(rows=3_000, seed=1):
    """Make a table of visits, two per patient, as an export of a hospital has it."""
    chance = random.Random(seed)
    return pd.DataFrame(
        {
            "patient_id": [number // 2 for number in range(rows)],
            "patient_name": [f"Xaver{number // 2} Quux" for number in range(rows)],
            "contact": [f"q{number}@example.org" for number in range(rows)],
            "dob": [
                f"{chance.randint(1, 28)}.{chance.randint(1, 12)}.{chance.randint(1930, 2010)}" for _ in range(rows)
            ],
            "admitted": [f"2024-{chance.randint(1, 12):02}-{chance.randint(1, 28):02}" for _ in range(rows)],
            "age": [str(chance.randint(0, 99)) for _ in range(rows)],
            "zip": [chance.choice(["02139", "02140", "94110", "10001"]) for _ in range(rows)],
            "sex": [chance.choice(["f", "m", "NA"]) for _ in range(rows)],
            "diagnosis": [chance.choice(["E11.65", "I10", "J45.909"]) for _ in range(rows)],
            "glucose": [f"{chance.gauss(100, 20):.3f}" for _ in range(rows)],
            "remarks": [
                f"seen by Dr Zwingli on day {number}, will come again in {number % 7} weeks" for number in range(rows)
            ],
            "empty": [None] * rows,
        }
    )


def drafted(table, **keys):
    draft = draft_job(table, SOURCE, OUTPUT, **{"name": "patients", **keys})
    return draft, yaml.safe_load(draft.text)


def test_identifiers_stay_in_the_source_and_the_rest_gets_a_role():
    _, job = drafted(patients())
    roles = {name: attribute["role"] for name, attribute in job["attributes"].items()}
    assert roles == {
        "patient_id": "identifying",
        "patient_name": "identifying",
        "contact": "identifying",
        "dob": "quasi-identifying",
        "admitted": "quasi-identifying",
        "age": "quasi-identifying",
        "zip": "quasi-identifying",
        "sex": "quasi-identifying",
        "diagnosis": "sensitive",
        "glucose": "quasi-identifying",
        "remarks": "identifying",
        "empty": "identifying",
    }
    assert job["subject"] == "patient_id"
    hierarchies = {name: one.get("hierarchy", {}).get("builder") for name, one in job["attributes"].items()}
    assert hierarchies["zip"] == "zip"
    assert hierarchies["glucose"] == "interval"
    assert job["attributes"]["dob"]["hierarchy"]["format"] == "DD.MM.YYYY"
    assert job["attributes"]["sex"]["missing"] == ["NA"]


def test_it_runs_as_it_is():
    table = patients()
    _, job = drafted(table)
    result = run({key: part for key, part in job.items() if key != "output"}, table=table)
    assert result.report["solution"] is not None
    assert set(result.table.column_names) == {"dob", "admitted", "age", "zip", "sex", "diagnosis", "glucose"}


def test_neither_the_file_nor_what_is_said_holds_a_value():
    table = patients()
    draft, _ = drafted(table)
    told = draft.text + "\n".join(draft.lines) + repr(draft)
    words = set(re.findall(r"[\w.@-]+", told))
    values = {str(value) for name in table for value in table[name] if value is not None}
    values -= {str(number) for number in range(1000)} | {"NA"}  # counts have as many digits
    assert values & words == set()
    assert "Xaver" not in told
    assert "02139" not in told


def test_the_same_of_columns_of_arrow_types():
    frame = patients()
    frame["age"] = frame["age"].astype(int)
    frame["admitted"] = pd.to_datetime(frame["admitted"])
    frame["glucose"] = frame["glucose"].astype(float)
    table = pa.Table.from_pandas(frame, preserve_index=False)
    _, job = drafted(table)
    assert job["attributes"]["admitted"]["hierarchy"]["builder"] == "date"
    assert job["attributes"]["age"]["hierarchy"]["builder"] == "age"
    run({key: part for key, part in job.items() if key != "output"}, table=table)


def test_what_nobody_can_place_is_generalized_or_left_out():
    """A column without a known meaning is not released as it is."""
    rows = 400
    table = pd.DataFrame(
        {
            "a": [str(number % 3) for number in range(rows)],
            "b": [f"w{number}" for number in range(rows)],
            "c": [f"{number * 1.37:.2f}" for number in range(rows)],
        }
    )
    _, job = drafted(table)
    assert [one["role"] for one in job["attributes"].values()] == [
        "quasi-identifying",
        "identifying",
        "quasi-identifying",
    ]


def test_postcodes_are_taken_for_those_of_the_united_states_and_the_draft_asks():
    """Elsewhere other areas are small, and nothing but a person knows the country."""
    text = drafted(patients(300))[0].text
    (line,) = (one for one in text.splitlines() if one.strip().startswith("zip:"))
    assert "if they are not of the United States, decide" in line


def test_long_texts_in_a_column_of_postcodes_stay_in_the_source():
    """The redaction of a job has 64 characters at most."""
    odd = patients(300).assign(zip=["y" * (65 + number % 3) for number in range(300)])
    _, job = drafted(odd)
    assert job["attributes"]["zip"] == {"role": "identifying"}


def test_a_wide_table_keeps_the_columns_that_others_know():
    rows = 300
    wide = {f"v{place}": [str(number % (place + 2)) for number in range(rows)] for place in range(30)}
    table = pd.DataFrame({**wide, "age": [str(20 + number % 50) for number in range(rows)]})
    draft, job = drafted(table)
    quasi = [name for name, one in job["attributes"].items() if one["role"] == "quasi-identifying"]
    assert "age" in quasi
    assert len(quasi) == 5
    assert draft.text.count("left out: about 300 rows carry 5 columns; swap it for another if it matters") == 26
    load_job(job)


@pytest.mark.parametrize(
    ("records", "columns"),
    [(0, 3), (1, 3), (99, 5), (100, 4), (300, 5), (2_139, 7), (45_055, 11), (45_056, 12), (10**7, 12)],
)
def test_as_many_columns_as_records_can_be_halved_for(records, columns):
    """Each column that keeps two groups halves the classes, and those may not become too small."""
    assert most_quasi(records) == columns
    if 3 < columns < 12:
        assert records / 2**columns >= least_class(records) > records / 2 ** (columns + 1)


def test_a_repeating_identifier_without_a_person_asks_to_decide():
    table = patients().drop(columns=["patient_id"]).assign(patient_name=["X", "Y", "Z"] * 1_000)
    draft, job = drafted(table)
    assert job["unit"] == "record"
    assert "subject: COLUMN" in draft.text


REFUSED = {
    "no records": (pd.DataFrame({"age": []}), "has no records"),
    "no columns": (pd.DataFrame(), "has no column"),
    "no header": (pd.DataFrame({"4711": ["1"], "2.5": ["2"], "x@y.org": ["3"]}), "no header"),
    "only identifiers": (pd.DataFrame({"email": ["a", "b"]}), "nothing to generalize"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_drafted(case):
    table, text = REFUSED[case]
    with pytest.raises(InvalidData, match=text) as refused:
        drafted(table)
    assert "4711" not in str(refused.value)


def test_a_table_with_a_column_per_year_has_a_header():
    drafted(pd.DataFrame({str(year): ["1", "2"] for year in range(1960, 1990)}))


@pytest.mark.parametrize(("name", "made"), [("clinic.person", "clinic.person"), ("a b/c", "a-b-c"), ("é", "table")])
def test_a_name_that_a_job_may_have(name, made):
    assert drafted(patients(50), name=name)[0].name == made


def test_omop():
    rows = 500
    table = pd.DataFrame(
        {
            "condition_occurrence_id": range(rows),
            "person_id": [number // 5 for number in range(rows)],
            "condition_concept_id": [201826 + number % 4 for number in range(rows)],
            "condition_start_date": [f"2024-01-{1 + number % 28:02}" for number in range(rows)],
            "condition_start_datetime": [f"2024-01-{1 + number % 28:02} 10:11:12" for number in range(rows)],
            "condition_type_concept_id": [32020] * rows,
            "condition_source_value": [f"code {number % 9}" for number in range(rows)],
            "visit_occurrence_id": [number // 2 for number in range(rows)],
        }
    )
    _, job = drafted(table, omop="cdm.condition_occurrence")
    roles = {name: one["role"] for name, one in job["attributes"].items()}
    assert {name for name, role in roles.items() if role != "identifying"} == {
        "condition_concept_id",
        "condition_start_date",
    }
    assert roles["condition_concept_id"] == "sensitive"
    assert job["subject"] == "person_id"
    run({key: part for key, part in job.items() if key != "output"}, table=table)


def test_an_unknown_table_of_omop_is_told_the_known_ones():
    with pytest.raises(InvalidJob, match=r"'patients' is no table of OMOP CDM 5.4.*condition_occurrence"):
        drafted(patients(50), omop="patients")


def test_numbers_that_never_repeat_stay_in_the_source_whatever_their_name():
    chance = random.Random(3)
    table = patients().assign(
        pidnum=chance.sample(range(10_000, 300_000), 3_000), weight=[chance.randint(400, 999) for _ in range(3_000)]
    )
    draft, job = drafted(table.drop(columns="patient_id"))
    assert job["attributes"]["pidnum"] == {"role": "identifying"}
    assert job["attributes"]["weight"]["role"] == "quasi-identifying"
    assert "pidnum: {role: identifying}  # looks like numbers of a person or record" in draft.text
    _, job = drafted(table.drop(columns="patient_id").rename(columns={"pidnum": "lfd"}))
    assert job["attributes"]["lfd"] == {"role": "identifying"}


def test_a_column_of_one_value_takes_no_place_among_those_to_generalize():
    draft, job = drafted(patients().assign(site_code=7))
    assert job["attributes"]["site_code"] == {"role": "identifying"}
    assert "one value in all records" in draft.text


def test_age_and_sex_stay_where_a_table_has_too_many_known_columns():
    """The last column of 20, which the draft left out for the insurances before it."""
    chance = random.Random(3)
    frame = pd.DataFrame({f"Insurance {number}": [chance.choice("yn") for _ in range(60_000)] for number in range(19)})
    frame["Sex"] = [chance.choice("fm") for _ in range(60_000)]
    made = yaml.safe_load(draft_job(frame, name="survey", source=SOURCE, output=OUTPUT).text)["attributes"]
    quasi = [name for name, settings in made.items() if settings["role"] == "quasi-identifying"]
    assert len(quasi) == 12
    assert "Sex" in quasi


def test_words_fit_one():
    draft, _ = drafted(pd.DataFrame({"ward": ["a", None] * 20, "sex": ["f", "m"] * 20}))
    assert "# text, 1 distinct value\n" in draft.text
    days = {name: ["2024-03-01"] for name in ("born", "admitted", "seen", "discharged")}
    draft, _ = drafted(pd.DataFrame({"zip": ["02139"], **days}))
    assert "left out: 1 row carries 3 columns" in draft.text

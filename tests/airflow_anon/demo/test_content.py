"""The rows hang together, and look like a hospital network's."""

from __future__ import annotations

import datetime as dt
import itertools
import re
from collections import Counter

import pytest
from sqlalchemy import text

PERSONS = 20_000


def rows(engine, query):
    with engine.connect() as connection:
        return connection.execute(text(query)).all()


def number(engine, query):
    return rows(engine, query)[0][0]


@pytest.fixture(scope="module")
def diagnoses(warehouse):
    """Give (code, gender, age at the visit by the year alone, whether inpatient) of every condition."""
    return rows(
        warehouse,
        "SELECT c.condition_source_value, p.gender_source_value,"
        " CAST(substr(c.condition_start_date, 1, 4) AS INTEGER) - p.year_of_birth, v.visit_source_value"
        " FROM condition_occurrence c JOIN person p ON p.person_id = c.person_id"
        " JOIN visit_occurrence v ON v.visit_occurrence_id = c.visit_occurrence_id",
    )


@pytest.mark.parametrize(
    ("table", "column", "parent"),
    [
        ("person", "location_id", "location"),
        ("patient_identity", "person_id", "person"),
        ("person_summary", "person_id", "person"),
        ("death", "person_id", "person"),
        ("visit_occurrence", "person_id", "person"),
        ("condition_occurrence", "person_id", "person"),
        ("condition_occurrence", "visit_occurrence_id", "visit_occurrence"),
        ("stay_summary", "visit_occurrence_id", "visit_occurrence"),
    ],
)
def test_every_reference_is_met(warehouse, table, column, parent):
    total = number(warehouse, f"SELECT count(*) FROM {table}")
    met = number(warehouse, f"SELECT count(*) FROM {table} t JOIN {parent} p ON p.{column} = t.{column}")
    assert total == met > 0


def test_a_condition_belongs_to_the_person_of_its_visit_and_lies_within_it(warehouse):
    joined = "FROM condition_occurrence c JOIN visit_occurrence v ON v.visit_occurrence_id = c.visit_occurrence_id"
    assert number(warehouse, f"SELECT count(*) {joined} WHERE c.person_id <> v.person_id") == 0
    outside = "c.condition_start_date NOT BETWEEN v.visit_start_date AND v.visit_end_date"
    assert number(warehouse, f"SELECT count(*) {joined} WHERE {outside}") == 0


def test_every_visit_has_exactly_one_principal_diagnosis(warehouse):
    query = (
        "SELECT count(*) FROM visit_occurrence v WHERE 1 <> (SELECT count(*) FROM condition_occurrence c WHERE"
        " c.visit_occurrence_id = v.visit_occurrence_id AND c.condition_status_source_value = 'principal')"
    )
    assert number(warehouse, query) == 0


def test_nothing_happens_before_birth_after_death_or_outside_the_years(warehouse):
    joined = (
        "FROM visit_occurrence v JOIN person p ON p.person_id = v.person_id"
        " LEFT JOIN death d ON d.person_id = v.person_id"
    )
    for wrong in (
        "v.visit_start_date < substr(p.birth_datetime, 1, 10)",
        "v.visit_end_date > d.death_date",
        "v.visit_end_date < v.visit_start_date",
        "v.visit_start_date < '2023-01-01' OR v.visit_end_date > '2025-12-31'",
    ):
        assert number(warehouse, f"SELECT count(*) {joined} WHERE {wrong}") == 0
    assert (
        number(warehouse, "SELECT count(*) FROM death WHERE death_date NOT BETWEEN '2023-01-01' AND '2025-12-31'") == 0
    )


def test_parts_of_the_birth_date_agree(warehouse):
    query = "SELECT year_of_birth, month_of_birth, day_of_birth, birth_datetime FROM person"
    for *parts, moment in rows(warehouse, query):
        assert dt.datetime.fromisoformat(moment).timetuple()[:6] == (*parts, 0, 0, 0)


def test_record_and_ssn_like_numbers_are_unique_and_of_no_real_person(warehouse):
    people = rows(warehouse, "SELECT mrn, ssn, email, phone FROM patient_identity")
    assert len({mrn for mrn, *_ in people}) == len({ssn for _, ssn, *_ in people}) == PERSONS
    mails = [mail for *_, mail, _ in people if mail]
    assert len(set(mails)) == len(mails)
    assert all(mail.endswith("@example.org") for mail in mails)
    assert all(re.fullmatch(r"MRN-\d{8}", mrn) for mrn, *_ in people)
    assert all(re.fullmatch(r"9\d\d-\d\d-\d{4}", ssn) for _, ssn, *_ in people)
    assert all(re.fullmatch(r"\d{3}-555-\d{4}", phone) for *_, phone in people if phone)
    numbers = [int(mrn[4:]) for mrn, *_ in people]
    # In a random order about half of the neighbours rise.
    rising = sum(a < b for a, b in itertools.pairwise(numbers)) / PERSONS
    assert 0.45 < rising < 0.55
    assert number(warehouse, "SELECT count(*) FROM person p JOIN patient_identity i ON i.mrn = p.person_source_value "
                             "AND i.person_id = p.person_id") == PERSONS  # fmt: skip


def test_ages_follow_a_population_pyramid_with_centenarians(warehouse):
    ages = [age for (age,) in rows(warehouse, "SELECT age_in_years FROM person_summary")]
    assert min(ages) == 0
    assert 97 <= max(ages) <= 105
    # Shares of the 2020 census: under 18 22 %, 65 and over 17 %, 85 and over 2 %.
    assert 0.18 < sum(age < 18 for age in ages) / PERSONS < 0.26
    assert 0.14 < sum(age >= 65 for age in ages) / PERSONS < 0.23
    assert 0.012 < sum(age >= 85 for age in ages) / PERSONS < 0.03


def test_the_old_die_more_often(warehouse):
    query = (
        "SELECT age_in_years >= 80, avg(CASE WHEN d.person_id IS NULL THEN 0.0 ELSE 1.0 END)"
        " FROM person_summary s LEFT JOIN death d ON d.person_id = s.person_id GROUP BY 1"
    )
    younger, older = (share for _, share in sorted(rows(warehouse, query)))
    assert older > 5 * younger > 0


def test_about_one_or_two_percent_are_missing(warehouse):
    for query in (
        "SELECT avg(race_source_value IS NULL) FROM person",
        "SELECT avg(ethnicity_source_value IS NULL) FROM person",
        "SELECT avg(zip IS NULL) FROM location",
        "SELECT avg(main_condition_source_value IS NULL) FROM person_summary",
    ):
        assert 0.005 < number(warehouse, query) < 0.025


def test_population_of_zip_codes_is_heavy_tailed(warehouse):
    joined = "FROM person p JOIN location l ON l.location_id = p.location_id WHERE l.zip IS NOT NULL"
    people = sorted((n for (n,) in rows(warehouse, f"SELECT count(*) {joined} GROUP BY l.zip")), reverse=True)
    total = sum(people)
    # With an even spread the first percent of the codes would hold one percent of the people.
    assert sum(people[: len(people) // 100]) / total > 0.10
    # Below five people no code can be released at k = 5.
    assert sum(n < 5 for n in people) / len(people) > 0.30


def test_race_depends_on_the_region(warehouse):
    query = (
        "SELECT substr(l.zip, 1, 3), avg(p.race_source_value = 'American Indian or Alaska Native') FROM person p"
        " JOIN location l ON l.location_id = p.location_id GROUP BY 1"
    )
    share = dict(rows(warehouse, query))
    # Gallup, New Mexico, beside the Navajo Nation; and Boston.
    assert share["873"] > 0.4
    assert share["021"] < 0.03


def test_every_diagnosis_is_a_leaf_of_the_classification(diagnoses):
    import simple_icd_10_cm as icd  # noqa: PLC0415 (reads 10 MB of XML)

    for code in {code for code, *_ in diagnoses}:
        assert icd.is_valid_item(code)
        assert icd.is_leaf(code)
        assert re.fullmatch(r"[A-Z]\d[0-9A-Z](\.[0-9A-Z]{1,4})?", code)


def test_few_diagnoses_are_common_and_many_are_rare(diagnoses):
    counts = sorted(Counter(code for code, *_ in diagnoses).values(), reverse=True)
    assert sum(counts[: len(counts) // 20]) > 0.4 * sum(counts)
    assert sum(count <= 2 for count in counts) > 0.4 * len(counts)


def test_pregnancy_only_in_women_of_child_bearing_age(diagnoses):
    pregnant = [(gender, age) for code, gender, age, _ in diagnoses if code.startswith("O")]
    assert len(pregnant) > 100
    assert {gender for gender, _ in pregnant} == {"F"}
    # Ages here may be one too high: they are by the year alone.
    assert min(age for _, age in pregnant) >= 15
    assert max(age for _, age in pregnant) <= 45


def test_perinatal_conditions_only_in_infants(diagnoses):
    ages = [age for code, _, age, _ in diagnoses if code.startswith(("P", "Z38"))]
    assert len(ages) > 50
    assert set(ages) <= {0, 1}


def test_examinations_of_children_only_in_children(diagnoses):
    ages = [age for code, _, age, _ in diagnoses if code.startswith(("Z00.12", "Z00.2", "Z00.3"))]
    assert len(ages) > 20
    assert max(ages) <= 15


def test_organs_of_one_sex(diagnoses):
    male = [gender for code, gender, *_ in diagnoses if code.startswith(("C61", "N40"))]
    female = [gender for code, gender, *_ in diagnoses if code.startswith(("C53", "C54", "C56", "N80", "N92"))]
    assert set(male) == {"M"}
    assert set(female) == {"F"}
    breast = Counter(gender for code, gender, *_ in diagnoses if code.startswith("C50"))
    assert breast["F"] > 20 * breast["M"]


@pytest.mark.parametrize("letters", ["C", "I"])
def test_cancer_and_circulatory_diseases_rise_with_age(diagnoses, letters):
    young = [code.startswith(letters) for code, _, age, _ in diagnoses if 15 <= age < 40]
    old = [code.startswith(letters) for code, _, age, _ in diagnoses if age >= 70]
    assert sum(old) / len(old) > 3 * sum(young) / len(young) > 0


def test_length_of_stay_has_a_long_tail(warehouse):
    stays = sorted(days for (days,) in rows(warehouse, "SELECT length_of_stay FROM stay_summary"))
    assert len(stays) > 1000
    assert min(stays) >= 0
    median, mean = stays[len(stays) // 2], sum(stays) / len(stays)
    assert 2 <= median <= 5
    assert mean > 1.2 * median
    assert 60 <= max(stays) <= 180


def test_old_people_stay_longer(warehouse):
    query = "SELECT age_in_years >= 75, avg(length_of_stay) FROM stay_summary WHERE age_in_years >= 15 GROUP BY 1"
    younger, older = (mean for _, mean in sorted(rows(warehouse, query)))
    assert older > 1.2 * younger


def test_expired_means_the_stay_ended_with_death(warehouse):
    joined = (
        "FROM visit_occurrence v LEFT JOIN death d ON d.person_id = v.person_id AND d.death_date = v.visit_end_date"
    )
    query = (
        "SELECT count(*), sum(v.discharged_to_source_value = 'expired'), sum(d.person_id IS NOT NULL),"
        f" sum(v.discharged_to_source_value = 'expired' AND d.person_id IS NOT NULL) {joined}"
        " WHERE v.visit_source_value <> 'outpatient'"
    )
    total, expired, died, both = rows(warehouse, query)[0]
    assert 0 < expired == died == both < total

"""Simulated populations: totals, skew, small areas; and ZIP codes drawn from them, person by person."""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.errors import InvalidData, InvalidJob
from engine.frontiers.simulated_population import population, with_zip, write_population
from engine.frontiers.simulated_population.__main__ import main
from engine.frontiers.simulated_population.generator import zip_codes
from engine.frontiers.simulated_population.shapes import RACES, SEXES, SHAPES, STATES, Shape
from tests.profiles import spread, thorough

PERSONS = 150_000


def rows_of(table):
    """Return the people of each tuple of zip, age, sex and race."""
    names = ["zip", "age", "sex", "race", "persons"]
    return {row[:4]: row[4] for row in zip(*(table[name].to_pylist() for name in names), strict=True)}


def totals(people, key):
    """Sum people by something of their tuple."""
    found = Counter()
    for person, count in people.items():
        found[key(person)] += count
    return found


@pytest.fixture(scope="module")
def simulated():
    return {shape: rows_of(population(shape, PERSONS, 7)) for shape in SHAPES}


def test_there_are_the_ten_states_of_the_paper():
    assert sorted(STATES) == ["HI", "IL", "MA", "MN", "NY", "OH", "PA", "TN", "WA", "WI"]


@pytest.mark.parametrize("shape", SHAPES)
def test_everybody_is_somewhere_and_of_some_age_sex_and_race(shape, simulated):
    people = simulated[shape]
    assert sum(people.values()) == PERSONS
    assert min(people.values()) >= 1
    described = SHAPES[shape]
    assert sum(described.races) == pytest.approx(1.0)
    for code, age, sex, race in people:
        assert len(code) == 5
        assert int(code[:3]) in described.areas
        assert 0 <= age <= 120
        assert sex in SEXES
        assert race in RACES
    codes = {person[0] for person in people}
    assert 0.8 * described.zips < len(codes) <= described.zips
    assert {int(code[:3]) for code in codes} == set(described.areas)
    assert set(range(17, 91)) <= {person[1] for person in people}


@given(st.integers(0, 2**32))
def test_every_area_has_a_zip_code(seed):
    shape = Shape(100, 4, range(40, 43), SHAPES["urban"].races, small_areas=(41,))
    codes = zip_codes(shape, np.random.default_rng(seed)).tolist()
    assert codes == sorted(set(codes))
    assert len(codes) == 4
    assert {code // 100 for code in codes} == {40, 41, 42}


@pytest.mark.parametrize("shape", SHAPES)
def test_rows_are_sorted_and_distinct(shape):
    table = population(shape, 5_000, 3)
    rows = list(rows_of(table))
    assert len(rows) == table.num_rows
    assert rows == sorted(rows)


@pytest.mark.parametrize("shape", SHAPES)
def test_few_zip_codes_hold_most_people_and_races_differ_between_them(shape, simulated):
    people = simulated[shape]
    by_zip = totals(people, lambda person: person[0])
    largest = sorted(by_zip.values(), reverse=True)
    assert sum(largest[: len(largest) // 4]) > PERSONS / 2
    white = totals({person: count for person, count in people.items() if person[3] == "White"}, lambda one: one[0])
    share = sum(white.values()) / PERSONS
    # if race did not depend on the ZIP code, a term had the expectation 1
    terms = [
        (white[code] - share * count) ** 2 / (share * (1 - share) * count)
        for code, count in by_zip.items()
        if count > 50
    ]
    assert sum(terms) / len(terms) > 5


@pytest.mark.parametrize("shape", spread(["urban", "hawaii", "rural", "MN", "NY"], 1))
def test_small_areas_are_restricted_whatever_the_size_of_the_state(shape, simulated):
    small = SHAPES[shape].small_areas
    assert small
    for people in (simulated[shape], rows_of(population(shape, 2_000_000, 5))):
        by_area = totals(people, lambda person: int(person[0][:3]))
        assert all(by_area[area] <= 20_000 for area in small)
    assert max(by_area.values()) > 20_000


def test_hawaii_is_mostly_asian_and_the_mainland_mostly_white():
    for shape, race in (
        ("hawaii", "Asian-Pac-Islander"),
        ("HI", "Asian-Pac-Islander"),
        ("TN", "White"),
        ("WI", "White"),
    ):
        by_race = Counter()
        for seed in range(5 if thorough() else 2):
            by_race += totals(rows_of(population(shape, 50_000, seed)), lambda person: person[3])
        assert by_race.most_common(1)[0][0] == race


def test_the_old_are_few_and_mostly_women(simulated):
    for people in simulated.values():
        by_age = totals(people, lambda person: person[1])
        assert by_age[95] < by_age[85] < by_age[60]
        old = totals({p: c for p, c in people.items() if p[1] >= 85}, lambda person: person[2])
        assert old["Female"] > 1.1 * old["Male"]


def test_the_seed_decides_alone(tmp_path):
    for name in ("a.csv", "b.csv", "c.csv"):
        write_population(tmp_path / name, "rural", 20_000, 2 if name == "c.csv" else 1)
    a, b, c = ((tmp_path / name).read_bytes() for name in ("a.csv", "b.csv", "c.csv"))
    assert a == b
    assert a != c


@pytest.mark.parametrize("name", ["people.csv", "people.parquet"])
def test_what_is_written_is_what_was_simulated(name, tmp_path):
    assert main(["--shape", "MA", "--persons", "5000", "--seed", "4", str(tmp_path / name)]) == 0
    if name.endswith(".csv"):
        types = pa.csv.ConvertOptions(column_types={"zip": pa.string()})
        found = pa.csv.read_csv(tmp_path / name, convert_options=types)
    else:
        found = pa.parquet.read_table(tmp_path / name)
    assert found.column_names == ["zip", "age", "sex", "race", "persons"]
    assert rows_of(found) == rows_of(population("MA", 5_000, 4))
    assert any(person[0].startswith("0") for person in rows_of(found))


def test_arguments_out_of_range(tmp_path, capsys):
    with pytest.raises(InvalidJob, match=r"'suburban'.*urban"):
        population("suburban")
    with pytest.raises(InvalidJob, match="persons"):
        population("urban", 0)
    with pytest.raises(InvalidJob, match="seed"):
        population("urban", 10, -1)
    with pytest.raises(InvalidJob, match="folder"):
        write_population(tmp_path / "nowhere" / "x.csv", "urban")
    assert main([str(tmp_path / "people.xlsx")]) == InvalidJob.exit_code
    assert "end in .csv or .parquet" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


PEOPLE = st.dictionaries(
    st.tuples(
        st.sampled_from(["00001", "00002", "90001"]),
        st.integers(30, 32),
        st.sampled_from(SEXES),
        st.sampled_from(RACES[:2]),
    ),
    st.integers(1, 4),
    min_size=1,
    max_size=12,
)
PERSON = st.tuples(st.integers(30, 33), st.sampled_from(SEXES), st.sampled_from(RACES[:3]))


def people_table(people):
    columns = [*zip(*people, strict=True), tuple(people.values())]
    names = ["zip", "age", "sex", "race", "persons"]
    return pa.table(dict(zip(names, map(list, columns), strict=True)))


def record_table(records):
    ages, sexes, races = map(list, zip(*records, strict=True))
    return pa.table({"sex": sexes, "age": pa.array(map(str, ages)), "race": races})


@settings(deadline=None)
@given(PEOPLE, st.lists(PERSON, min_size=1, max_size=25), st.integers(0, 3))
def test_a_record_gets_the_zip_code_of_a_person_like_it_and_no_two_of_the_same_person(people, records, seed):
    if sum(people.values()) < len(records):
        with pytest.raises(InvalidData, match=f"{sum(people.values())} people"):
            with_zip(record_table(records), people_table(people), seed)
        return
    found = with_zip(record_table(records), people_table(people), seed)
    assert found.select(["sex", "age", "race"]).equals(record_table(records))
    drawn = list(zip(found["zip"].to_pylist(), records, strict=True))
    by_zip = totals(people, lambda person: person[0])
    assert all(count <= by_zip[code] for code, count in Counter(code for code, _ in drawn).items())
    # of each kind of record as many get a ZIP code where somebody is like them as there are such people
    wanted = Counter(records)
    for person, count in wanted.items():
        here = {code: people.get((code, *person), 0) for code in by_zip}
        got = Counter(code for code, one in drawn if one == person)
        assert sum(min(got[code], here[code]) for code in by_zip) >= min(count, sum(here.values()))


@settings(deadline=None)
@given(PEOPLE, st.integers(0, 3))
def test_records_of_all_people_live_where_the_people_do(people, seed):
    records = [person[1:] for person, count in people.items() for _ in range(count)]
    found = with_zip(record_table(records), people_table(people), seed)
    assert Counter(zip(found["zip"].to_pylist(), records, strict=True)) == Counter(
        {(person[0], person[1:]): count for person, count in people.items()}
    )


def test_zip_codes_are_drawn_by_their_people():
    people = {("00001", 30, "Male", "White"): 90_000, ("00002", 30, "Male", "White"): 10_000}
    found = with_zip(record_table([(30, "Male", "White")] * 1_000), people_table(people), 1)
    # the standard deviation of the number is below ten
    assert abs(found["zip"].to_pylist().count("00001") - 900) < 50


def test_a_record_that_nobody_is_like_lives_with_people_of_its_sex_and_race():
    people = defaultdict(int)
    for code, sex, race in (("00001", "Male", "White"), ("00002", "Female", "White"), ("00003", "Male", "Black")):
        people[code, 30, sex, race] = 5
    wanted = {("Male", "White"): "00001", ("Female", "White"): "00002", ("Male", "Black"): "00003"}
    records = [(99, *like) for like in wanted for _ in range(4)] + [(99, "Female", "Black")]
    expected = [code for code in wanted.values() for _ in range(4)] + ["00003"]
    assert with_zip(record_table(records), people_table(people), 1)["zip"].to_pylist() == expected


@pytest.mark.parametrize("missing", ["age", "sex", "race"])
def test_a_table_without_a_column_is_refused(missing):
    table = record_table([(30, "Male", "White")]).drop_columns([missing])
    with pytest.raises(InvalidData, match=f"table: lacks the columns '{missing}'"):
        with_zip(table, population("hawaii", 100), 1)


def test_a_table_with_zip_codes_is_refused():
    table = record_table([(30, "Male", "White")])
    once = with_zip(table, population("hawaii", 100), 1)
    with pytest.raises(InvalidData, match="'zip' already"):
        with_zip(once, population("hawaii", 100), 1)

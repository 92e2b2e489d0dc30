"""ZIP codes: the three-digit rule of Safe Harbor, on figures that the Census Bureau and the guidance publish."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import engine.hierarchy.builders
from engine.errors import InvalidData, InvalidJob
from engine.hierarchy.builders.zip import Zip
from engine.hierarchy.hierarchy import Hierarchy

ALL_AREAS = [f"{number:03}" for number in range(1000)]
GUIDANCE_2000 = "036 059 063 102 203 556 692 790 821 823 830 831 878 879 884 890 893"
SMALL_2020 = "036 059 102 202 203 204 205 369 556 692 753 772 821 823 878 879 884 893"
TABLE = Path(engine.hierarchy.builders.__file__).with_name("zip_areas_2020.csv")


@pytest.fixture(scope="module")
def populations():
    """People of each area of the table, read without the code under test."""
    lines = TABLE.read_text(encoding="ascii").splitlines()
    return {line[:3]: int(line[4:]) for line in lines if not line.startswith("#")}


@pytest.fixture
def write(tmp_path):
    def make(content: str | bytes) -> str:
        path = tmp_path / "people.csv"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return str(path)

    return make


def restricted(builder) -> set[str]:
    return {row[0][:3] for row in builder.rows([f"{area}01" for area in ALL_AREAS]) if row[2] == "000"}


@pytest.mark.parametrize(
    ("code", "row"),
    [
        ("02139", ("0213", "021", "0", "*")),
        ("02139-4307", ("0213", "021", "0", "*")),
        ("021394307", ("0213", "021", "0", "*")),
        ("89101", ("8910", "891", "8", "*")),
        ("82190", ("8219", "000", "000", "*")),  # Yellowstone
        ("09012", ("0901", "000", "000", "*")),  # military mail: nobody is counted there
        ("00000", ("0000", "000", "000", "*")),
    ],
)
def test_five_four_three_and_one_digit(build, rows_of, code, row):
    assert rows_of(build(builder="zip"), [code]) == [(code, *row)]


def test_only_zip_codes_have_rows(build, rows_of):
    wrong = ["", "*", "2139", "021390", "02139-", "02139-430", "0213-94307", " 02139", "02139\n", "0213a", "02139 4307"]
    wrong += ["\u0660\u0662\u0661\u0663\u0669", "-2139", "000", "0213*", "601"]
    builder = build(builder="zip")
    assert rows_of(builder, wrong) == []
    assert not any(builder.is_label(text, 0) for text in wrong)


def test_lost_zeros_are_restored_on_demand(build, rows_of):
    builder = build(builder="zip", pad=True)
    assert rows_of(builder, ["2139", "601", "02139", "3601", "21", "2139-4307"]) == [
        ("2139", "0213", "021", "0", "*"),
        ("601", "0060", "006", "0", "*"),
        ("02139", "0213", "021", "0", "*"),
        ("3601", "0360", "000", "000", "*"),
    ]


def test_the_guidance_lists_seventeen_areas_by_the_census_of_2000(build, populations):
    small = set(GUIDANCE_2000.split())
    assert len(small) == 17
    assert restricted(build(builder="zip", census=2000)) == small | (set(ALL_AREAS) - populations.keys())


@pytest.mark.parametrize("census", [2010, 2020])
def test_small_areas_and_areas_that_nobody_counted_are_restricted(build, populations, census):
    assert {area for area, people in populations.items() if people <= 20_000} == set(SMALL_2020.split())
    expected = {area for area in ALL_AREAS if populations.get(area, 0) <= 20_000}
    assert restricted(build(builder="zip", census=census)) == expected


def test_the_table_of_2020_adds_up_to_the_census(populations):
    """Where areas follow the borders of a state they give its census count to the last person."""

    def people(first: int, last: int) -> int:
        return sum(populations.get(f"{number:03}", 0) for number in range(first, last + 1))

    assert people(200, 200) + people(202, 205) == 689_545  # District of Columbia
    assert people(50, 59) == 643_077  # Vermont
    assert people(70, 89) == 9_288_994  # New Jersey
    assert people(150, 196) == 13_002_700  # Pennsylvania
    # ZIP areas leave out a few blocks: the count of the 50 states, the District of Columbia and Puerto Rico
    assert people(0, 999) == pytest.approx(331_449_281 + 3_285_874, rel=1e-4)


def test_a_project_may_give_its_own_populations(build, rows_of, write):
    path = write("\ufeff# prefix;population\r\n021;20001\r\n\r\n022;20000\n123; 5\n".replace("; ", ";"))
    builder = build(builder="zip", populations=path)
    assert [row[2] for row in rows_of(builder, ["02139", "02201", "12345", "89101"])] == ["021", "000", "000", "000"]
    fewer = build(builder="zip", populations=path, census=2000, smallest_population=4)
    assert [row[2] for row in rows_of(fewer, ["02139", "02201", "12345", "89101"])] == ["021", "022", "123", "000"]


def test_another_limit_counts_in_the_table_of_2020(build, populations):
    builder = build(builder="zip", smallest_population=100_000)
    assert restricted(builder) == {area for area in ALL_AREAS if populations.get(area, 0) <= 100_000}


def test_a_path_is_relative_to_the_job(tmp_path, write):
    write("021;30000\n")
    assert Zip(populations="people.csv").resolved(tmp_path).rows(["02139"]) == [("02139", "0213", "021", "0", "*")]
    assert Zip().resolved(tmp_path) == Zip()


def test_a_changed_file_is_read_anew(write):
    builder = Zip(populations=write("021;30000\n"))
    assert builder.is_label("021", 2)
    write("022;30000\n")
    os.utime(builder.populations, ns=(1, 1))
    assert [builder.is_label(area, 2) for area in ("021", "022")] == [False, True]


def test_labels_belong_to_their_level(build, write):
    builder = build(builder="zip", populations=write("021;30000\n022;30000\n987;30000\n123;5\n"))
    labels = ("02139", "02139-4307", "0213", "021", "123", "000", "0", "1", "9", "*", "021**", "", "36")
    assert {label: [level for level in range(5) if builder.is_label(label, level)] for label in labels} == {
        "02139": [0],
        "02139-4307": [0],
        "0213": [1],
        "021": [2],
        "123": [],
        "000": [2, 3],
        "0": [3],
        "1": [],
        "9": [3],
        "*": [4],
        "021**": [],
        "": [],
        "36": [],
    }


@pytest.mark.parametrize("census", [2000, 2010, 2020])
def test_labels_are_exactly_those_of_all_codes(build, census):
    builder = build(builder="zip", census=census)
    rows = builder.rows([f"{number:05}" for number in range(100_000)])
    Hierarchy("zip", rows)
    texts = ["", "*", *(f"{number:0{size}}" for size in range(1, 5) for number in range(10**size))]
    for level in range(1, 5):
        labels = {row[level] for row in rows}
        assert {text for text in texts if builder.is_label(text, level)} == labels


@given(
    codes=st.lists(st.from_regex(r"[0-9]{5}(-?[0-9]{4})?|[0-9]{3,4}", fullmatch=True), unique=True, max_size=20),
    pad=st.booleans(),
    limit=st.integers(0, 3_000_000),
)
def test_a_released_area_has_more_people_than_the_limit(build, rows_of, populations, codes, pad, limit):
    rows = rows_of(build(builder="zip", pad=pad, smallest_population=limit), codes)
    assert [row[0] for row in rows] == [code for code in codes if pad or len(code) >= 5]
    for code, four, area, region, _ in rows:
        five = code.replace("-", "").zfill(5)[:5]
        kept = populations.get(five[:3], 0) > limit
        assert (four, area, region) == (five[:4], five[:3] if kept else "000", five[0] if kept else "000")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("021;30000\nsecret;1\n", r"people\.csv: line 2 is not prefix;population, such as 021;1414778"),
        ("021;30000\n22;30000\n", r"line 2 is not prefix;population"),
        ("021;-1\n", r"line 1 is not prefix;population"),
        ("021,30000\n", r"line 1 is not prefix;population"),
        ("000;30000\n", r"three digits other than 000"),
        ("021;30000\n# secret\n021;1\n", r"line 3 repeats a prefix; list each prefix once"),
        ("# secret\n\n", r"is empty; it needs one line prefix;population for each area"),
        (b"021;3\xe4\n", r"cannot be read as UTF-8 text"),
    ],
)
def test_a_broken_file_is_told_by_line_and_not_by_value(write, content, message):
    with pytest.raises(InvalidData, match=message) as caught:
        Zip(populations=write(content)).rows([])
    assert "secret" not in str(caught.value)


def test_what_is_no_file_is_not_read(tmp_path):
    (tmp_path / "areas.csv").symlink_to("/dev/zero")
    with pytest.raises(InvalidJob, match=r"areas\.csv: not found; the path is relative to the job file"):
        Zip(populations=str(tmp_path / "areas.csv")).rows([])


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(InvalidJob, match=r"none\.csv: not found; the path is relative to the job file"):
        Zip(populations=str(tmp_path / "none.csv")).rows([])


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"census": 1990}, r"census.*2000, 2010 or 2020"),
        ({"smallest_population": -1}, r"smallest_population.*at least 0"),
        (
            {"census": 2010, "smallest_population": 10},
            re.escape(
                "smallest_population is 10; for the census of 2010 only the areas of 20000 people or fewer are known"
            ),
        ),
    ],
)
def test_a_bad_job_is_refused_by_key(build, keys, message):
    with pytest.raises(InvalidJob, match=message):
        build(builder="zip", **keys)

"""ATC: codes cut by length, on codes from the classification's own description."""

from __future__ import annotations

import itertools
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import InvalidJob
from engine.hierarchy.hierarchy import Hierarchy

MAIN_GROUPS = "ABCDGHJLMNPRSV"
CODES = st.builds(
    lambda code, length: code[:length],
    st.from_regex(rf"[{MAIN_GROUPS}][0-9]{{2}}[A-Z]{{2}}[0-9]{{2}}", fullmatch=True),
    st.sampled_from([1, 3, 4, 5, 7]),
)


@pytest.mark.parametrize(
    ("code", "row"),
    [
        ("A10BA02", ("A10BA", "A10B", "A10", "A", "*")),  # metformin, the guidelines' own example
        ("C09AA", ("C09AA", "C09A", "C09", "C", "*")),
        ("C09A", ("C09A", "C09A", "C09", "C", "*")),
        ("C09", ("C09", "C09", "C09", "C", "*")),
        ("C", ("C", "C", "C", "C", "*")),
        (" n02be01  ", ("N02BE", "N02B", "N02", "N", "*")),
    ],
)
def test_levels_are_lengths(build, rows_of, code, row):
    assert rows_of(build(builder="atc"), [code]) == [(code, *row)]


def test_levels_may_be_chosen(build, rows_of):
    builder = build(builder="atc", levels=["therapeutic-subgroup"])
    assert rows_of(builder, ["A10BA02", "A10", "A"]) == [
        ("A10BA02", "A10", "*"),
        ("A10", "A10", "*"),
        ("A", "A", "*"),
    ]


def test_only_well_formed_codes_have_rows(build, rows_of):
    wrong = ["", " ", "C0", "C09AA0", "C09AA020", "C09-AA02", "909AA02", "C09A102", "E11AA02", "QA10BA02", "C09AA02\n"]
    # a dotless i, a long s and Arabic digits have ASCII counterparts for careless code
    wrong += ["\u017f01AA01", "N02B\u0131", "C\u0660\u0669", "*", "C*"]
    builder = build(builder="atc")
    assert rows_of(builder, wrong) == []
    assert not any(builder.is_label(text, 0) for text in wrong)


def test_a_main_group_is_one_of_fourteen(build):
    builder = build(builder="atc")
    assert [letter for letter in string.ascii_uppercase if builder.is_label(letter, 4)] == list(MAIN_GROUPS)


@given(codes=st.lists(CODES, unique=True, max_size=20), lower=st.booleans(), data=st.data())
def test_every_label_starts_its_code_and_nests(build, rows_of, codes, lower, data):
    units = ["chemical-subgroup", "pharmacological-subgroup", "therapeutic-subgroup", "main-group"]
    levels = data.draw(
        st.lists(st.sampled_from(units), min_size=1, unique=True).map(lambda u: sorted(u, key=units.index))
    )
    written = [code.lower() for code in codes] if lower else codes
    rows = rows_of(build(builder="atc", levels=levels), written)
    assert [row[0] for row in rows] == written
    longest = {"chemical-subgroup": 5, "pharmacological-subgroup": 4, "therapeutic-subgroup": 3, "main-group": 1}
    for code, (_, *labels, _) in zip(codes, rows, strict=True):
        assert [len(label) for label in labels] == [min(len(code), longest[unit]) for unit in levels]
        assert all(code.startswith(label) for label in labels)


def test_labels_are_exactly_those_of_all_codes(build):
    """Every text of up to four characters over a few is tried at every level."""
    builder = build(builder="atc")
    characters = "CQ0*c "
    texts = ["".join(text) for size in range(5) for text in itertools.product(characters, repeat=size)]
    rows = builder.rows([*texts, "C00CC00", "C00CQ00", "C00QC00", "C00QQ00"])
    Hierarchy("drug", rows)
    for level in range(1, builder.level_count):
        labels = {row[level] for row in rows}
        assert {text for text in texts if builder.is_label(text, level)} == {text for text in texts if text in labels}


@pytest.mark.parametrize(
    ("levels", "message"),
    [
        ([], r"levels.*at least 1"),
        (
            ["main-group", "therapeutic-subgroup"],
            r"levels\.1 is 'therapeutic-subgroup'; it must be coarser than 'main-group', in the order chemical",
        ),
        (["substance"], r"levels\.0.*'chemical-subgroup'"),
    ],
)
def test_a_bad_job_is_refused_by_key(build, levels, message):
    with pytest.raises(InvalidJob, match=message):
        build(builder="atc", levels=levels)

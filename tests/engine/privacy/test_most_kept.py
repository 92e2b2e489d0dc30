"""What a model says that a class keeps at most, against every way to split small classes."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from engine.privacy.registry import AnyPrivacyModel
from tests.engine.privacy.test_t_closeness_bound import counted, parts
from tests.profiles import examples
from tests.reference.privacy import holds

THOROUGH = settings(deadline=None, max_examples=examples(200))
TREE = [(f"s{i}", f"s{i // 2}.", "any s") for i in range(4)]
LIMITS = st.sampled_from([0.1, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0])
MISSING = st.sampled_from(["value", "not-a-value"])


def diversity(variant, **parameters):
    fixed = {"model": "l-diversity", "attribute": "s", "variant": variant}
    return st.fixed_dictionaries({**{key: st.just(value) for key, value in fixed.items()}, **parameters})


MODELS = st.one_of(
    diversity("recursive", c=LIMITS, l=st.integers(2, 4), missing=MISSING),
    diversity("shannon-entropy", l=st.sampled_from([1.2, 2.0, 2.5, 3.0]), missing=MISSING),
    diversity("grassberger-entropy", l=st.sampled_from([1.2, 2.0, 3.0]), missing=MISSING),
    diversity("distinct", l=st.integers(2, 3), missing=MISSING),
    st.fixed_dictionaries(
        {
            "model": st.just("t-closeness"),
            "attribute": st.just("s"),
            "distance": st.sampled_from(["equal", "ordered", "hierarchical"]),
            "t": st.sampled_from([0.1, 0.2, 0.25, 0.4, 0.5]),
        }
    ),
    st.fixed_dictionaries(
        {
            "model": st.just("beta-likeness"),
            "attribute": st.just("s"),
            "variant": st.sampled_from(["basic", "enhanced"]),
            "beta": LIMITS,
        }
    ),
    st.fixed_dictionaries(
        {
            "model": st.just("delta-disclosure-privacy"),
            "attribute": st.just("s"),
            "delta": LIMITS,
            "strict": st.booleans(),
        }
    ),
)


@st.composite
def split_classes(draw):
    """Draw classes, each of several parts; values may be missing."""
    value = st.sampled_from([row[0] for row in TREE] + [None])
    part = st.lists(value, min_size=1, max_size=6)
    return draw(st.lists(st.lists(part, min_size=1, max_size=5), min_size=1, max_size=3))


def model_of(described):
    return TypeAdapter(AnyPrivacyModel).validate_python(described)


@THOROUGH
@given(split_classes(), MODELS, st.integers(1, 4))
def test_the_parts_of_a_class_that_satisfy_a_model_have_no_more_records_than_it_keeps(drawn, described, least):
    classes = [[value for part in of_class for value in part] for of_class in drawn]
    table = [value for members in classes for value in members]
    model = model_of(described)
    kept = model.most_kept(counted(classes, TREE), least).tolist()
    for most, of_class, members in zip(kept, drawn, classes, strict=True):
        satisfying = [part for part in of_class if len(part) >= least and holds(part, table, model.model_dump(), TREE)]
        assert sum(map(len, satisfying)) <= most <= len(members)
        assert most >= least or most == 0
        if not model.looks_inside:
            assert most == (len(members) if len(members) >= least else 0)


@THOROUGH
@given(
    st.lists(st.sampled_from(["s0", "s0", "s0", "s1", "s1", "s2", "s3"]), min_size=1, max_size=14),
    LIMITS,
    st.integers(2, 4),
)
def test_what_recursive_diversity_keeps_is_its_largest_part(members, c, l):  # noqa: E741 (the model's own name)
    model = model_of({"model": "l-diversity", "variant": "recursive", "attribute": "s", "c": c, "l": l})
    largest = max((len(part) for part in parts(members) if holds(part, members, model.model_dump())), default=0)
    assert model.most_kept(counted([members], TREE), 1).tolist() == [largest]


@THOROUGH
@given(st.lists(st.integers(0, 9), min_size=4, max_size=4).filter(any), st.sampled_from([1.5, 2.0, 3.0, 3.9]))
def test_what_entropy_keeps_is_less_than_cut_off_one_further(counts, number):
    members = [value for (value, *_), count in zip(TREE, counts, strict=True) for _ in range(count)]
    model = model_of({"model": "l-diversity", "variant": "shannon-entropy", "attribute": "s", "l": number})

    def is_even(h):
        cut = [min(count, h) for count in counts if count]
        total = sum(cut)
        entropy = -sum(part / total * math.log(part / total) for part in cut)
        return len(cut) >= number and entropy >= math.log(number) - 1e-9

    even = [h for h in range(1, max(counts) + 1) if is_even(h)]
    if not even:
        expected = 0
    elif even[-1] == max(counts):
        expected = len(members)
    else:
        expected = sum(min(count, even[-1] + 1) for count in counts) - 1
    assert model.most_kept(counted([members], TREE), 1).tolist() == [expected]


@THOROUGH
@given(split_classes(), st.sampled_from(["basic", "enhanced"]), LIMITS)
def test_what_likeness_keeps_is_the_most_that_limited_shares_sum_up_to(drawn, variant, beta):
    classes = [[value for part in of_class for value in part] for of_class in drawn]
    table = [value for members in classes for value in members]
    model = model_of({"model": "beta-likeness", "attribute": "s", "variant": variant, "beta": beta})

    def most(members, spare):
        held, records = Counter(members), Counter(table)
        limits = {}
        for value in held:
            share = Fraction(records[value], len(table))
            gain = min(beta, -math.log(share)) if variant == "enhanced" else beta
            limits[value] = share * (1 + Fraction(gain)) * spare
        sizes = range(1, len(members) + 1)
        return max((n for n in sizes if sum(min(held[v], limits[v] * n) for v in held) >= n * (2 - spare)), default=0)

    kept = model.most_kept(counted(classes, TREE), 1).tolist()
    for found, members in zip(kept, classes, strict=True):
        assert most(members, Fraction(1)) <= found <= most(members, 1 + Fraction(1, 10**6))


@pytest.mark.parametrize(
    ("described", "expected"),
    [
        # of 8 and 2 records at most 2/2 of 2 and 2 are alike; three quarters of the table are s0
        ({"model": "l-diversity", "variant": "recursive", "c": 2.0, "l": 2}, 5),
        ({"model": "l-diversity", "variant": "recursive", "c": 5.0, "l": 2}, 10),
        ({"model": "l-diversity", "variant": "recursive", "c": 5.0, "l": 3}, 0),
        ({"model": "l-diversity", "variant": "shannon-entropy", "l": 2.0}, 4),
        # a share of s0 of at most 5/8 + 1/10: with all 2 of s1 there are 7.27 records, 5.27 of them s0
        ({"model": "t-closeness", "distance": "equal", "t": 0.1}, 7),
        # s0 at most 11/10 of 5/8, so 6.4 records with 2 of s1
        ({"model": "beta-likeness", "variant": "basic", "beta": 0.1}, 6),
    ],
)
def test_ten_records_of_two_values_beside_six_of_the_table(described, expected):
    classes = [["s0"] * 8 + ["s1"] * 2, ["s0"] * 2 + ["s1"] * 4]
    kept = model_of({**described, "attribute": "s"}).most_kept(counted(classes, TREE), 1)
    assert kept[0] == expected

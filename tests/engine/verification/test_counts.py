"""The words of a finding depend on the job alone: whatever an output counts is data."""

from __future__ import annotations

import pyarrow as pa
import pytest

from engine import recount
from tests.counted import counts_of, numbers_of, words_of
from tests.engine.verification.verified import closeness, disclosure, diversity, letters, likeness, released

MODELS = [
    {"model": "k-anonymity", "k": 40},
    {"model": "k-map", "k": 400, "population": "people.csv"},
    diversity("distinct", l=9),
    diversity("shannon-entropy", l=9),
    diversity("grassberger-entropy", l=9),
    diversity("recursive", c=0.001, l=2),
    closeness("equal", 0.001),
    closeness("ordered", 0.001),
    disclosure(0.001),
    likeness("basic", 0.001),
    {"model": "delta-presence", "delta_min": 0.01, "delta_max": 0.02, "subset": "subset.csv"},
    {"model": "average-risk", "threshold": 0.001},
    {"model": "sample-uniqueness", "threshold": 0.001},
    {"model": "population-uniqueness", "threshold": 0.001, "sampling_fraction": 0.5, "estimator": "zayatz"},
]


def told(model, classes, people):
    """Recount a model on an output, beside a population that has some people whom no record is of."""
    there = released({label: values for label, values in classes.items() if label != "*"})
    labels = [*classes, *(f"q{i}" for i in range(people))]
    sizes = [len(values) for values in classes.values()] + [1] * people
    released_ones = [len(values) for values in classes.values()] + [0] * people
    population = pa.table({"q": labels, "people": [2 * size for size in sizes], "released": released_ones})
    return recount(released(classes), ["q"], model, kept=there, population=population)


@pytest.mark.parametrize("model", MODELS, ids=[f"{model['model']} {model.get('variant', '')}" for model in MODELS])
def test_another_output_changes_the_counts_and_no_word(model):
    few = told(model, {"A": letters(3, 1), "B": letters(1, 5), "C": ["a"]}, people=2)
    more = told(model, {"A": letters(2, 2), "B": letters(7, 6), "C": ["a"], "D": ["b"], "E": letters(1, 13)}, people=3)
    assert not few.holds
    assert not more.holds
    assert words_of(few.message.parts) == words_of(more.message.parts)
    assert counts_of(few.message.parts) != counts_of(more.message.parts)
    assert numbers_of(few.message) != numbers_of(words_of(few.message.parts))

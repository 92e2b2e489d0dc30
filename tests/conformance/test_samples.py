"""Samples of real tables with any models and measures: the default search against each transformation by itself.

Tables of a few hundred to some thousand records reach what the random ones of `tests.engine.strategies` are too small
for: boxes of many transformations, bounds far from each other, rows that are let go of to save memory.
"""

from __future__ import annotations

import csv
import functools
import random
from dataclasses import replace
from unittest import mock

import pyarrow as pa
import pyarrow.csv
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.shared_tables import ORDERED_AS, SENSITIVE
from engine import load_job
from engine.job.counting import count
from engine.job.problem import problem_of
from engine.search.algorithms import optimal
from engine.search.algorithms.depth_first import depth_first
from engine.tables.sources.source import open_data
from engine.utility.information_loss import leading
from tests.conformance.test_vectors import SHARED
from tests.profiles import examples
from tests.reference.utility import ATTRIBUTE_WISE, CLASS_WISE

TABLES = ("adult", "cup", "fars")
MOST = 900
"""Transformations of a problem, since each of them is checked."""
MODELS = {
    "k-anonymity": {"k": [2, 3, 5, 10, 50]},
    "distinct": {"l": [2, 3, 5]},
    "shannon-entropy": {"l": [2, 3, 5]},
    "grassberger-entropy": {"l": [2, 3, 5]},
    "recursive": {"c": [0.5, 1.0, 4.0], "l": [2, 3, 4]},
    "t-closeness": {"distance": ["equal", "ordered", "hierarchical"], "t": [0.1, 0.2, 0.3, 0.5]},
    "beta-likeness": {"variant": ["basic", "enhanced"], "beta": [0.5, 1.0, 2.0, 4.0]},
    "delta-disclosure-privacy": {"delta": [0.5, 1.0, 2.0, 3.0], "strict": [False, True]},
    "average-risk": {"threshold": [0.01, 0.05, 0.1, 0.3]},
    "sample-uniqueness": {"threshold": [0.0, 0.01, 0.05]},
}
"""Models and variants of l-diversity, with what their keys are drawn from."""
PLAIN = {"k-anonymity", "average-risk", "sample-uniqueness"}
"""Models of no sensitive attribute."""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not (SHARED / "data").is_dir(), reason="needs ../shared/data beside the project"),
]


@functools.lru_cache
def whole(name):
    """Return a table, all columns as text."""
    path = SHARED / "data" / name / f"{name}.csv"
    header = path.open(encoding="utf-8").readline().strip().split(";")
    return pa.csv.read_csv(
        path,
        parse_options=pa.csv.ParseOptions(delimiter=";"),
        convert_options=pa.csv.ConvertOptions(column_types=dict.fromkeys(header, pa.string())),
    )


@functools.lru_cache
def hierarchy(name, column):
    """Return the file of a column's hierarchy, and its highest level."""
    path = SHARED / "data" / name / "hierarchies" / f"{column}.csv"
    with path.open(encoding="utf-8") as file:
        return str(path), len(next(csv.reader(file, delimiter=";"))) - 1


def model(draw, sensitive):
    kind = draw.choice([*MODELS, "k-anonymity", "t-closeness"])
    keys = {key: draw.choice(values) for key, values in MODELS[kind].items()}
    named = {} if kind in PLAIN else {"attribute": sensitive}
    if "l" in keys:
        return {"model": "l-diversity", "variant": kind, **keys, **named}
    return {"model": kind, **keys, **named}


def problem(draw):
    """Draw a sample of a table, quasi-identifiers, models, a measure and a limit; return the problem of that job."""
    name = draw.choice(TABLES)
    sensitive, order = SENSITIVE[name], ORDERED_AS[name]
    table = whole(name)
    quasi, size = {}, 1
    for column in draw.sample(table.column_names, table.num_columns):
        if column == sensitive or size * (hierarchy(name, column)[1] + 1) > MOST:
            continue
        path, height = hierarchy(name, column)
        quasi[column] = {
            "role": "quasi-identifying",
            "hierarchy": path,
            "weight": draw.choice([1.0, 1.0, 0.25, 0.0]),
            "maximum_level": draw.choice([height, height, max(0, height - 1)]),
        }
        size *= height + 1
    if not any(one["weight"] for one in quasi.values()):
        next(iter(quasi.values()))["weight"] = 1.0
    measure = draw.choice([*ATTRIBUTE_WISE, *CLASS_WISE])
    aggregates = ["arithmetic-mean", "geometric-mean", "maximum", "sum", "rank"] if measure in ATTRIBUTE_WISE else []
    models = [model(draw, sensitive) for _ in range(draw.choice([1, 1, 2, 3]))]
    job = load_job(
        {
            "name": "sample",
            "unit": "record",
            "source": {"path": "sample.csv"},
            "attributes": {column: {"role": "insensitive", "accept": "unique"} for column in table.column_names}
            | quasi
            | {sensitive: {"role": "sensitive", "order": order, "hierarchy": hierarchy(name, sensitive)[0]}},
            "privacy": list({repr(one): one for one in models}.values()),
            "utility": {"measure": measure, **({"aggregate": draw.choice(aggregates)} if aggregates else {})},
            "suppression_limit": draw.choice([0.0, 0.01, 0.05, 0.2, 1.0]),
        }
    )
    records = draw.sample(range(table.num_rows), draw.choice([100, 300, 1000, 3000, 10000]))
    return problem_of(job, count(job, open_data(table.take(pa.array(sorted(records))))).table)


@settings(deadline=None, max_examples=examples(300))
@given(seed=st.integers(0, 2**32))
@pytest.mark.parametrize("greedy", [True, False])
def test_the_search_finds_the_best_of_all_transformations(greedy, seed):
    draw = random.Random(seed)
    sample = problem(draw)
    truth = depth_first(sample)
    sample = replace(sample, threads=draw.choice([1, 1, 2]), memory=draw.choice([0, 1 << 14, 1 << 30]))
    first = optimal.greedy if greedy else lambda *_: ()
    with mock.patch.multiple(optimal, greedy=first, _ROWS_OF_THREADS=0):
        found = optimal.optimal(sample)
        near = optimal.optimal(replace(sample, gap=0.1))
    assert (found is None) == (near is None) == (truth is None)
    if truth is None:
        return
    assert found.optimal
    assert (found.levels, found.loss, found.lower_bound) == (truth.levels, truth.loss, truth.loss)
    assert found.suppressed_tuples.tolist() == truth.suppressed_tuples.tolist()
    assert leading(near.lower_bound) <= leading(truth.loss) * (1 + 1e-9)
    assert leading(near.loss) * 0.9 <= leading(truth.loss) * (1 + 1e-9)

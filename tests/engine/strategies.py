"""Random small tables, hierarchies and jobs for property tests."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from tests.reference.utility import ATTRIBUTE_WISE, CLASS_WISE

NESTED = (
    [{"model": "k-anonymity", "k": 2}],
    [{"model": "k-anonymity", "k": 4}],
    [{"model": "l-diversity", "variant": "distinct", "attribute": "s", "l": 2}],
    [{"model": "k-anonymity", "k": 3}, {"model": "l-diversity", "variant": "distinct", "attribute": "s", "l": 3}],
)
"""Lists of models that are monotone whatever is suppressed."""

_LIMITS = st.sampled_from([0.0, 0.1, 0.34, 0.5, 1.0])
_ATTRIBUTES = st.sampled_from(["s", "s", "z"])
_MISSING = st.sampled_from([{}, {"missing": "value"}, {"missing": "not-a-value"}])


def written_out(model: dict[str, Any]) -> str:
    """Give what a model is told from others by: the default of what it leaves out is the same model."""
    return repr({"missing": "not-a-value", **model})


CLASS_MODELS = st.one_of(
    st.builds(lambda k: {"model": "k-anonymity", "k": k}, st.integers(2, 5)),
    st.builds(
        lambda variant, name, values, missing: {
            "model": "l-diversity",
            "variant": variant,
            "attribute": name,
            "l": values,
            **missing,
        },
        st.sampled_from(["distinct", "shannon-entropy", "grassberger-entropy"]),
        _ATTRIBUTES,
        st.integers(2, 4),
        _MISSING,
    ),
    st.builds(
        lambda c, name, rank, missing: {
            "model": "l-diversity",
            "variant": "recursive",
            "attribute": name,
            "c": c,
            "l": rank,
            **missing,
        },
        st.sampled_from([0.1, 0.5, 1.0, 1.1, 2.0, 4.0]),
        _ATTRIBUTES,
        st.integers(2, 4),
        _MISSING,
    ),
    st.builds(
        lambda distance, name, t: {"model": "t-closeness", "distance": distance, "attribute": name, "t": t},
        st.sampled_from(["equal", "ordered", "hierarchical"]),
        _ATTRIBUTES,
        st.sampled_from([0.0, 0.1, 0.2, 0.25, 0.3, 0.5, 1.0]),
    ),
    st.builds(
        lambda name, delta, strict: {
            "model": "delta-disclosure-privacy",
            "attribute": name,
            "delta": delta,
            "strict": strict,
        },
        _ATTRIBUTES,
        st.sampled_from([0.5, 1.0, 1.5, 3.0]),
        st.booleans(),
    ),
    st.builds(
        lambda variant, name, beta: {"model": "beta-likeness", "variant": variant, "attribute": name, "beta": beta},
        st.sampled_from(["basic", "enhanced"]),
        _ATTRIBUTES,
        st.sampled_from([0.2, 0.5, 1.0, 2.0]),
    ),
)
"""Every model of single classes, with limits that small ones meet exactly."""
NUMBERS = ("-1", "2", "2.0", "2.5", "10", None)
NUMERIC_MODELS = st.builds(
    lambda k, e: {"model": "k-e-anonymity", "attribute": "n", "k": k, "e": e},
    st.integers(2, 4),
    st.sampled_from([0.5, 3.0, 7.5, 8.0, 11.0]),
)
"""Models of numbers, with ranges that some pairs of NUMBERS meet exactly."""
TABLE_WIDE = st.one_of(
    st.builds(
        lambda threshold: {"model": "average-risk", "threshold": threshold},
        st.sampled_from([0.05, 0.2, 0.25, 0.34, 0.5, 0.75, 1.0]),
    ),
    st.builds(
        lambda threshold: {"model": "sample-uniqueness", "threshold": threshold},
        st.sampled_from([0.0, 0.1, 0.25, 0.5, 1.0]),
    ),
    st.builds(
        lambda threshold, fraction: {
            "model": "population-uniqueness",
            "threshold": threshold,
            "sampling_fraction": fraction,
            "estimator": "zayatz",
        },
        # an estimate is a double: none of the simple shares it might be by its formula, and miss by rounding
        st.sampled_from([0.0, 0.0123, 0.0567, 0.234, 0.567]),
        st.sampled_from([0.01, 0.1, 0.5, 1.0]),
    ),
)
"""Models of the whole table; of the estimators the quickest, because enumeration asks it thousands of times."""
PEOPLE = "people.csv"
_PRESENCE = st.builds(
    lambda ends: {
        "model": "delta-presence",
        "delta_min": min(ends),
        "delta_max": max(ends),
        "subset": PEOPLE,
    },
    st.tuples(*[st.sampled_from([0.0, 0.0, 0.1, 0.25, 0.34, 0.5, 0.75, 1.0])] * 2),
)
POPULATION_MODELS = {
    None: st.nothing(),
    "subset": _PRESENCE | st.builds(lambda k: {"model": "k-map", "k": k, "subset": PEOPLE}, st.integers(2, 6)),
    "population": st.builds(lambda k: {"model": "k-map", "k": k, "population": PEOPLE}, st.integers(2, 6)),
}
"""Models of a population, by what it is."""


@st.composite
def hierarchies(draw, name, *, repeated=False):
    """Rows of a nested hierarchy; its last level may or may not be one root.

    With `repeated` a row may stand there twice, and a part of it may reach the root at a lower level, or be the root.
    """
    leaves = draw(st.integers(1, 6))
    rows = [[f"{name}{i}"] for i in range(leaves)]
    for level in range(1, draw(st.integers(1, 4))):
        below = sorted({row[-1] for row in rows})
        groups = draw(st.lists(st.integers(0, max(0, len(below) - 2)), min_size=len(below), max_size=len(below)))
        label = dict(zip(below, groups, strict=True))
        rows = [[*row, f"{name}.{level}.{label[row[-1]]}"] for row in rows]
    if draw(st.booleans()):
        rows = [[*row, "*"] for row in rows]
        if repeated and draw(st.booleans()):
            early = draw(st.integers(0, len(rows[0]) - 1))
            label = draw(st.sampled_from([row[early] for row in rows]))
            rows = [[*row[:early], *["*"] * (len(row) - early)] if row[early] == label else row for row in rows]
    if repeated and draw(st.booleans()):
        rows.append(draw(st.sampled_from(rows)))
    return [tuple(row) for row in rows]


@st.composite
def problems(draw):
    """Draw records, hierarchies and the parts of a job whose models are monotone."""
    return draw(_problems(st.sampled_from(NESTED), ["loss", "precision"], 4, repeated=False))


@st.composite
def any_problems(draw, *, measures=(*ATTRIBUTE_WISE, *CLASS_WISE)):
    """Draw the same with models in any combination, any measure, and what is read of values in any way.

    There may be a population, table-wide models, two sensitive attributes with hierarchies and one of numbers, texts
    that mean a missing value, and values without a row of their hierarchy.
    """
    people = draw(st.sampled_from([None, None, "subset", "population"]))
    one = CLASS_MODELS | NUMERIC_MODELS
    one = one if people is None else one | POPULATION_MODELS[people]
    alone = st.lists(one | TABLE_WIDE, min_size=1, max_size=3, unique_by=written_out)
    with_size = alone.map(lambda models: [{"model": "k-anonymity", "k": 2}, *models])
    problem = draw(_problems(alone | with_size, measures, 3, repeated=True))
    ways = [draw(_ways(rows)) for rows in problem["hierarchies"]]
    cells = [cell for cell, _, _ in ways]
    problem["missing"] = [texts for _, texts, _ in ways]
    problem["unseen"] = [policy for _, _, policy in ways]
    problem["people"] = people
    problem["others"] = [] if people is None else draw(st.lists(st.tuples(*cells), max_size=12))
    names = draw(st.lists(st.sampled_from(["y0", "y1", "y2"]), min_size=1, max_size=3, unique=True))
    problem["trees"] = {"s": problem["tree"], "z": [(name, name[0], "any z") for name in names]}
    problem["records"] = [
        (draw(st.tuples(*cells)) if draw(st.integers(0, 3)) == 0 else values, {**s, "z": draw(st.sampled_from(names))})
        for values, s in problem["records"]
    ]
    if any(model.get("attribute") == "n" for model in problem["models"]):
        number = st.sampled_from(NUMBERS)
        problem["records"] = [(values, {**sensitive, "n": draw(number)}) for values, sensitive in problem["records"]]
    return problem


@st.composite
def _ways(draw, rows):
    """Draw how values of a hierarchy's attribute are read: a strategy of cells, the missing texts, the policy."""
    leaves = [row[0] for row in rows]
    texts = draw(st.sampled_from([(), (), ("?",), ("?", leaves[0])]))
    # a root is needed for values without a row to become
    policy = draw(st.sampled_from(["error", "suppress", "root"] if len({row[-1] for row in rows}) == 1 else ["error"]))
    odd = [None, *texts, *([] if policy == "error" else ["new", "newer"])]
    return st.sampled_from([*leaves, *leaves, *odd]), texts, policy


@st.composite
def _problems(draw, models, measures, widest, *, repeated):
    count = draw(st.integers(1, widest))
    trees = [draw(hierarchies("abcd"[a], repeated=repeated)) for a in range(count)]
    # that of a sensitive attribute needs one root; no file may have '*' below it
    tree = [(*("all" if label == "*" else label for label in row), "any s") for row in draw(hierarchies("s"))]
    value = st.tuples(*(st.sampled_from([row[0] for row in tree]) for tree in trees))
    sensitive = st.sampled_from([*(row[0] for row in tree), None])
    if draw(st.booleans()):
        # without a missing value and with few others, so that entropy and closeness can hold
        sensitive = st.sampled_from([row[0] for row in tree[:3]])
    records = draw(st.lists(st.tuples(value, sensitive), min_size=1, max_size=30))
    chosen = draw(models)
    of_s = [model for model in chosen if model.get("distance") == "hierarchical" and model["attribute"] == "s"]
    if of_s and all(s is None for _, s in records):
        records[0] = (records[0][0], tree[0][0])
    return {
        "records": [(v, {"s": s}) for v, s in records],
        "hierarchies": trees,
        "tree": tree,
        "models": chosen,
        "limit": draw(_LIMITS),
        "measure": draw(st.sampled_from(measures)),
        "combine": draw(st.sampled_from(["arithmetic-mean", "geometric-mean", "sum", "maximum", "rank"])),
        "weights": draw(st.lists(st.sampled_from([0.0, 0.5, 1.0, 3.0]), min_size=count, max_size=count).filter(any)),
        "f": draw(st.sampled_from([0.0, 0.25, 0.3, 0.5, 0.8, 1.0])),
    }

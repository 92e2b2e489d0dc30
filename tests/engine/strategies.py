"""Random small tables, hierarchies and jobs for property tests."""

from __future__ import annotations

from hypothesis import strategies as st

from tests.reference.utility import ATTRIBUTE_WISE, CLASS_WISE

SENSITIVE = {"attribute": "s"}
NESTED = (
    [{"model": "k-anonymity", "k": 2}],
    [{"model": "k-anonymity", "k": 4}],
    [{"model": "l-diversity", "variant": "distinct", "attribute": "s", "l": 2}],
    [{"model": "k-anonymity", "k": 3}, {"model": "l-diversity", "variant": "distinct", "attribute": "s", "l": 3}],
)
"""Lists of models that are monotone whatever is suppressed."""

_LIMITS = st.sampled_from([0.0, 0.1, 0.34, 0.5, 1.0])
MODELS = st.one_of(
    st.builds(lambda k: {"model": "k-anonymity", "k": k}, st.integers(2, 5)),
    st.builds(
        lambda variant, values: {"model": "l-diversity", "variant": variant, **SENSITIVE, "l": values},
        st.sampled_from(["distinct", "shannon-entropy", "grassberger-entropy"]),
        st.integers(2, 4),
    ),
    st.builds(
        lambda c, rank: {"model": "l-diversity", "variant": "recursive", **SENSITIVE, "c": c, "l": rank},
        st.sampled_from([0.1, 0.5, 1.0, 1.1, 2.0, 4.0]),
        st.integers(2, 4),
    ),
    st.builds(
        lambda distance, t: {"model": "t-closeness", "distance": distance, **SENSITIVE, "t": t},
        st.sampled_from(["equal", "ordered", "hierarchical"]),
        st.sampled_from([0.0, 0.1, 0.2, 0.25, 0.3, 0.5, 1.0]),
    ),
    st.builds(
        lambda delta, strict: {"model": "delta-disclosure-privacy", **SENSITIVE, "delta": delta, "strict": strict},
        st.sampled_from([0.5, 1.0, 1.5, 3.0]),
        st.booleans(),
    ),
    st.builds(
        lambda variant, beta: {"model": "beta-likeness", "variant": variant, **SENSITIVE, "beta": beta},
        st.sampled_from(["basic", "enhanced"]),
        st.sampled_from([0.2, 0.5, 1.0, 2.0]),
    ),
)
"""Every model, with limits that small classes meet exactly."""


@st.composite
def hierarchies(draw, name, *, repeated=False):
    """Rows of a nested hierarchy; its last level may or may not be one root, and a row may stand there twice."""
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
        rows.append(draw(st.sampled_from(rows)))
    return [tuple(row) for row in rows]


@st.composite
def problems(draw):
    """Draw records, hierarchies and the parts of a job whose models are monotone."""
    return draw(_problems(st.sampled_from(NESTED), ["loss", "precision"], 4, repeated=False))


@st.composite
def any_problems(draw):
    """Draw the same with any model, or some with k-anonymity, any measure, and a hierarchy of the sensitive values."""
    alone = MODELS.map(lambda model: [model])
    joint = st.lists(MODELS, min_size=1, max_size=2).map(lambda models: [{"model": "k-anonymity", "k": 2}, *models])
    return draw(_problems(alone | joint, [*ATTRIBUTE_WISE, *CLASS_WISE], 3, repeated=True))


@st.composite
def _problems(draw, models, measures, widest, *, repeated):
    count = draw(st.integers(1, widest))
    trees = [draw(hierarchies("abcd"[a], repeated=repeated)) for a in range(count)]
    # that of a sensitive attribute needs one root
    tree = [(*row, "any s") for row in draw(hierarchies("s"))]
    value = st.tuples(*(st.sampled_from([row[0] for row in tree]) for tree in trees))
    sensitive = st.sampled_from([*(row[0] for row in tree), None])
    if draw(st.booleans()):
        # without a missing value and with few others, so that entropy and closeness can hold
        sensitive = st.sampled_from([row[0] for row in tree[:3]])
    records = draw(st.lists(st.tuples(value, sensitive), min_size=1, max_size=30))
    chosen = draw(models)
    if any(model.get("distance") == "hierarchical" for model in chosen) and all(s is None for _, s in records):
        records[0] = (records[0][0], tree[0][0])
    return {
        "records": [(v, {"s": s}) for v, s in records],
        "hierarchies": trees,
        "tree": tree,
        "models": chosen,
        "limit": draw(_LIMITS),
        "measure": draw(st.sampled_from(measures)),
        "combine": draw(st.sampled_from(["arithmetic-mean", "geometric-mean", "sum", "maximum"])),
        "weights": draw(st.lists(st.sampled_from([0.0, 0.5, 1.0, 3.0]), min_size=count, max_size=count).filter(any)),
        "f": draw(st.sampled_from([0.0, 0.25, 0.3, 0.5, 0.8, 1.0])),
    }

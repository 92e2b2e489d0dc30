"""Random small tables, hierarchies and jobs for property tests."""

from __future__ import annotations

from hypothesis import strategies as st


@st.composite
def hierarchies(draw, name):
    """Rows of a nested hierarchy; its last level may or may not be one root."""
    leaves = draw(st.integers(1, 6))
    rows = [[f"{name}{i}"] for i in range(leaves)]
    for level in range(1, draw(st.integers(1, 4))):
        below = sorted({row[-1] for row in rows})
        groups = draw(st.lists(st.integers(0, max(0, len(below) - 2)), min_size=len(below), max_size=len(below)))
        label = dict(zip(below, groups, strict=True))
        rows = [[*row, f"{name}.{level}.{label[row[-1]]}"] for row in rows]
    if draw(st.booleans()):
        rows = [[*row, "*"] for row in rows]
    return [tuple(row) for row in rows]


@st.composite
def problems(draw):
    """Draw records, hierarchies and the parts of a job."""
    count = draw(st.integers(1, 4))
    trees = [draw(hierarchies("abcd"[a])) for a in range(count)]
    value = st.tuples(*(st.sampled_from([row[0] for row in tree]) for tree in trees))
    sensitive = st.sampled_from(["x", "y", "z", None])
    records = draw(st.lists(st.tuples(value, sensitive), min_size=1, max_size=30))
    models = draw(
        st.sampled_from(
            [
                [{"model": "k-anonymity", "k": 2}],
                [{"model": "k-anonymity", "k": 4}],
                [{"model": "l-diversity", "variant": "distinct", "attribute": "s", "l": 2}],
                [
                    {"model": "k-anonymity", "k": 3},
                    {"model": "l-diversity", "variant": "distinct", "attribute": "s", "l": 3},
                ],
            ]
        )
    )
    weights = draw(st.lists(st.sampled_from([0.0, 0.5, 1.0, 3.0]), min_size=count, max_size=count).filter(any))
    return {
        "records": [(v, {"s": s}) for v, s in records],
        "hierarchies": trees,
        "models": models,
        "limit": draw(st.sampled_from([0.0, 0.1, 0.34, 0.5, 1.0])),
        "measure": draw(st.sampled_from(["loss", "precision"])),
        "combine": draw(st.sampled_from(["arithmetic-mean", "geometric-mean", "sum", "maximum"])),
        "weights": weights,
        "f": draw(st.sampled_from([0.0, 0.25, 0.5, 0.8, 1.0])),
    }

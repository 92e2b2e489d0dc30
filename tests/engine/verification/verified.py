"""Outputs, models and jobs that the tests of the verification share."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from engine import load_job
from engine.privacy.registry import AnyPrivacyModel
from engine.tables.counting.columns import Sensitive
from engine.tables.sources.source import open_data
from tests.engine.build import Listed, encoded
from tests.profiles import examples

MANY = settings(deadline=None, suppress_health_check=list(HealthCheck), max_examples=examples(400))


def diversity(variant, **parameters):
    return {"model": "l-diversity", "variant": variant, "attribute": "s", **parameters}


def closeness(distance, t):
    return {"model": "t-closeness", "distance": distance, "attribute": "s", "t": t}


def disclosure(delta, *, strict=False):
    return {"model": "delta-disclosure-privacy", "attribute": "s", "delta": delta, "strict": strict}


def likeness(variant, beta):
    return {"model": "beta-likeness", "variant": variant, "attribute": "s", "beta": beta}


def released(classes):
    """Return an output: each class's label with its sensitive values; `*` holds the suppressed ones."""
    rows = [(label, value) for label, values in classes.items() for value in values]
    return pa.table({"q": [label for label, _ in rows], "s": pa.array([value for _, value in rows], pa.string())})


def letters(*counts):
    return [letter for letter, count in zip("abcdefgh", counts, strict=False) for _ in range(count)]


TREE = Listed(entries=(("a1", "A", "*"), ("a2", "A", "*"), ("b1", "B", "*"), ("b2", "B", "*")))


VALUES = ("10", "9", "2", "02", "-1")


@st.composite
def attributes(draw):
    """Draw the order of values and a hierarchy with one root."""
    levels = draw(st.integers(1, 3))
    rows = [[value] for value in VALUES]
    for level in range(1, levels):
        below = sorted({row[-1] for row in rows})
        group = {label: draw(st.integers(0, 1)) for label in below}
        rows = [[*row, f"{level}.{group[row[-1]]}"] for row in rows]
    entries = tuple((*row, "*") for row in rows)
    return SimpleNamespace(
        order=draw(st.sampled_from(["text", "integer", "decimal"])), hierarchy=Listed(entries=entries)
    )


VALUE = st.sampled_from([*VALUES[:3], *VALUES, None])
ROWS = st.lists(st.tuples(st.sampled_from(["u", "v", "w", "*"]), VALUE), min_size=1, max_size=40)


GROUPS = {"10": "two digits", "9": "one digit", "2": "one digit", "02": "two digits", "-1": "two digits"}


def job(folder, model, attribute, limit, **changes):
    (folder / "s.csv").write_text("\n".join(f"{value};{group};*" for value, group in GROUPS.items()))
    (folder / "q.csv").write_text("u;U;*\nv;U;*\nw;W;*\nx;W;*\n")
    document = {
        "name": "models",
        "attributes": {
            "q": {"role": "quasi-identifying", "hierarchy": str(folder / "q.csv")},
            "s": {"role": "sensitive", "order": attribute, "hierarchy": str(folder / "s.csv")},
        },
        "privacy": [model],
        "suppression_limit": limit,
        **changes,
    }
    return load_job(document)


MISSING = st.sampled_from(["value", "not-a-value"])
MODELS = st.one_of(
    st.builds(
        lambda variant, least, missing: diversity(variant, l=least, missing=missing),
        st.sampled_from(["distinct", "shannon-entropy", "grassberger-entropy"]),
        st.integers(2, 4),
        MISSING,
    ),
    st.builds(
        lambda c, rank, missing: diversity("recursive", c=c, l=rank, missing=missing),
        st.sampled_from([0.3, 1.0, 2.5]),
        st.integers(2, 4),
        MISSING,
    ),
    st.builds(
        closeness,
        st.sampled_from(["equal", "ordered", "hierarchical"]),
        st.sampled_from([0.0, 0.1, 0.25, 0.3, 0.5]) | st.floats(0, 1),
    ),
    st.builds(
        lambda delta, strict: disclosure(delta, strict=strict), st.sampled_from([0.5, 1.0, 1.5, 2.0]), st.booleans()
    ),
    st.builds(likeness, st.sampled_from(["basic", "enhanced"]), st.sampled_from([0.25, 0.5, 1.0, 2.0])),
)


def judged(table, model, attribute):
    """Return the engine's own judgement of the classes but `*`, of the table as it is: holds, observed."""
    labels = sorted(set(table["q"].to_pylist()))
    builders = {"q": Listed(entries=tuple((label,) for label in labels))}
    _, counted = encoded(open_data(table), builders, {"s": Sensitive(attribute.order, attribute.hierarchy)})
    classes = counted.partition((0,))
    named = [counted.hierarchies[0].labels[0][code] for code in counted.codes[0].tolist()]
    kept = np.ones(classes.size, bool)
    kept[[gid for gid, label in zip(classes.gid.tolist(), named, strict=True) if label == "*"]] = False
    if not kept.any():
        kept[:] = True  # all `*`: generalized to the root, nothing is suppressed
    engine = TypeAdapter(AnyPrivacyModel).validate_python(model)
    return not (engine.violated(classes) & kept).any(), engine.observed(classes, kept)


def at_the_bound(model, observed):
    """Whether a class has exactly the Shannon entropy of l values: there rounding decides, and the recount accepts."""
    return model.get("variant") == "shannon-entropy" and math.isclose(observed, model["l"], rel_tol=1e-12)

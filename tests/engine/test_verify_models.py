"""The recount of each privacy model: by hand, against the engine's own judgement, and on outputs that were changed."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from engine import InvalidData, InvalidJob, load_job, recount, run, verify
from engine.columns import Sensitive
from engine.privacy.registry import AnyPrivacyModel
from engine.table import open_data
from tests.engine.build import Listed, encoded

MANY = settings(deadline=None, suppress_health_check=list(HealthCheck), max_examples=400)


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


# ---------------------------------------------------------------- by hand


@pytest.mark.parametrize(
    ("counts", "least", "holds", "effective"),
    [
        # ln 4 - 3/4 ln 3 nats: e to that is 4 / 3^(3/4)
        ((3, 1), 2, False, 4 / 3**0.75),
        ((3, 1), 1.7, True, 4 / 3**0.75),
        ((2, 2), 2, True, 2),
        # the model itself fails one of these by rounding alone
        ((1, 1, 1), 3, True, 3),
        ((2, 2, 2), 3, True, 3),
        ((70, 70, 70, 70, 70), 5, True, 5),
        ((70, 70, 70, 70, 71), 5, False, None),
    ],
)
def test_shannon_entropy(counts, least, holds, effective):
    finding = recount(released({"x": letters(*counts)}), ["q"], diversity("shannon-entropy", l=least))
    assert (finding.check, finding.holds, finding.required, finding.column) == ("l-diversity", holds, least, "s")
    if effective is not None:
        assert finding.observed == pytest.approx(effective, rel=1e-14)


def test_shannon_entropy_just_below_the_bound_fails():
    """With 1/2 + d and 1/2 - d the entropy is ln 2 - 2 d^2 nats: one record of 99999 is seen, rounding is not."""
    finding = recount(released({"x": letters(50_000, 49_999)}), ["q"], diversity("shannon-entropy", l=2))
    assert 2 - finding.observed == pytest.approx(2 * 2 * (0.5 / 99_999) ** 2, rel=1e-3)
    assert finding.holds is False


@pytest.mark.parametrize(
    ("counts", "least", "holds", "nats"),
    [
        # G(3) - G(1) = 2, by definition; G(6) - G(2) = 2/3 + 2/5
        ((1, 1, 1), 3, True, 2.0),
        ((2, 2, 2), 3, False, 16 / 15),
        # two values only, whatever their entropy: G(2) - G(1) = 2 is more than ln 3
        ((1, 1), 3, False, 2.0),
        # G(200) - G(100) and G(20001) - G(10000, 10001): differences of the definition's sums
        ((100, 100), 2, None, math.fsum(2 / (2 * i - 1) for i in range(51, 101))),
        ((10_000, 10_001), 2, None, math.fsum(2 / (2 * i - 1) for i in range(5_001, 10_001))),
        ((33, 33), 2, None, math.fsum(2 / (2 * i - 1) for i in range(17, 34))),
    ],
)
def test_grassberger_entropy(counts, least, holds, nats):
    finding = recount(released({"x": letters(*counts)}), ["q"], diversity("grassberger-entropy", l=least))
    assert finding.observed == pytest.approx(math.exp(nats), rel=1e-13)
    assert finding.holds is (nats >= math.log(least) if holds is None else holds)


@pytest.mark.parametrize(
    ("counts", "c", "rank", "holds", "ratio"),
    [
        ((5, 2, 1, 1), 2.5, 3, False, 5 / 2),
        ((5, 2, 1, 1), 2.6, 3, True, 5 / 2),
        ((5, 2, 1, 1), 5 / 4, 2, False, 5 / 4),
        ((5, 2, 1, 1), 100.0, 5, False, None),
        ((3, 10), 0.3, 2, False, 10 / 3),
    ],
)
def test_recursive_diversity(counts, c, rank, holds, ratio):
    finding = recount(released({"x": letters(*counts)}), ["q"], diversity("recursive", c=c, l=rank))
    assert (finding.holds, finding.observed, finding.required) == (holds, ratio, c)


@pytest.mark.parametrize(
    ("salaries", "distance"),
    # the example of Li et al., section 5: 0.375 and 1/6
    [(("3", "4", "5"), 0.375), (("6", "8", "11"), 1 / 6)],
)
def test_ordered_distance_of_the_paper(salaries, distance):
    everything = [str(salary) for salary in range(3, 12)]
    table = released({"x": salaries, "*": [salary for salary in everything if salary not in salaries]})
    finding = recount(table, ["q"], closeness("ordered", 0.2), {"order": "integer"})
    assert finding.observed == pytest.approx(distance, rel=1e-14)
    assert finding.holds is (distance <= 0.2)
    # as text '10' and '11' come first, and three values lie elsewhere among nine
    assert recount(table, ["q"], closeness("ordered", 0.2)).observed != pytest.approx(distance)


@pytest.mark.parametrize(
    ("order", "values"),
    [
        ("decimal", ["-1.5", "-1", "9", "1e1"]),
        ("date", [None, "2026-03-01", "2026-03-01T12:00:00+02:00", "2026-03-01T11:00:00Z"]),
        ("text", [None, "", "10", "9"]),
        ("integer", ["9", "010", "10", "11"]),
    ],
)
def test_values_are_ordered_by_their_type(order, values):
    """Of four values, the first and last are (3/4 + 2/4 + 1/4) / 3 from all, the others (1/4 + 2/4 + 1/4) / 3."""
    for value, distance in zip(values, [1 / 2, 1 / 3, 1 / 3, 1 / 2], strict=True):
        table = released({"x": [value], "*": [other for other in values if other != value]})
        finding = recount(table, ["q"], closeness("ordered", 0.1), {"order": order})
        assert finding.observed == pytest.approx(distance, rel=1e-14)


TREE = Listed(entries=(("a1", "A", "*"), ("a2", "A", "*"), ("b1", "B", "*"), ("b2", "B", "*")))


@pytest.mark.parametrize(
    ("members", "distance"),
    [
        # half of all moves between A and B: 2/2 * 1/2
        (["a1", "a2"], 1 / 2),
        # a quarter moves within A and a quarter within B: 1/2 * (1/4 + 1/4)
        (["a1", "b1"], 1 / 4),
        # a quarter moves within A, half from A to B: 1/2 * 1/4 + 1/2
        (["a1"], 5 / 8),
        (["a1", "a2", "b1", "b2"], 0),
    ],
)
def test_hierarchical_distance(members, distance):
    table = released({"x": members, "*": [leaf for leaf, *_ in TREE.entries if leaf not in members]})
    attribute = SimpleNamespace(order="text", hierarchy=TREE)
    finding = recount(table, ["q"], closeness("hierarchical", distance), attribute)
    assert (finding.holds, finding.observed) == (True, distance)
    if distance:
        assert recount(table, ["q"], closeness("hierarchical", distance - 1e-9), attribute).holds is False


@pytest.mark.parametrize(("t", "holds"), [(0.5, True), (0.49, False)])
def test_equal_distance(t, holds):
    """All of one value where the table has half of it; the records of the other value are suppressed ones."""
    finding = recount(released({"x": ["a", "a"], "*": ["b", "b"]}), ["q"], closeness("equal", t))
    assert (finding.holds, finding.observed, finding.required) == (holds, 0.5, t)


@pytest.mark.parametrize(
    ("delta", "holds"),
    # twice as frequent is one bit, and less than that is demanded
    [(1.0, False), (1.0 + 1e-9, True), (0.9, False)],
)
def test_delta_disclosure(delta, holds):
    finding = recount(released({"x": ["a", "a"], "*": ["b", "b"]}), ["q"], disclosure(delta))
    assert (finding.holds, finding.observed, finding.required) == (holds, 1.0, delta)


def test_delta_disclosure_accepts_rounding_where_there_is_no_equality():
    """Three times as frequent is log2(3) bits, which no double is: the last digit of the bound decides nothing."""
    table = released({"x": ["a", "a"], "*": letters(0, 4)})
    assert recount(table, ["q"], disclosure(math.nextafter(math.log2(3), 0))).holds is True
    assert recount(table, ["q"], disclosure(math.log2(3) - 1e-10)).holds is False


def test_delta_disclosure_of_rare_values():
    """A value of half the table is an eighth of the class: two bits, though no value is more frequent by as much."""
    table = released({"x": letters(1, 7), "y": letters(7, 1)})
    assert recount(table, ["q"], disclosure(2.0)).holds is False
    assert recount(table, ["q"], disclosure(2.5)).holds is True
    assert recount(table, ["q"], disclosure(2.5)).observed == 2.0


def test_strict_delta_disclosure_fails_a_class_that_lacks_a_value():
    table = released({"x": ["a", "a"], "*": ["b", "b"]})
    assert recount(table, ["q"], disclosure(5.0)).holds is True
    assert recount(table, ["q"], disclosure(5.0, strict=True)).holds is False


@pytest.mark.parametrize(
    ("variant", "beta", "holds"),
    [
        ("basic", 3.0, True),
        ("basic", 2.999, False),
        # q is a quarter, -ln q less than 1.4
        ("enhanced", 3.0, False),
    ],
)
def test_beta_likeness(variant, beta, holds):
    """All of one value where the table has a quarter of it: three times as much again."""
    finding = recount(released({"x": ["a", "a"], "*": letters(0, 6)}), ["q"], likeness(variant, beta))
    assert (finding.holds, finding.observed, finding.required) == (holds, 3.0, beta)


def test_enhanced_beta_likeness_of_a_table_with_one_value():
    """No value can gain, and its bound is zero."""
    finding = recount(released({"x": ["a", "a"]}), ["q"], likeness("enhanced", 1.0))
    assert (finding.holds, finding.observed) == (True, 0)


EVERY = [
    diversity("shannon-entropy", l=2),
    diversity("grassberger-entropy", l=2),
    diversity("recursive", c=2.0, l=2),
    closeness("equal", 0.2),
    closeness("ordered", 0.2),
    disclosure(1.0),
    likeness("basic", 0.5),
]


@pytest.mark.parametrize("model", EVERY, ids=str)
def test_nothing_kept_holds(model):
    table = released({"*": ["a", "b"]})
    finding = recount(table, ["q"], model, kept=table.slice(0, 0))
    assert (finding.holds, finding.observed) == (True, None)


@pytest.mark.parametrize("name", ["count_all", "value", "0", "s_list"])
@pytest.mark.parametrize("model", EVERY, ids=str)
def test_a_quasi_identifier_may_bear_any_name(model, name):
    table = released({"x": letters(3, 1), "y": letters(2, 4)})
    assert recount(table.rename_columns([name, "s"]), [name], model) == recount(table, ["q"], model)


@pytest.mark.parametrize("model", EVERY, ids=str)
def test_values_in_dictionaries_are_counted_by_value(model):
    """Two codes that stand for one value are one value."""
    plain = released({"x": ["a", "a"], "y": ["a", "b"]})
    codes = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, 3], pa.int8()), ["a", "a", "a", "b"])
    assert recount(plain.set_column(1, "s", codes), ["q"], model) == recount(plain, ["q"], model)


# ---------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("model", "attribute", "text"),
    [
        (diversity("entropy", l=2), None, "variant 'entropy' of l-diversity cannot be verified"),
        (closeness("euclidean", 0.2), None, "distance 'euclidean' of t-closeness cannot be verified"),
        (likeness("other", 1.0), None, "variant 'other' of beta-likeness cannot be verified"),
        (closeness("hierarchical", 0.2), None, r"attributes.s.hierarchy: .* needs one"),
        (closeness("ordered", 0.2), {"ordr": "text"}, "sensitive attribute: ordr: unknown key"),
        (closeness("ordered", 0.2), {"order": "length"}, "sensitive attribute: order"),
    ],
)
def test_what_cannot_be_proven_is_refused(model, attribute, text):
    with pytest.raises(InvalidJob, match=text):
        recount(released({"x": ["a", "b"]}), ["q"], model, attribute)


@pytest.mark.parametrize(
    "entries", [(("a",), ("b",)), (("a", "A"), ("b", "B")), (("a",),)], ids=["one level", "two roots", "missing value"]
)
def test_hierarchical_distance_without_a_common_root_is_refused(entries):
    """Values of two trees would cost nothing to exchange, so that any class would be close."""
    other = None if len(entries) == 1 else "b"
    table = released({"x": ["a", "a"], "y": [other, other]})
    attribute = SimpleNamespace(order="text", hierarchy=Listed(entries=entries))
    with pytest.raises(InvalidJob, match="needs one root"):
        recount(table, ["q"], closeness("hierarchical", 0.0), attribute)


@pytest.mark.parametrize(
    ("distance", "attribute"),
    [
        ("ordered", {"order": "integer"}),
        ("ordered", {"order": "decimal"}),
        ("ordered", {"order": "date"}),
        ("hierarchical", SimpleNamespace(order="text", hierarchy=TREE)),
    ],
)
def test_values_that_do_not_fit_are_counted_not_named(distance, attribute):
    table = released({"x": ["Jane-Roe-4711", "Richard-Roe-4712"]})
    with pytest.raises(InvalidData, match="column 's': 2 distinct values") as problem:
        recount(table, ["q"], closeness(distance, 0.2), attribute)
    assert "Roe" not in str(problem.value)


def test_kept_records_of_another_output_are_refused():
    with pytest.raises(InvalidData, match="column 's': kept records hold values that the table lacks"):
        recount(released({"x": ["a"]}), ["q"], closeness("equal", 0.2), kept=released({"x": ["b"]}))


# ---------------------------------------------------------------- against the engine

MODELS = st.one_of(
    st.builds(
        lambda variant, least: diversity(variant, l=least),
        st.sampled_from(["shannon-entropy", "grassberger-entropy"]),
        st.integers(2, 4),
    ),
    st.builds(lambda c, rank: diversity("recursive", c=c, l=rank), st.sampled_from([0.3, 1.0, 2.5]), st.integers(2, 4)),
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


@MANY
@given(ROWS, MODELS, attributes())
def test_any_table_is_judged_as_the_engine_judges_it(rows, model, attribute):
    table = pa.table({"q": [label for label, _ in rows], "s": pa.array([value for _, value in rows], pa.string())})
    holds, observed = judged(table, model, attribute)
    finding = recount(table, ["q"], model, attribute)
    assert finding.observed == (observed if observed is None else pytest.approx(observed, rel=1e-9, abs=1e-12))
    if at_the_bound(model, observed):
        assert finding.holds >= holds
    else:
        assert finding.holds == holds


# ---------------------------------------------------------------- releases

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


SOURCE = st.lists(st.tuples(st.sampled_from("uvwx"), VALUE), min_size=8, max_size=60)


@settings(parent=MANY, max_examples=150)
@given(SOURCE, MODELS, st.sampled_from(["text", "integer", "decimal"]), st.data())
def test_a_release_holds_and_a_changed_one_only_if_the_engine_says_so(tmp_path_factory, rows, model, order, data):
    this = job(tmp_path_factory.mktemp("job"), model, order, 1.0)
    table = pa.table({"q": [label for label, _ in rows], "s": pa.array([value for _, value in rows], pa.string())})
    result = run(this, table=table)
    assert [finding.check for finding in verify(result.table, this, result.report) if not finding.holds] == []
    stated = result.report["privacy"][0]
    finding = next(finding for finding in result.findings if finding.check == model["model"])
    assert finding.holds
    assert finding.observed == (
        None if stated["observed"] is None else pytest.approx(stated["observed"], rel=1e-9, abs=1e-12)
    )
    changed = result.table["s"].to_pylist()
    changed[data.draw(st.integers(0, len(rows) - 1))] = data.draw(VALUE)
    other = result.table.set_column(1, "s", pa.array(changed, pa.string()))
    found = recount(other, ["q"], this.privacy[0], this.attributes["s"])
    holds, observed = judged(other, model, this.attributes["s"])
    assert found.holds == holds or (found.holds and at_the_bound(model, observed))


@pytest.mark.parametrize(
    "model",
    [
        diversity("shannon-entropy", l=1.9),
        diversity("grassberger-entropy", l=1.9),
        diversity("recursive", c=2.0, l=2),
        closeness("equal", 0.2),
        closeness("ordered", 0.2),
        closeness("hierarchical", 0.2),
        disclosure(0.5),
        likeness("basic", 0.5),
        likeness("enhanced", 0.5),
    ],
    ids=str,
)
def test_a_class_that_loses_its_diversity_is_found(tmp_path, model):
    """Of two alike classes each gets one value: every model forbids that, and the report no longer describes it."""
    this = job(tmp_path, model, "integer", 0.2)
    table = released({"u": ["10", "9"] * 4, "w": ["10", "9"] * 4, "x": ["9"]})
    result = run(this, table=table)
    assert result.report["solution"] | {"information_loss": 0, "lower_bound": 0, "optimal": True} == {
        "levels": {"q": 0},
        "suppressed": 1,
        "information_loss": 0,
        "lower_bound": 0,
        "optimal": True,
    }
    harmed = result.table.set_column(1, "s", pa.array(["10"] * 8 + ["9"] * 9))
    failed = [finding.check for finding in verify(harmed, this, result.report) if not finding.holds]
    assert failed == [model["model"], "figures"]


@pytest.mark.parametrize("figure", [0.123, None, True, "0.2"])
def test_a_report_with_another_figure_is_found(tmp_path, figure):
    this = job(tmp_path, closeness("equal", 0.2), "integer", 0.0)
    result = run(this, table=released({"u": ["10", "9"] * 4, "w": ["10", "9"] * 4}))
    assert result.report["privacy"][0]["observed"] == 0
    report = {**result.report, "privacy": [{**result.report["privacy"][0], "observed": figure}]}
    assert [finding.check for finding in verify(result.table, this, report) if not finding.holds] == ["figures"]


# ---------------------------------------------------------------- jobs that could not be proven


@pytest.mark.parametrize("model", [closeness("equal", 0.2), disclosure(1.0), likeness("basic", 0.5)], ids=str)
def test_a_model_that_reads_suppressed_records_needs_them_in_the_output(tmp_path, model):
    output = {"path": str(tmp_path / "release"), "suppressed": "drop"}
    with pytest.raises(InvalidJob, match=rf"privacy.0: {model['model']} .* set output.suppressed to star, or supp"):
        job(tmp_path, model, "text", 0.1, output=output)
    assert job(tmp_path, model, "text", 0.0, output=output).privacy[0].model == model["model"]
    assert job(tmp_path, model, "text", 0.1, output={**output, "suppressed": "star"}).suppression_limit == 0.1


def test_entropy_may_drop_records(tmp_path):
    output = {"path": str(tmp_path / "release"), "suppressed": "drop"}
    this = job(tmp_path, diversity("shannon-entropy", l=1.9), "text", 0.2, output=output)
    result = run(this, table=released({"u": ["10", "9"] * 4, "x": ["9"]}))
    assert result.report["solution"]["suppressed"] == 1
    assert all(finding.holds for finding in result.findings)


def test_hierarchical_distance_needs_a_hierarchy(tmp_path):
    changed = job(tmp_path, closeness("equal", 0.2), "text", 0.0).document()
    del changed["attributes"]["s"]["hierarchy"]
    changed["privacy"][0]["distance"] = "hierarchical"
    with pytest.raises(InvalidJob, match=r"privacy.0: distance hierarchical needs attributes.s.hierarchy; add it"):
        load_job(changed)

"""Local recoding against a recount in plain Python, and against the best of all recodings of a few records."""

from __future__ import annotations

import collections
import itertools
import math
import signal
import sys
import tempfile
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from engine import NoSolution, load_job, run, verify
from engine.search.recoding import deadline as deadline_of
from engine.search.recoding import local, local_search, lower_bound
from engine.search.recoding.deadline import Deadline
from engine.search.recoding.splitting import Splitting
from tests.engine import build
from tests.engine.strategies import any_problems, written_out
from tests.profiles import examples
from tests.reference import recoding as plain

TREES = (
    [("a1", "a", "*"), ("a2", "a", "*"), ("b1", "b", "*")],
    [("x", "*"), ("y", "*")],
    [
        ("1", "1-2", "1-4", "*"),
        ("2", "1-2", "1-4", "*"),
        ("3", "3-4", "1-4", "*"),
        ("4", "3-4", "1-4", "*"),
        ("9",) * 3 + ("*",),
    ],
)
RANDOM = settings(deadline=None, max_examples=examples(120), suppress_health_check=list(HealthCheck))


def recoded(problem, folder, **changes):
    """Run a problem's job with local recoding; skip what has no full-domain solution either."""
    job = build.job(problem, Path(folder), transformation="local-recoding", **changes)
    full = build.job(problem, Path(folder), **{key: one for key, one in changes.items() if key != "recoding"})
    try:
        return job, run(job, build.table(problem)), run(full, build.table(problem))
    except NoSolution:
        assume(False)


def allowed(problem, name, value):
    """Return what a value may be shown as: its labels, and `*` where it is suppressed."""
    a = int(name[1:])
    rows = problem["hierarchies"][a]
    root = rows[0][-1]
    if value is None or value in problem["missing"][a]:
        return {None, "*", root}
    found = {label for row in rows if row[0] == value for label in row}
    return found | {"*"} if found else {root, "*"}


@RANDOM
@given(any_problems(measures=("loss", "precision")), st.sampled_from(["clustering", "splitting"]), st.integers(10, 12))
def test_random_jobs_release_ancestors_of_their_records_in_classes_that_hold_and_lose_no_more(
    problem, algorithm, block
):
    assume(problem["people"] is None)
    problem["models"] = list({written_out(model): model for model in problem["models"]}.values())
    problem["combine"] = "sum" if problem["combine"] == "sum" else "arithmetic-mean"
    with tempfile.TemporaryDirectory() as folder:
        settings_of = {"recoding": {"algorithm": algorithm, "block_tuples": block, "bound_passes": 2}}
        job, result, full = recoded(problem, folder, **settings_of)
        assert all(finding.holds for finding in verify(result.table, job, result.report))
        if result.published["solution"]["suppressed"] is not None:
            assert all(finding.holds for finding in verify(result.table, job, result.published))
    names, found, other = build.names(problem), result.report["solution"], full.report["solution"]
    assert found["levels"] is None
    assert found["information_loss"] <= other["information_loss"] * (1 + 1e-9)
    rows = result.table.to_pylist()
    source = build.table(problem).to_pylist()
    if result.report["suppressed_class"]["form"] != "drop":
        assert collections.Counter(row["s"] for row in rows) == collections.Counter(row["s"] for row in source)
        shown = [[*(allowed(problem, name, row[name]) for name in names), {row["s"]}] for row in source]
        assert plain.matches(shown, [tuple(row[name] for name in [*names, "s"]) for row in rows])
    least = max((model["k"] for model in problem["models"] if model["model"] == "k-anonymity"), default=1)
    sizes = collections.Counter(tuple(row[name] for name in names) for row in rows)
    assert all(size >= least for size in sizes.values())


@st.composite
def few_records(draw):
    """Draw at most seven records of two or three columns, and k."""
    hierarchies = draw(st.lists(st.sampled_from(TREES), min_size=2, max_size=3))
    row = st.tuples(*(st.sampled_from([path[0] for path in table]) for table in hierarchies))
    k = draw(st.integers(2, 3))
    rows = draw(st.lists(row, min_size=k, max_size=7))
    return {
        "hierarchies": hierarchies,
        "weights": draw(st.lists(st.sampled_from([0.5, 1.0]), min_size=len(hierarchies), max_size=len(hierarchies))),
        "records": [(values, {"s": "x"}) for values in rows],
        "models": [{"model": "k-anonymity", "k": k}],
        "limit": 0.0,
        "measure": "loss",
        "combine": "arithmetic-mean",
        "f": 0.5,
        "missing": [()] * len(hierarchies),
    }


@RANDOM
@given(few_records(), st.integers(1, 6), st.sampled_from([1, 60, 10**6]))
def test_the_best_of_all_recodings_is_between_the_bound_and_what_is_found(problem, passes, visits):
    with tempfile.TemporaryDirectory() as folder:
        settings_of = {"recoding": {"bound_passes": passes, "bound_gap": 0, "bound_visits": visits}}
        _, result, full = recoded(problem, folder, **settings_of)
    rows = [values for values, _ in problem["records"]]
    best = plain.least_loss(rows, problem["hierarchies"], problem["weights"], problem["models"][0]["k"])
    found = result.report["solution"]
    assert best is not None  # all of them under the roots are one
    assert best - 1e-12 <= found["information_loss"] <= full.report["solution"]["information_loss"] + 1e-12
    assert found["lower_bound"] <= best + 1e-12


@RANDOM
@given(few_records(), st.sampled_from([0.15, 0.3, 0.5, 1.0]), st.sampled_from([0.0, 0.1, 0.25, 0.5]))
def test_with_suppression_the_best_of_all_recodings_is_between_the_bound_and_what_is_found(problem, limit, f):
    problem |= {"limit": limit, "f": f, "records": problem["records"][:6]}
    assume(len(problem["records"]) >= problem["models"][0]["k"])
    with tempfile.TemporaryDirectory() as folder:
        _, result, full = recoded(problem, folder, recoding={"bound_gap": 0})
    rows = [values for values, _ in problem["records"]]
    k, most = problem["models"][0]["k"], math.floor(limit * len(rows))
    # below one half, suppressing a record costs twice the factor of what generalizing it to the roots does
    best = plain.least_loss_with_suppression(rows, problem["hierarchies"], problem["weights"], k, most, 2 * f)
    found = result.report["solution"]
    assert best - 1e-12 <= found["information_loss"] <= full.report["solution"]["information_loss"] + 1e-12
    assert found["lower_bound"] <= best + 1e-12


def test_with_suppression_for_nothing_the_records_that_must_stay_have_a_bound():
    job, table = ages(100)
    free = {"measure": "loss", "generalization_suppression_factor": 0}
    found = run({**job, "utility": free, "suppression_limit": 0.05}, table).report["solution"]
    assert 0 < found["lower_bound"] <= found["information_loss"]


@st.composite
def few_sensitive_records(draw):
    """Draw at most seven records with a sensitive value each, and l or t."""
    problem = draw(few_records())
    values = [draw(st.sampled_from("xyz")) for _ in problem["records"]]
    problem["records"] = [(row, {"s": value}) for (row, _), value in zip(problem["records"], values, strict=True)]
    least, t = draw(st.integers(2, 3)), draw(st.sampled_from([0.1, 0.25, 0.4, 0.6]))
    diverse = {"model": "l-diversity", "variant": "distinct", "attribute": "s", "l": least}
    close = {"model": "t-closeness", "distance": "equal", "attribute": "s", "t": t}
    further = draw(st.sampled_from([[diverse], [close], [diverse, close]]))
    problem["models"] = problem["models"] + further

    def holds(one):
        shown = collections.Counter(values[r] for r in one)
        distance = sum(abs(shown[v] / len(one) - values.count(v) / len(values)) for v in "xyz") / 2
        return all(len(shown) >= least if model is diverse else distance <= t + 1e-12 for model in further)

    return problem, holds


@RANDOM
@given(few_sensitive_records())
def test_with_sensitive_values_the_best_of_all_recodings_is_between_the_bound_and_what_is_found(case):
    problem, holds = case
    with tempfile.TemporaryDirectory() as folder:
        _, result, full = recoded(problem, folder)
    rows = [values for values, _ in problem["records"]]
    best = plain.least_loss(rows, problem["hierarchies"], problem["weights"], problem["models"][0]["k"], holds)
    found = result.report["solution"]
    assert best is not None
    assert best - 1e-12 <= found["information_loss"] <= full.report["solution"]["information_loss"] + 1e-12
    assert found["lower_bound"] <= best + 1e-12


@st.composite
def few_records_judged_together(draw):
    """Draw at most seven records, and a model of all classes: how many per record, or how many records are alone."""
    problem = draw(few_records())
    threshold = draw(st.sampled_from([0.15, 0.25, 0.3, 0.4, 0.5, 0.7]))
    number, mean = len(problem["records"]), draw(st.booleans())
    name = "average-risk" if mean else "sample-uniqueness"
    problem["models"] = [{"model": name, "threshold": threshold}]

    def holds(classes):
        counted = len(classes) if mean else sum(len(one) == 1 for one in classes)
        return counted / number <= threshold

    return problem, holds


@RANDOM
@given(few_records_judged_together())
def test_with_a_model_of_all_classes_the_best_of_all_recodings_is_between_the_bound_and_what_is_found(case):
    problem, holds = case
    with tempfile.TemporaryDirectory() as folder:
        job, result, full = recoded(problem, folder)
        assert all(finding.holds for finding in verify(result.table, job, result.report))
    rows = [values for values, _ in problem["records"]]
    best = plain.least_loss(rows, problem["hierarchies"], problem["weights"], 1, together=holds)
    found = result.report["solution"]
    assert best is not None
    assert best - 1e-12 <= found["information_loss"] <= full.report["solution"]["information_loss"] + 1e-12
    assert found["lower_bound"] <= best + 1e-12


def test_a_mean_class_of_a_size_costs_less_than_classes_of_that_size_and_than_levels_for_all():
    job, table = ages(600)

    def loss(model, **changes):
        changed = {**job, "privacy": [model], **changes}
        result = run(changed, table)
        assert all(finding.holds for finding in verify(result.table, load_job(changed), result.report))
        return result.report["solution"]["information_loss"]

    mean = {"model": "average-risk", "threshold": 1 / 8}
    found = loss(mean, recoding={"bound_passes": 0})
    assert found < loss({"model": "k-anonymity", "k": 8}, recoding={"bound_passes": 0})
    assert found < loss(mean, transformation="full-domain")


@pytest.mark.parametrize(
    "model",
    [
        {"model": "l-diversity", "variant": "distinct", "l": 3},
        {"model": "l-diversity", "variant": "recursive", "l": 2, "c": 2.0},
        {"model": "t-closeness", "distance": "equal", "t": 0.4},
        {"model": "t-closeness", "distance": "ordered", "t": 0.3},
    ],
)
def test_joining_loses_less_than_splitting_where_values_follow_the_age(model):
    job, table = ages(300)
    # every other record has the value of its age: the younger ones have others than the older ones
    draws = np.random.default_rng(3).integers(0, 4, 300).tolist()
    own = [int(age) // 10 - 2 for age in table["age"].to_pylist()]
    values = [str(one if nth % 2 else draws[nth]) for nth, one in enumerate(own)]
    table = table.append_column("s", [values])
    attributes = {**job["attributes"], "s": {"role": "sensitive", "order": "text"}}
    job = {**job, "attributes": attributes, "privacy": [*job["privacy"], {**model, "attribute": "s"}]}
    losses = []
    for algorithm in ("clustering", "splitting"):
        result = run({**job, "recoding": {"algorithm": algorithm, "bound_passes": 0}}, table)
        assert all(finding.holds for finding in verify(result.table, load_job(job), result.report))
        losses.append(result.report["solution"]["information_loss"])
    assert losses[0] < 0.97 * losses[1], losses


def ages(count):
    """Return a job and a table of ages and postcodes, of which many are equal."""
    draws = np.random.default_rng(7)
    table = pa.table(
        {
            "age": [str(age) for age in draws.integers(20, 60, count)],
            "zip": [f"{code:04d}" for code in draws.integers(0, 40, count) * 7],
        }
    )
    job = {
        "name": "ages",
        "transformation": "local-recoding",
        "attributes": {
            "age": {"role": "quasi-identifying", "hierarchy": {"builder": "interval", "widths": [5, 20]}},
            "zip": {"role": "quasi-identifying", "hierarchy": {"builder": "redaction", "length": 4}},
        },
        "privacy": [{"model": "k-anonymity", "k": 5}],
    }
    return job, table


def test_the_same_table_has_the_same_classes_each_time():
    job, table = ages(600)
    found = [run(job, table) for _ in range(2)]
    first, second = (collections.Counter(map(tuple, one.table.to_pandas().values.tolist())) for one in found)
    assert first == second
    assert found[0].report["solution"] == found[1].report["solution"]


def test_several_threads_find_what_one_does():
    job, table = ages(600)
    settings_of = {"recoding": {"block_tuples": 50}}
    one, two = (run({**job, **settings_of, "search": {"threads": n}}, table).report["solution"] for n in (1, 2))
    assert one == two


def test_equal_records_are_split_at_random():
    rows = [("31", "0001")] * 7 + [("32", "0001")] * 3
    table = pa.table({"age": [age for age, _ in rows], "zip": [code for _, code in rows], "nth": list(range(10))})
    job, _ = ages(10)
    job["attributes"]["nth"] = {"role": "insensitive", "accept": "unique"}
    seen = set()
    for _ in range(12):
        found = run(job, table).table.to_pandas()
        coarse = found[found["age"] != "31"]
        assert len(coarse) == 5
        seen.add(tuple(sorted(coarse["nth"])))
        assert set(coarse["nth"]) >= {7, 8, 9}
    assert len(seen) > 1


def test_a_bound_rises_with_its_passes_and_holds_in_groups_of_attributes():
    job, table = ages(100)

    def bound(**settings_of):
        return run({**job, "recoding": settings_of}, table).report["solution"]["lower_bound"]

    none, once, often = (bound(bound_passes=passes, bound_gap=0) for passes in (0, 1, 8))
    assert 0 == none < once < often
    assert 0 < bound(bound_passes=1, bound_visits=1) <= once
    assert bound(bound_passes=8, bound_gap=0.999) == once


def test_columns_of_more_labels_than_a_key_has_bits_for_are_bounded_in_groups():
    """Every value is there once, so that each column must be at its root."""
    names = [f"c{number}" for number in range(8)]
    column = {"role": "quasi-identifying", "hierarchy": {"builder": "flat"}}
    job, _ = ages(10)
    job = {**job, "attributes": dict.fromkeys(names, column), "allow_empty_information": True}
    values = [f"v{number}" for number in range(300)]
    found = run(job, pa.table(dict.fromkeys(names, values))).report["solution"]
    assert found["information_loss"] == pytest.approx(1)
    assert found["lower_bound"] == pytest.approx(1)


@pytest.mark.parametrize("seconds", [1e-9, 0.05])
def test_without_time_the_best_so_far_is_released(seconds):
    job, table = ages(600)
    found = run({**job, "recoding": {"time_limit_seconds": seconds}}, table)
    full = run({**job, "transformation": "full-domain"}, table)
    assert found.report["solution"]["information_loss"] <= full.report["solution"]["information_loss"]


@pytest.mark.parametrize("part", ["clustered", "improved", "lower_bound"])
def test_an_interrupt_leaves_the_best_so_far_with_what_is_proven_by_then(monkeypatch, part):
    job, table = ages(600)
    split = run({**job, "recoding": {"algorithm": "splitting", "bound_passes": 0}}, table).report["solution"]

    def interrupted(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(local, part, interrupted)
        result = run(job, table)
    assert all(finding.holds for finding in verify(result.table, load_job(job), result.report))
    found = result.report["solution"]
    assert found["lower_bound"] == (0 if part == "lower_bound" else bound_of_one_pass(job, table))
    if part != "clustered":
        assert found["information_loss"] < split["information_loss"]


def bound_of_one_pass(job, table):
    return run({**job, "recoding": {"bound_passes": 1}}, table).report["solution"]["lower_bound"]


def interrupting(monkeypatch, owner, name, nth):
    """Let the `nth` call of a function be interrupted."""
    function, calls = getattr(owner, name), itertools.count(1)

    def interrupted(*arguments, **settings_of):
        if next(calls) == nth:
            raise KeyboardInterrupt
        return function(*arguments, **settings_of)

    monkeypatch.setattr(owner, name, interrupted)


@pytest.mark.parametrize(
    ("owner", "name", "nth", "without"),
    [
        (Splitting, "_choose", 8, {"transformation": "full-domain"}),
        (local_search._Search, "_failing", 2, None),
        (lower_bound, "_proven", 2, {"recoding": {"algorithm": "splitting"}}),
    ],
)
def test_an_interrupt_between_two_rounds_leaves_what_the_rounds_before_have_found(
    monkeypatch, owner, name, nth, without
):
    job, table = ages(600)
    job = {**job, "recoding": {"bound_passes": 2, "bound_gap": 0}}
    if without is None:
        with monkeypatch.context() as patched:
            patched.setattr(local, "_improved", lambda *_: [])
            before = run(job, table).report["solution"]
    else:
        before = run({**job, "recoding": {}, **without}, table).report["solution"]
    once = bound_of_one_pass(job, table)
    with monkeypatch.context() as patched:
        interrupting(patched, owner, name, nth)
        result = run(job, table)
    assert all(finding.holds for finding in verify(result.table, load_job(job), result.report))
    found = result.report["solution"]
    assert found["information_loss"] < before["information_loss"]
    assert found["lower_bound"] == once > 0


def test_a_search_that_takes_all_its_time_leaves_some_for_the_bound(monkeypatch):
    job, table = ages(600)
    clock = SimpleNamespace(now=0.0, monotonic=lambda: clock.now)
    monkeypatch.setattr(deadline_of, "time", clock)

    def slow(*arguments):
        # one look at the clock after another, as a search without end would have
        while not arguments[-1].over():
            clock.now += 1.0
        return []

    monkeypatch.setattr(local, "_improved", slow)
    found = run({**job, "recoding": {"time_limit_seconds": 1000}}, table).report["solution"]
    assert clock.now < 1000
    assert found["lower_bound"] > 0


@pytest.fixture
def interruptible():
    """Let SIGINT interrupt, which a process that was begun in the background ignores."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_calls_in_threads_find_the_time_over_after_an_interrupt():
    deadline, main = Deadline(), threading.main_thread()

    def names(frame):
        while frame is not None:
            yield frame.f_code.co_name
            frame = frame.f_back

    def one(number):
        if number == 0:
            # the main thread waits for this call
            while "wait" not in names(sys._current_frames()[main.ident]):
                time.sleep(0.01)
            signal.pthread_kill(main.ident, signal.SIGINT)
            while not deadline.over():
                time.sleep(0.01)
        return deadline.over()

    assert deadline.share(one, range(20), 1) == [True] * 20

"""Verification against a recount in plain Python: what it accepts holds, and no change of a good output passes."""

from __future__ import annotations

import copy
import math
import tempfile
from pathlib import Path

import pyarrow as pa
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from engine import NoSolution, run, verify
from tests.engine import build
from tests.engine.strategies import problems
from tests.profiles import examples
from tests.reference import output as plain

SLOW_START = settings(deadline=None, suppress_health_check=list(HealthCheck), max_examples=examples(300))


def failed(findings):
    return [finding.check for finding in findings if not finding.holds]


@st.composite
def labelled_tables(draw):
    """Draw a problem, and a table of labels of its hierarchies: few rows, some starred, so that anything may hold."""
    problem = draw(problems())
    label = [st.sampled_from([*{label for row in rows for label in row}]) for rows in problem["hierarchies"]]
    row = st.one_of(st.tuples(*label), st.just(tuple("*" for _ in label)))
    few = draw(st.lists(row, min_size=1, max_size=4))
    rows = draw(st.lists(st.tuples(st.sampled_from(few), st.sampled_from("xyz")), min_size=1, max_size=20))
    return problem, rows


@SLOW_START
@given(labelled_tables())
def test_an_output_without_its_report_is_recounted_as_plain_python_does(case):
    problem, rows = case
    names = build.names(problem)
    table = build.table({**problem, "records": [(values, {"s": s}) for values, s in rows]})
    with tempfile.TemporaryDirectory() as folder:
        findings = {(f.check, f.column): f for f in verify(table, build.job(problem, Path(folder)))}
    mappings = [dict(zip([*names, "s"], [*values, s], strict=True)) for values, s in rows]
    starred = [row for row in mappings if plain.is_starred(row, names)]
    everything = len(starred) == len(rows)
    if everything:
        kept = [] if problem["limit"] == 1 else mappings
        suppressed = 0
    else:
        kept = [row for row in mappings if row not in starred]
        suppressed = len(starred)
    assert findings["suppression-limit", None].holds == (suppressed <= math.floor(problem["limit"] * len(rows)))
    groups = plain.classes(kept, names, "s")
    for model in problem["models"]:
        finding = findings[model["model"], model.get("attribute")]
        figure = plain.observed(groups, model)
        assert finding.observed == figure
        assert finding.required == plain.required(model)
        assert finding.holds == (figure is None or figure >= plain.required(model))
    for name, tree in zip(names, problem["hierarchies"], strict=True):
        foreign = {row[name] for row in kept} - {label for row in tree for label in row}
        assert findings["labels", name].observed == len(foreign)


FIGURES = [
    *(("classes", key) for key in ("number", "smallest", "median", "largest")),
    *(("risk", key) for key in ("prosecutor", "journalist", "marketer")),
    *(("privacy", key) for key in ("observed", "holds", "required", "sense", "margin")),
    ("distribution", "from"),
    ("distribution", "to"),
    ("distribution", "classes"),
    ("distribution", "records"),
    ("report", "privacy_margin"),
]


def change_label(draw, rows, trees, report):
    name = draw(st.sampled_from(list(trees)))
    labels = sorted({label for entry in trees[name] for label in entry})
    draw(st.sampled_from(rows))[name] = draw(st.sampled_from([*labels, "*", "foreign", None]))


def star(draw, rows, trees, report):
    row = draw(st.sampled_from(rows))
    row.update(dict.fromkeys(draw(st.sets(st.sampled_from(list(trees)), min_size=1)), "*"))


def unsuppress(draw, rows, trees, report):
    gone = [row for row in rows if plain.is_starred(row, trees)]
    assume(gone)
    levels = report["solution"]["levels"]
    gone[0].update({name: draw(st.sampled_from(tree))[levels[name]] for name, tree in trees.items()})


def delete(draw, rows, trees, report):
    rows.remove(draw(st.sampled_from(rows)))


def repeat(draw, rows, trees, report):
    rows.append(dict(draw(st.sampled_from(rows))))


def change_sensitive(draw, rows, trees, report):
    draw(st.sampled_from(rows))["s"] = draw(st.sampled_from(["x", "y", "z", None]))


def change_level(draw, rows, trees, report):
    report["solution"]["levels"][draw(st.sampled_from(list(trees)))] += draw(st.sampled_from([-1, 1]))


def change_suppressed(draw, rows, trees, report):
    more = draw(st.integers(-3, 3))
    report["solution"]["suppressed"] += more
    report["suppressed_class"]["records"] += more


def change_rows(draw, rows, trees, report):
    report["rows"] += draw(st.integers(-2, 2))


def change_figure(draw, rows, trees, report):
    part, key = draw(st.sampled_from(FIGURES))
    bins = report["classes"]["distribution"]
    places = {"privacy": report["privacy"][0], "distribution": bins[0] if bins else {}, "report": report}
    place = places.get(part) or report.get(part, {})
    others = {"holds": [False], "sense": [None, "at-least", "at-most"]}
    place[key] = draw(st.sampled_from(others.get(key, [None, 0, 1, 2, 0.5])))


CHANGES = [
    change_label,
    star,
    unsuppress,
    delete,
    repeat,
    change_sensitive,
    change_level,
    change_suppressed,
    change_rows,
    change_figure,
]


@SLOW_START
@given(problems(), st.data())
def test_a_changed_output_or_report_passes_only_if_everything_still_holds(problem, data):
    names = build.names(problem)
    with tempfile.TemporaryDirectory() as folder:
        job = build.job(problem, Path(folder))
        try:
            result = run(job, table=build.table(problem))
        except NoSolution:
            assume(False)
        trees = dict(zip(names, problem["hierarchies"], strict=True))
        original = result.table.to_pylist()
        assert plain.holds(original, trees, problem["models"], problem["limit"], result.report)
        assume(original)
        rows, report = copy.deepcopy(original), copy.deepcopy(result.report)
        data.draw(st.sampled_from(CHANGES))(data.draw, rows, trees, report)
        table = pa.Table.from_pylist(rows, schema=result.table.schema)
        truth = plain.holds(rows, trees, problem["models"], problem["limit"], report)
        findings = verify(table, job, report)
    assert (failed(findings) == []) == truth

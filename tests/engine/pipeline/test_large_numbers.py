"""Large numbers in job and data files: memory and time follow the records, or the job is refused at once."""

from __future__ import annotations

import subprocess
import sys
import tracemalloc
from types import SimpleNamespace

import pyarrow as pa
import pytest

from engine import InvalidJob, NoSolution, load_job, run, verify
from engine.job.job import Job
from engine.tables.sources.source import _unique

TABLE = pa.table({"q": ["1", "1", "2", "2"] * 5, "s": ["u", "v", "u", "v"] * 5, "n": list(range(20))})
SECONDS = 60
"""Far more than any of these takes, far less than before."""


def job(model, limit=0.0, hierarchy=None, **sections):
    hierarchy = hierarchy or {"builder": "redaction", "length": 1}
    return load_job(
        {
            "name": "large",
            "attributes": {
                "q": {"role": "quasi-identifying", "hierarchy": hierarchy},
                "s": {"role": "sensitive"},
                "n": {"role": "sensitive"},
            },
            "privacy": [model],
            "suppression_limit": limit,
            **sections,
        }
    )


MODELS = {
    "k": {"model": "k-anonymity"},
    "k of numbers": {"model": "k-e-anonymity", "attribute": "n", "e": 1.0},
    "l": {"model": "l-diversity", "variant": "distinct", "attribute": "s"},
    "l of entropy": {"model": "l-diversity", "variant": "shannon-entropy", "attribute": "s"},
    "l of ranks": {"model": "l-diversity", "variant": "recursive", "attribute": "s", "c": 2.0},
}


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("size", [2**31 - 1, 10**15])
def test_a_class_size_beyond_the_table_has_no_solution_or_suppresses_everything(kind, size):
    model = {**MODELS[kind], kind[0]: float(size) if kind == "l of entropy" else size}
    with pytest.raises(NoSolution):
        run(job(model), TABLE)
    this = job(model, limit=1.0, allow_empty_information=True)
    result = run(this, TABLE)
    assert result.report["solution"]["suppressed"] == 20
    assert all(finding.holds for finding in verify(result.table, this, result.report))


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("size", [10**18, 2**63, 10**30])
def test_a_class_size_that_nobody_counts_is_refused(kind, size):
    model = {**MODELS[kind], kind[0]: float(size) if kind == "l of entropy" else size}
    told = r"(at most 1000000000000000|from -2\^63 to 2\^63 - 1)"
    with pytest.raises(InvalidJob, match=rf"privacy\.0\.{kind[0]}: .*{told}"):
        job(model)


def test_a_class_size_of_the_frontier_is_refused_likewise():
    with pytest.raises(InvalidJob, match=r"frontier\.k_anonymity\.0: .*at most 1000000000000000"):
        job(MODELS["k"] | {"k": 2}, frontier={"k_anonymity": [10**18]})


RANKS = """
import resource
import numpy as np
from engine.kernels.diversity import largest_and_tail
resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
found = largest_and_tail(np.array([0, 2, 5]), np.array([4, 6, 1, 2, 3]), 2**31 - 1)
assert [array.tolist() for array in found] == [[6, 3], [0, 0]], found
found = largest_and_tail(np.array([0, 2, 5]), np.array([4, 6, 1, 2, 3]), 3)
assert [array.tolist() for array in found] == [[6, 3], [0, 1]], found
"""


def test_the_ranks_of_a_class_take_no_more_memory_than_its_values():
    subprocess.run([sys.executable, "-c", RANKS], check=True, timeout=SECONDS)


@pytest.mark.parametrize("model", [{"model": "k-map", "k": 10**9}, {"model": "k-anonymity", "k": 2}])
def test_a_population_of_billions_in_two_rows(tmp_path, model):
    (tmp_path / "people.csv").write_text("q,persons\n1,5000000000\n2,5000000001\n")
    people = {"population": str(tmp_path / "people.csv")}
    this = job({**model, **people} if model["model"] == "k-map" else model, risk=people)
    run(job({"model": "k-anonymity", "k": 2}), TABLE)  # what is compiled or read once
    tracemalloc.start()
    try:
        result = run(this, TABLE)
        findings = verify(result.table, this, result.report)
        assert tracemalloc.get_traced_memory()[1] < 32 << 20
    finally:
        tracemalloc.stop()
    assert all(finding.holds for finding in findings)
    assert result.report["solution"]["levels"] == {"q": 0}
    assert result.report["risk"]["journalist"] == pytest.approx(1 / 5_000_000_000)


HIERARCHIES = {
    "bounds of an interval": {"builder": "interval", "widths": [1], "lower": -(10**20), "upper": 10**20},
    "the highest age": {"builder": "age", "maximum": 10**18},
    "the top code of ages": {"builder": "age", "top_code": 10**18},
    "the length of a code": {"builder": "redaction", "length": 10**18},
    "the characters of a step": {"builder": "redaction", "length": 5, "steps": [10**18]},
    "later fanouts": {"builder": "order", "values": ["1", "2", "3"], "fanouts": [10**18, 10**18]},
}


@pytest.mark.parametrize("what", HIERARCHIES)
def test_numbers_of_hierarchies_are_refused(what):
    with pytest.raises(InvalidJob, match=r"attributes\.q\.hierarchy"):
        job({"model": "k-anonymity", "k": 2}, hierarchy=HIERARCHIES[what])


WIDE = {
    "the width of an interval": {"builder": "interval", "widths": [10**14]},
    "its origin": {"builder": "interval", "widths": [5], "origin": 10**14},
    "the width of an age band": {"builder": "age", "widths": [10**18]},
    "a first fanout": {"builder": "order", "values": ["1", "2", "3"], "fanouts": [10**18]},
}


@pytest.mark.parametrize("what", WIDE)
def test_wide_groups_are_like_others(what):
    this = job({"model": "k-anonymity", "k": 20}, hierarchy=WIDE[what])
    result = run(this, TABLE)
    assert all(finding.holds for finding in verify(result.table, this, result.report))


def test_settings_of_the_search_reserve_nothing():
    search = {"memory_megabytes": 10**18}
    result = run(job({"model": "k-anonymity", "k": 2}, search=search, frontier={"policies": 10**18}), TABLE)
    assert result.report["solution"]["levels"] == {"q": 0}


class _Names:
    """A source, as far as its names are read."""

    def __init__(self, names):
        self.schema = SimpleNamespace(names=names)


def test_the_names_of_many_columns_are_not_compared_each_with_each():
    compared = 0

    class Name(str):
        __slots__ = ()

        def __eq__(self, other):
            nonlocal compared
            compared += 1
            return str.__eq__(self, other)

        __hash__ = str.__hash__

    names = [Name(f"column {place}") for place in range(2_000)]
    assert _unique(_Names(names), "source").schema.names is names
    assert compared < 10 * len(names)


def test_the_verification_reads_the_job_once_for_all_columns(monkeypatch):
    names = [f"c{place}" for place in range(500)]
    table = pa.table({"q": ["1", "1"], **{name: ["a", "a"] for name in names}})
    document = job({"model": "k-anonymity", "k": 2}).document()
    attributes = {"q": document["attributes"]["q"], **{name: {"role": "insensitive"} for name in names}}
    this = load_job({**document, "attributes": attributes})
    reads = []
    released = Job.released.fget
    monkeypatch.setattr(Job, "released", property(lambda self: reads.append(1) or released(self)))
    result = run(this, table)
    assert all(finding.holds for finding in result.findings)
    assert len(reads) < 50

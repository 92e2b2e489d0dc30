"""Other exact algorithms on the problems of the reference solver; `test_vectors` has the default one in a whole run."""

from __future__ import annotations

import functools
import json

import pytest

from engine import load_job
from engine.job.counting import count
from engine.job.problem import problem_of
from engine.search.registry import ALGORITHMS
from engine.tables.sources.source import open_path
from engine.utility.information_loss import leading
from tests.conformance.test_vectors import VECTORS, chosen, every_vector, first_model, job_of
from tests.profiles import thorough

EXACT = ("flash", "best-first")
"""Outside the thorough profile they take the problems in turn."""
FEW = 350
"""Checks of the reference solver up to which a problem on adult is tried here: all of them take many minutes."""
WIDE = {"ambiguity", "kl-divergence"}
"""Measures whose bounds keep best-first from few nodes: outside the thorough profile they are left to the other one."""


def cases():
    if not VECTORS.is_file():
        return [
            pytest.param(None, None, marks=pytest.mark.skip(reason="needs ../shared/conformance beside the project"))
        ]
    return [
        pytest.param(algorithm, json.dumps(vector), id=f"{algorithm}-{vector['id']}")
        for number, vector in enumerate(tried())
        for algorithm in (EXACT if thorough() else [EXACT[0 if measure_of(vector) in WIDE else number % len(EXACT)]])
    ]


def tried():
    """Give the small problems on adult; in the gate, one of each first model and one of each measure."""
    small = [
        vector
        for vector in every_vector()
        if vector["dataset"] == "adult/adult.csv" and vector["expected"]["reference_checked"] <= FEW
    ]
    if thorough():
        return small
    return chosen(small, (first_model, measure_of))


def measure_of(vector):
    return vector["utility"]["measure"]


@functools.lru_cache(maxsize=1)
def counted(source, attributes, privacy):
    """Return the frequency table; the problems of one table and its models follow each other."""
    job = load_job(
        {"name": "v", "source": json.loads(source), "attributes": json.loads(attributes), **json.loads(privacy)}
    )
    return count(job, open_path(job.source.path, job.source.form)).table


@pytest.mark.slow
@pytest.mark.parametrize(("algorithm", "vector"), cases())
def test_vector(algorithm, vector):
    vector = json.loads(vector)
    job = job_of(vector)
    document = job.document()
    keys = (document["source"], document["attributes"], {"privacy": document["privacy"]})
    problem = problem_of(job, counted(*(json.dumps(key) for key in keys)))
    method = ALGORITHMS[algorithm]()
    assert method.is_exact(problem)
    found = method.run(problem)
    expected = vector["expected"]
    assert found.optimal
    assert leading(found.loss) == pytest.approx(expected["information_loss"], rel=1e-9)
    assert expected["suppressed"] in {found.suppressed, None}

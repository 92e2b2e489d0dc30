"""Random small tables of up to eight persons with several records each, and their jobs."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import strategies as st

from engine import load_job
from engine.job.counting import count, open_source
from engine.job.problem import problem_of
from tests.engine import build
from tests.engine.strategies import CLASS_MODELS, any_problems, written_out

SUMS = ("loss", "non-uniform-entropy", "precision", "height", "ambiguity")
DISTINCT = st.builds(
    lambda name, number, missing: {
        "model": "l-diversity",
        "variant": "distinct",
        "attribute": name,
        "l": number,
        **missing,
    },
    st.sampled_from(["s", "s", "z"]),
    st.integers(2, 3),
    st.sampled_from([{}, {"missing": "value"}]),
)
SIZE = st.builds(lambda k: {"model": "k-anonymity", "k": k}, st.integers(2, 4))


@st.composite
def person_problems(draw):
    """Draw a problem whose records belong to persons; models of single classes, k-anonymity among them."""
    problem = draw(any_problems().filter(lambda found: found["people"] is None))
    persons = st.integers(0, draw(st.integers(1, 7)))
    problem["records"] = [
        (values, {"s": s["s"], "z": s["z"], "person": f"p{draw(persons)}"}) for values, s in problem["records"]
    ]
    others = draw(
        st.lists(CLASS_MODELS.filter(lambda model: model["model"] != "k-anonymity"), max_size=2, unique_by=written_out)
    )
    problem["models"] = [draw(SIZE), *others]
    if any(model.get("distance") == "hierarchical" for model in others) and all(
        s["s"] is None for _, s in problem["records"]
    ):
        problem["records"][0][1]["s"] = problem["tree"][0][0]
    return problem


def job_of(problem, folder, **changes):
    """Return a job that counts the persons of a problem."""
    document = build.job(problem, folder, privacy=[{"model": "k-anonymity", "k": 2}]).document()
    document["attributes"]["person"] = {"role": "identifying"}
    for model in problem["models"]:
        if model.get("distance") == "hierarchical":
            name = model["attribute"]
            document["attributes"][name] = build._sensitive(problem, name, folder)
    return load_job({**document, "subject": "person", "privacy": problem["models"], **changes})


def search_of(problem, folder, **changes):
    """Return the job, and what its search is given."""
    job = job_of(problem, folder, **changes)
    counted = count(job, open_source(job, build.table(problem)))
    return job, problem_of(job, counted.table)


def visits(rows):
    """Make a table of visits from (person, age, ward, diagnosis)."""
    names = ("mrn", "age", "ward", "diagnosis")
    return pa.table({name: [row[place] for row in rows] for place, name in enumerate(names)})


@st.composite
def whole_person_problems(draw, models=None):
    """Draw a problem in which persons may be suppressed with all of their records."""
    problem = draw(person_problems().filter(lambda found: found["measure"] in SUMS))
    problem["unseen"] = [{"suppress": "root"}.get(one, one) for one in problem.get("unseen") or ()] or None
    if models is not None:
        problem["models"] = [draw(SIZE)]
    if models == "distinct values":
        problem["models"] += draw(st.lists(DISTINCT, min_size=1, max_size=2, unique_by=written_out))
    return problem

"""Results of the reference solver on real tables."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from engine import load_job, run
from tests.profiles import thorough

SHARED = Path(__file__).resolve().parents[2].parent / "shared"
VECTORS = SHARED / "conformance" / "vectors.jsonl"


LONG = {"cup/dd/loss/0.0"}
"""Problems that take longer than a minute: the thorough profile has them."""


def is_slow(vector):
    """Whether nothing or little can be pruned: a model that is not monotone once records may be suppressed."""
    nested = all(m["model"] == "k-anonymity" or m["model"] == "l-diversity" for m in vector["privacy"])
    return (vector["suppression_limit"] > 0 and not nested) or vector["utility"]["measure"] == "kl-divergence"


def vectors():
    if not VECTORS.is_file():
        return [pytest.param(None, marks=pytest.mark.skip(reason="needs ../shared/conformance beside the project"))]
    tried = every_vector() if thorough() else chosen(shorter_vectors())
    return [
        pytest.param(vector, id=vector["id"], marks=[pytest.mark.slow] if is_slow(vector) else []) for vector in tried
    ]


def every_vector():
    return [json.loads(line) for line in VECTORS.read_text(encoding="utf-8").splitlines()]


def shorter_vectors():
    return [vector for vector in every_vector() if vector["id"] not in LONG]


def models_of(vector):
    """Name the models of a problem, without their thresholds."""
    kept = ("model", "variant", "distance", "strict", "estimator")
    return tuple(tuple(model.get(key) for key in kept) for model in vector["privacy"])


def first_model(vector):
    """Name the first model of a problem, whatever its variant."""
    return vector["privacy"][0]["model"]


KINDS = (
    models_of,
    lambda vector: (vector["dataset"], vector["suppression_limit"] > 0),
    lambda vector: (vector["dataset"], vector["utility"]["measure"]),
    lambda vector: (first_model(vector), vector["suppression_limit"] > 0),
    lambda vector: (vector["utility"]["measure"], vector["suppression_limit"] > 0),
)
"""What makes problems of one kind, in several ways: in each of them the gate tries a problem of each kind."""


def chosen(problems, ways=KINDS):
    """Give few problems that are of all kinds, each way; the smaller ones of those that add equally many."""

    def kinds(vector):
        return {(number, kind(vector)) for number, kind in enumerate(ways)}

    missing, found = set().union(*map(kinds, problems)), []
    while missing:
        best = min(
            problems,
            key=lambda one: (
                -len(kinds(one) & missing),
                not one["dataset"].startswith("adult"),
                one["expected"]["reference_checked"],
            ),
        )
        found.append(best)
        missing -= kinds(best)
    return [vector for vector in problems if vector in found]


def job_of(vector):
    hierarchies = SHARED / "data" / vector["hierarchies"]
    source = SHARED / "data" / vector["dataset"]
    header = source.read_text(encoding="utf-8").splitlines()[0].split(";")
    attributes = {name: {"role": "insensitive", "accept": "unique"} for name in header}
    for name in vector["quasi_identifiers"]:
        attributes[name] = {"role": "quasi-identifying", "hierarchy": str(hierarchies / f"{name}.csv")}
    privacy = []
    for model in vector["privacy"]:
        located = {"subset": str(SHARED / "data" / model["subset"])} if "subset" in model else {}
        # the reference counts a missing value as one more value
        missing = {"missing": "value"} if model["model"] == "l-diversity" else {}
        privacy.append({**model, **located, **missing})
        if "attribute" in model:
            name = model["attribute"]
            attributes[name] = {"role": "sensitive", "order": vector.get("ordered_as", "text")}
            if model.get("distance") == "hierarchical":
                attributes[name]["hierarchy"] = str(hierarchies / f"{name}.csv")
    return load_job(
        {
            "name": "vector",
            "source": {"path": str(source), "delimiter": ";"},
            "attributes": attributes,
            "privacy": privacy,
            "utility": vector["utility"],
            "suppression_limit": vector["suppression_limit"],
        }
    )


@pytest.mark.parametrize("vector", vectors())
def test_vector(vector):
    expected = vector["expected"]
    report = run(job_of(vector)).report
    solution = report["solution"]
    assert solution["optimal"] is True
    assert solution["information_loss"] == pytest.approx(expected["information_loss"], rel=1e-9)
    # the reference counts what a research subset leaves out as suppressed, so that its number is not given there
    assert expected["suppressed"] in {solution["suppressed"], None}
    assert report["search"]["space"] == expected["space"]
    if solution["levels"] != expected["levels"]:
        assert tied(vector, expected["levels"], solution["information_loss"])


def tied(vector, levels, loss):
    """Whether the transformation the reference names has the same loss: it breaks ties otherwise."""
    job = job_of(vector)
    attributes = {
        name: attribute.model_copy(update={"minimum_level": levels[name], "maximum_level": levels[name]})
        if name in levels
        else attribute
        for name, attribute in job.attributes.items()
    }
    only = run(job.model_copy(update={"attributes": attributes})).report["solution"]
    return only["information_loss"] == pytest.approx(loss, rel=1e-9)


def test_the_vectors_are_there_in_number():
    if not VECTORS.is_file():
        pytest.skip("needs ../shared/conformance beside the project")
    assert len(every_vector()) >= 172
    for kind in KINDS:
        assert {kind(vector) for vector in (every_vector() if thorough() else shorter_vectors())} == {
            kind(*param.values) for param in vectors()
        }

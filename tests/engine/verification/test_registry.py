"""Every privacy model that a job can name has a recount, which declares bound and sense as the model does."""

from __future__ import annotations

from typing import get_args

import pyarrow as pa
import pytest

from engine import InvalidJob, recount
from engine.privacy.registry import MODELS
from engine.verification.registry import RECOUNTS, recount_of
from tests.engine.privacy.test_requirement import BOUNDS, model_of
from tests.places import ROOT

PRESENCE = {"model": "delta-presence", "delta_min": 0.2, "delta_max": 0.9, "subset": "s.csv"}


def named():
    """Yield the name of every model, with each of its variants."""
    for kind in MODELS:
        variants = get_args(kind.model_fields["variant"].annotation) if "variant" in kind.model_fields else [None]
        for variant in variants:
            yield {"model": kind.model_fields["model"].default, **({"variant": variant} if variant else {})}


@pytest.mark.parametrize("model", list(named()), ids=str)
def test_every_model_has_one_recount(model):
    fitting = [
        one
        for one in RECOUNTS
        if one.model == model["model"] and (not one.variants or model.get("variant") in one.variants)
    ]
    assert [recount_of(model)] == fitting


@pytest.mark.parametrize("model", [*(parameters for parameters, _ in BOUNDS), PRESENCE], ids=str)
@pytest.mark.parametrize("kept", [True, False])
def test_bound_and_sense_are_those_of_the_model(model, kept):
    table = pa.table({"q": ["x"] * 3, "s": ["1", "2", "2"]})
    population = pa.table({"q": ["x"], "people": [10], "released": [3]})
    found = recount(
        table,
        ["q"],
        model_of(model),
        {"order": "integer"},
        kept=table if kept else table.slice(0, 0),
        population=population,
    )
    assert (found.required, found.sense) == model_of(model).requirement(found.observed)


def test_what_has_no_recount_is_refused():
    with pytest.raises(InvalidJob, match=r"model 'x-anonymity' cannot be verified; verified are k-anonymity, l-div"):
        recount_of({"model": "x-anonymity"})
    with pytest.raises(InvalidJob, match=r"variant None of l-diversity cannot be verified; verified are distinct, sh"):
        recount_of({"model": "l-diversity"})


def test_every_model_is_explained():
    text = (ROOT / "docs" / "criteria.md").read_text(encoding="utf-8")
    assert [kind for kind in MODELS if f"| `{kind.model_fields['model'].default}` |" not in text] == []

"""What a differentially private job must say, must not say, and how it is told."""

from __future__ import annotations

import copy

import pytest

from engine import InvalidJob, load_job, run
from tests.engine.private_jobs import DOCUMENT, private, source


def test_a_job_that_says_what_it_must():
    job = private()
    assert job.is_private
    assert job.minimum_class_size == 24
    assert private(privacy=[*DOCUMENT["privacy"], {"model": "k-anonymity", "k": 30}]).minimum_class_size == 30
    assert not load_job({**DOCUMENT, "privacy": [{"model": "k-anonymity", "k": 3}]}).is_private


MODEL = DOCUMENT["privacy"][0]


@pytest.mark.parametrize(
    ("model", "words"),
    [
        ({"epsilon": 0}, r"privacy\.0.*epsilon: .*0\.001"),
        ({"epsilon": -1}, r"epsilon: .*0\.001"),
        ({"epsilon": True}, "epsilon"),
        ({"epsilon": 21}, r"epsilon: .*20"),
        (
            {"epsilon": 0.69},
            r"epsilon is 0\.69, must be at least -ln\(1 - sampling_fraction\), which is 0\.693147",
        ),
        ({"delta": 0}, r"delta: .*1e-12"),
        ({"delta": 0.01}, r"delta: .*0\.001"),
        ({"sampling_fraction": 1.0}, r"sampling_fraction: .*0\.999"),
        ({"sampling_fraction": 0.0}, r"sampling_fraction: .*0\.001"),
        ({"sampling_fraction": 0.4}, r"needs sample: \{fraction: 0\.4\}"),
        ({"sampling_fraction": None}, "sampling_fraction"),
        ({"search_epsilon": -1.0}, "search_epsilon"),
        ({"search_epsilon": 1.31}, r"must without search_epsilon, 1\.31, be at least -ln\(1 - sampling_fraction\)"),
        ({"search_epsilon": 0.1}, "has levels to draw, and each column has one: set search_epsilon: 0"),
    ],
)
def test_a_parameter_out_of_range_is_refused(model, words):
    with pytest.raises(InvalidJob, match=words):
        private(privacy=[{**MODEL, **model}])


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"sample": None}, r"needs sample: \{fraction: 0\.5\}"),
        ({"sample": {"fraction": 0.25}}, r"needs sample: \{fraction: 0\.5\}"),
        ({"unit": None}, "say unit: record"),
        ({"privacy": [MODEL, {"model": "average-risk", "threshold": 0.1}]}, "take average-risk out"),
        ({"privacy": [MODEL, {"model": "k-map", "k": 3, "population": "people.csv"}]}, "take k-map out"),
        ({"privacy": [MODEL, {**MODEL, "epsilon": 3}]}, "is named twice"),
        ({"risk": {"population": "people.csv"}}, r"risk\.population"),
        ({"suppression_limit": 0.1}, "does not go with suppression_limit"),
        ({"memory_limit": "1GB"}, "does not go with memory_limit"),
        ({"search": {"time_limit_seconds": 5}}, "does not go with search"),
        ({"search": {"algorithm": "flash"}}, "does not go with search"),
        ({"transformation": "local-recoding"}, "does not go with transformation"),
        ({"drift": {"facts": "facts.json"}}, "does not go with drift"),
        ({"frontier": {"policies": 10}}, "does not go with frontier"),
        ({"backend": "sql"}, "sql"),
    ],
)
def test_what_is_not_part_of_the_proof_is_refused(changes, words):
    with pytest.raises(InvalidJob, match=words):
        private(**changes)


@pytest.mark.parametrize(
    ("column", "words"),
    [
        ({"role": "sensitive"}, "'zip' must be quasi-identifying"),
        ({"role": "insensitive"}, "'zip' must be quasi-identifying"),
        ({"role": "identifying", "action": "pseudonymize", "accept": "linked-rows"}, "'zip' must be quasi-identifying"),
        ({**DOCUMENT["attributes"]["zip"], "maximum_level": 2}, "give 'zip' the same minimum_level and maximum_level"),
        ({**DOCUMENT["attributes"]["zip"], "maximum_level": None}, "give 'zip' the same"),
        ({**DOCUMENT["attributes"]["zip"], "unseen": "error"}, "say unseen: root for 'zip'"),
        ({**DOCUMENT["attributes"]["zip"], "unseen": "suppress"}, "say unseen: root for 'zip'"),
        ({**DOCUMENT["attributes"]["zip"], "nulls": "error"}, r"attributes\.zip\.nulls"),
        (
            {**DOCUMENT["attributes"]["zip"], "minimum_level": 3, "maximum_level": 3},
            r"attributes\.zip\.maximum_level: is 3, allowed is 0 to 2, below the root",
        ),
        ({"role": "quasi-identifying", "microaggregation": "mode"}, r"attributes\.zip\.microaggregation"),
    ],
)
def test_a_column_that_it_does_not_cover_is_refused(column, words):
    document = copy.deepcopy(DOCUMENT)
    document["attributes"]["zip"] = column
    with pytest.raises(InvalidJob, match=words):
        load_job(document)


def test_levels_that_are_drawn_need_their_part_of_epsilon_and_an_end():
    document = copy.deepcopy(DOCUMENT)
    document["privacy"] = [{**MODEL, "search_epsilon": 0.5}]
    document["attributes"]["zip"] |= {"minimum_level": 0, "maximum_level": 2}
    assert load_job(document).minimum_class_size == private(privacy=[{**MODEL, "epsilon": 1.5}]).minimum_class_size
    del document["attributes"]["zip"]["maximum_level"]
    with pytest.raises(InvalidJob, match="draws levels below the root: give 'zip' a maximum_level"):
        load_job(document)
    long = {"role": "quasi-identifying", "hierarchy": {"builder": "redaction", "length": 20}, "unseen": "root"}
    document["attributes"] |= {f"code {place}": {**long, "maximum_level": 19} for place in range(3)}
    document["attributes"]["zip"]["maximum_level"] = 0
    with pytest.raises(InvalidJob, match="draws levels of at most 4,096 combinations, and 8,000 are allowed"):
        load_job(document)


def test_all_that_is_wrong_is_told_at_once():
    with pytest.raises(InvalidJob) as problem:
        private(unit=None, sample=None, suppression_limit=0.5)
    assert all(words in str(problem.value) for words in ("unit: record", "needs sample", "suppression_limit"))


def test_every_key_of_a_job_is_allowed_or_refused():
    """A key that is added to jobs is refused until somebody says that it goes with the model."""
    from engine.job.attribute import Attribute  # noqa: PLC0415
    from engine.job.differential_privacy import _FREE, _OF_COLUMN  # noqa: PLC0415
    from engine.job.job import Job  # noqa: PLC0415

    assert set(Job.model_fields) >= _FREE
    assert set(Attribute.model_fields) >= _OF_COLUMN
    assert {"tables", "subject", "series", "shift", "choose", "suppress", "max_rows"}.isdisjoint(_FREE)


@pytest.mark.parametrize(
    ("rows", "level", "words"),
    [
        ("121;12;a\n131;13;b\n", 1, "ends in several labels"),
        ("121;12;*\n131;13;*\n", 2, "allowed is 0 to 1, below the root"),
    ],
)
def test_a_hierarchy_of_a_file_is_looked_at_before_the_table_is(tmp_path, rows, level, words):
    class Unread:
        """A table that nobody may read."""

        schema = source().schema

        def batches(self, columns):
            raise AssertionError(columns)

    (tmp_path / "zip.csv").write_text(rows)
    levels = {"minimum_level": level, "maximum_level": level, "unseen": "root"}
    column = {"role": "quasi-identifying", "hierarchy": str(tmp_path / "zip.csv"), **levels}
    document = {**DOCUMENT, "attributes": {**DOCUMENT["attributes"], "zip": column}}
    with pytest.raises(InvalidJob, match=words):
        run(document, table=Unread())

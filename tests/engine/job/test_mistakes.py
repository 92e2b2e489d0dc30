"""What a person mistypes in a job file: the error says what was read, what is allowed, and how it is written."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from engine import InvalidJob, load_job, verify
from engine.job.job import Job

BASE: dict[str, Any] = {
    "name": "people",
    "source": {"path": "people.csv"},
    "attributes": {
        "age": {"role": "quasi-identifying", "hierarchy": {"builder": "age"}},
        "zip": {"role": "quasi-identifying", "hierarchy": {"builder": "redaction", "length": 5}},
        "diagnosis": {"role": "sensitive"},
    },
    "privacy": [{"model": "k-anonymity", "k": 5}],
    "output": {"path": "release"},
}


def refusal(**changes):
    with pytest.raises(InvalidJob) as problem:
        load_job({**BASE, **changes})
    return str(problem.value)


def with_hierarchy(name, **keys):
    return {**BASE["attributes"], name: {"role": "quasi-identifying", "hierarchy": keys}}


def lax(node: Any, place: str = "", seen: frozenset[int] = frozenset()) -> Iterator[str]:
    """Yield the places of a schema of pydantic at which a number or a truth value is made of something else."""
    if isinstance(node, dict):
        if node.get("type") in ("int", "float", "bool") and not node.get("strict"):
            yield place
        if id(node) not in seen:
            for key, part in node.items():
                if key not in ("metadata", "serialization"):
                    yield from lax(part, f"{place}.{key}", seen | {id(node)})
    elif isinstance(node, list | tuple):
        for part in node:
            yield from lax(part, place, seen)


@pytest.mark.parametrize(
    ("width", "why"),
    [
        (10**15, "must have at most 15 digits before the point; choose another"),
        ("1e17", "must have at most 15 digits before the point; choose another"),
        ("0.00000000001", "must have at most 10 digits after the point; round it"),
        ("123456789012345.12345678901", "must have at most 25 digits; round it"),
        ("ten", "must be a number, such as 5 or 2.5"),
        ("2,5", "must be a number, such as 5 or 2.5"),
        (None, "must be a number, such as 5 or 2.5"),
        ([5], "must be a number, such as 5 or 2.5"),
    ],
)
def test_decimals_are_told_with_their_range(width, why):
    told = refusal(attributes=with_hierarchy("age", builder="interval", type="decimal", widths=[width]))
    assert told.endswith(f"attributes.age.hierarchy.widths.0: {why}")


@pytest.mark.parametrize("value", ["x", "10", [1]])
def test_a_number_of_either_kind_is_told_of_once(value):
    days = {"days": {"role": "insensitive", "order": "integer", "coding": {"round_to": value}}}
    told = refusal(attributes={**BASE["attributes"], **days})
    assert told.count("round_to") == 1
    assert "attributes.days.coding.round_to: must be a number" in told


def test_no_number_is_made_of_a_text_or_of_yes():
    assert list(lax(Job.__pydantic_core_schema__)) == []


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"utility": {"measure": "loss", "generalization_suppression_factor": True}}, "_factor: must be a number"),
        ({"attributes": with_hierarchy("zip", builder="redaction", length=True)}, "length: must be a whole number"),
        ({"dag": {"retries": True}}, "dag.retries: must be a whole number"),
        ({"dag": {"retries": "2"}}, "dag.retries: must be a whole number, at least 0"),
        ({"dag": {"retries": "2"}}, "1000; write it without quotes"),
        ({"privacy": [{"model": "k-anonymity", "k": "5"}]}, "privacy.0.k: must be a whole number"),
        ({"search": {"start": {"age": True, "zip": 0}}}, "search.start.age: must be a whole number, and is True"),
        (
            {"suppression_limit": "0.05"},
            "suppression_limit: must be a number, at least 0 and at most 1; write 0.05, wit",
        ),
        ({"suppression_limit": "5%"}, "suppression_limit: must be a number, at least 0 and at most 1; write 0.05, wit"),
        ({"suppression_limit": "2,5 %"}, "at most 1; write 0.025, without quotes"),
        ({"suppression_limit": "0,05"}, "at most 1; write 0.05, without quotes"),
        ({"dag": {"retry_delay_seconds": "5m"}}, "at most 31536000; write it without quotes and unit"),
        ({"dag": {"deferrable": "maybe"}}, "dag.deferrable: must be true or false, without quotes"),
    ],
)
def test_a_word_is_no_number(changes, text):
    assert text in refusal(**changes)


def test_a_key_is_told_on_one_line():
    """A line end in the name of a column would make two entries of one in a log, and a mark could turn its text."""
    told = refusal(attributes={"a\nb": {"role": "sensitve"}, "c\u202ed": 5, "é": 5})
    assert r"attributes.a\nb.role: " in told
    assert r"attributes.c\u202ed: " in told
    assert "attributes.é: " in told
    assert told.isprintable()


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"suppression_limit": 5}, "and is 5; 5 per cent are 0.05"),
        ({"suppression_limit": 2.5}, "and is 2.5; 2.5 per cent are 0.025"),
        ({"search": {"gap": 100}}, "below 1, and is 100; 100 per cent are 1"),
    ],
)
def test_a_share_is_no_percentage(changes, text):
    assert refusal(**changes).endswith(text)


@pytest.mark.parametrize(
    "changes",
    [
        {"suppression_limit": -5},
        {"suppression_limit": 101},
        {"privacy": [{"model": "k-anonymity", "k": 1}]},
        {"dag": {"retries": 2000}},
    ],
)
def test_other_numbers_are_no_percentages(changes):
    assert "per cent" not in refusal(**changes)


def role(word):
    return refusal(attributes={**BASE["attributes"], "diagnosis": {"role": word}})


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("sensitve", "sensitive"),
        ("Sensitive", "sensitive"),
        ("quasi_identifying", "quasi-identifying"),
        ("quasi identifying", "quasi-identifying"),
    ],
)
def test_a_mistyped_word_is_told_with_the_one_that_is_meant(word, meant):
    """The nearest text to 'Sensitive' would be 'insensitive', which releases the column without a limit."""
    allowed = "'quasi-identifying', 'sensitive', 'identifying' or 'insensitive'"
    assert f"attributes.diagnosis.role: is {word!r}, allowed are {allowed}; did you mean {meant!r}?" in role(word)


def test_a_word_like_no_other_has_no_hint():
    assert role("qi").endswith("is 'qi', allowed are 'quasi-identifying', 'sensitive', 'identifying' or 'insensitive'")


def test_a_relative_path_is_told_with_the_folder_in_which_it_was_looked_for(tmp_path, monkeypatch):
    """A DAG file that names jobs/stays.yaml is read by processes that work anywhere."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidJob) as problem:
        load_job("jobs/stays.yaml")
    assert str(problem.value).endswith(f"; a relative path belongs to the working directory, here {tmp_path}")
    with pytest.raises(InvalidJob) as problem:
        load_job(tmp_path / "jobs/stays.yaml")
    assert str(problem.value).endswith("cannot be read (No such file or directory)")


def test_a_job_file_that_may_not_be_read_is_told_with_whom_it_concerns(monkeypatch):
    """Where it was looked for is then no question."""

    def refuse(*_args, **_more):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(Path, "read_text", refuse)
    with pytest.raises(InvalidJob) as problem:
        load_job("stays.yaml")
    assert str(problem.value).endswith("cannot be read (Permission denied); let the user who runs this read it")


def test_a_long_word_is_cut():
    assert "x" * 201 not in role("x" * 5000)


def test_a_mistyped_model_is_told_with_the_one_that_is_meant():
    told = refusal(privacy=[{"model": "k_anonymity", "k": 5}])
    assert "'model' is 'k_anonymity', allowed are 'k-anonymity', " in told
    assert told.endswith("; did you mean 'k-anonymity'?")


@pytest.mark.parametrize("word", ["person", "records"])
def test_what_is_counted_is_records_or_persons(word):
    told = refusal(unit=word)
    assert f"unit: is {word!r}, allowed is 'record'; to count persons take unit out" in told
    assert "name the identifying column of persons as subject" in told


def test_a_truth_value_that_is_fixed_is_told_as_yaml_writes_it():
    told = refusal(stability={"keep_levels": False})
    assert "stability.keep_levels: is false, allowed is true" in told


@pytest.mark.parametrize("date", ["01.02.2026", "2026-02-30", "2026-02-01 02:00:00", 3.5, True])
def test_a_date_is_a_day(date):
    assert "dag.start_date: must be a date such as 2026-01-31, without a time" in refusal(dag={"start_date": date})


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        (
            {"source": "people.csv"},
            "source: must be a mapping, such as {path: stays.csv}, or {conn_id: warehouse, table",
        ),
        ({"utility": "loss"}, "utility: must be a mapping, such as {measure: loss}"),
        ({"risk": "marketer"}, "risk: must be a mapping, such as {key: value}"),
        ({"attributes": {"age": "sensitive"}}, "attributes.age: must be a mapping, such as {role: identifying}"),
        (
            {"approval": {"by": ["c"], "expires": 20}},
            "approval.expires: must be a number of minutes, hours or days, such as 30m, 20h or 7d",
        ),
        ({"memory_limit": 4}, "memory_limit: must be a size such as 512MB, 4GB or 1.5TB"),
        ({"privacy": ["k-anonymity"]}, "privacy.0: must be a mapping, such as {model: k-anonymity, k: 5}"),
        ({"attributes": {"age:{role": "identifying}"}}, "age:{role: must be a mapping; write a blank after the colon"),
        ({"privacy": {"model": "k-anonymity"}}, "privacy: must be a list, and is a mapping; write '- ' before each"),
        ({"dag": {"tags": "nightly"}}, "dag.tags: must be a list; put [ ] around its entries"),
        ({"attributes": with_hierarchy("age", builder="age", widths=5)}, "widths: must be a list; put [ ] around"),
    ],
)
def test_the_form_of_a_key_is_told(changes, text):
    assert text in refusal(**changes)


def test_the_text_of_a_job_is_no_path():
    text = yaml.safe_dump(BASE)
    with pytest.raises(InvalidJob) as problem:
        load_job(text)
    assert str(problem.value).startswith("job: is the text of a job file; give the path of the file, or the mapping")
    assert load_job(yaml.safe_load(text)).name == "people"


@pytest.mark.parametrize("job", ["people.yaml", BASE])
def test_a_verification_takes_a_job_that_was_read(job):
    with pytest.raises(InvalidJob, match=r"job: is a (str|dict); give the Job that engine\.load_job makes of it"):
        verify("release", job)


@pytest.mark.parametrize(
    ("privacy", "text"),
    [
        ({"k": 5}, "privacy.0: the key 'model' is required, allowed are 'k-anonymity', 'k-map', 'l-diversity'"),
        ({"model": "k-anonymity"}, "privacy.0.k: this key is required, at least 2"),
        # beta-likeness has words of its own for the same key
        (
            {"model": "l-diversity", "attribute": "sex", "l": 2},
            "'variant' is required, allowed are 'distinct', 'shannon-entropy', 'grassberger-entropy', 'recursive'",
        ),
        (
            {"model": "t-closeness", "attribute": "sex"},
            "required, allowed are 'equal', 'ordered', 'hierarchical'; privacy.0.t: this key is required, at least 0",
        ),
        # the same key of population-uniqueness may be 1
        (
            {"model": "differential-privacy", "epsilon": 1, "delta": 0.0001},
            "sampling_fraction: this key is required, at least 0.001 and at most 0.999",
        ),
    ],
)
def test_a_key_that_is_not_there_is_told_with_what_it_takes(privacy, text):
    told = refusal(privacy=[privacy])
    assert text in told
    assert "enhanced" not in told


def test_the_general_limit_of_counts_is_told_only_to_those_who_are_above_it():
    assert refusal(privacy=[{"model": "k-anonymity", "k": 1}]).endswith("privacy.0.k: must be at least 2, and is 1")
    told = refusal(privacy=[{"model": "k-anonymity", "k": 10**15 + 1}])
    assert "privacy.0.k: must be at least 2 and at most 1000000000000000, and is" in told


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"attribute": {}}, "attribute: unknown key 'attribute', did you mean 'attributes'?"),
        ({"privacy": [{"model": "k-anonymity", "k": 5, "attribute": "sex"}]}, "unknown key 'attribute', remove it"),
        ({"source": {"pth": "stays.csv"}}, "source.pth: unknown key 'pth', did you mean 'path'?"),
        # levels are searched for, and those of a builder are no key of a column
        ({"attributes": {"age": {"role": "sensitive", "levels": [1]}}}, "unknown key 'levels', remove it"),
    ],
)
def test_a_hint_is_a_key_of_the_same_place(changes, text):
    assert text in refusal(**changes)

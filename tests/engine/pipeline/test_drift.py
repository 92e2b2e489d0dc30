"""A table is compared with that of the last release: what is refused, what is left out, and what is remembered."""

from __future__ import annotations

import json
import os
import re
import stat
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine import DriftRefused, InvalidJob, check, keep_drift_facts, run
from engine.pipeline.drift_acceptance import accept_drift
from engine.tables.counting.drift_facts import distance

SEXES = ["F", "M"]
VALUES = ("Xenia-secret", "diagnosis-secret")


@pytest.fixture
def night(tmp_path, monkeypatch):
    """Run the job on a table, in a folder of its own."""
    monkeypatch.chdir(tmp_path)

    def released(table, *, output="release", drift=None, **changes):
        document = {
            "name": "people",
            "attributes": {
                "age": {"role": "quasi-identifying", "hierarchy": {"builder": "age"}},
                "sex": {"role": "quasi-identifying", "hierarchy": {"builder": "flat"}},
                "dx": {"role": "sensitive"},
                "note": {"role": "insensitive"},
            },
            "privacy": [
                {"model": "k-anonymity", "k": 5},
                {"model": "l-diversity", "variant": "distinct", "attribute": "dx", "l": 2},
            ],
            "suppression_limit": 0.1,
            "drift": {"facts": "private/facts.json", **(drift or {})},
            **changes,
        }
        return run(document, table, output=output)

    return released


def people(n=2000, *, seed=1, women=0.5):
    random = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": random.integers(20, 80, n).astype(str),
            "sex": np.where(random.random(n) < women, *SEXES),
            "dx": random.choice(list("ABCDEF"), n),
            "note": np.arange(n) % 2,
        }
    )


def test_two_nights_of_the_same_population_are_alike(night):
    assert night(people(seed=1)).report["drift"]["since"] is None
    assert night(people(seed=2)).report["drift"]["since"] is not None


def with_cells(table, column, rows, value):
    table = table.copy()
    table.loc[: rows - 1, column] = value
    return table


DRIFTED = {
    "half a table": (people(900), "less than 0.5 of its records"),
    "a doubled table": (people(4100), "more than 2 times its records"),
    "other shares": (people(women=0.8), "column 'sex': the distribution"),
    "other diagnoses": (with_cells(people(), "dx", 900, "A"), "column 'dx': the distribution"),
    "missing values": (with_cells(people(), "age", 300, None), "column 'age': the share of missing values"),
    "another type": (people().assign(note="yes"), "column 'note' is of type"),
    "a new value": (with_cells(people(), "sex", 1, VALUES[0]), "column 'sex': has values that it did not have"),
    "a new diagnosis": (with_cells(people(), "dx", 1, VALUES[1]), "column 'dx': has values that it did not have"),
}


@pytest.mark.parametrize("kind", DRIFTED)
def test_a_table_that_drifted_is_refused(night, tmp_path, kind):
    table, named = DRIFTED[kind]
    watched = {"new_values": {"sex": "refuse", "dx": "refuse"}}
    night(people(), drift=watched)
    before = (tmp_path / "private/facts.json").read_bytes()
    with pytest.raises(DriftRefused, match=named) as refused:
        night(table, drift=watched, output="other")
    assert not any(value in str(refused.value) for value in VALUES)
    assert len(str(refused.value).split("; ")) <= 4, "the other columns are not named"
    assert not (tmp_path / "other").exists()
    assert (tmp_path / "private/facts.json").read_bytes() == before, "a refused night is not remembered"
    (tmp_path / "private/facts.json").unlink()
    assert night(table, drift=watched).report["drift"]["since"] is None


def test_new_values_are_quarantined_until_they_are_accepted(night, tmp_path):
    drift = {"new_values": {"sex": "quarantine"}}
    usual = people()
    night(usual, drift=drift)
    strange = with_cells(usual, "sex", 40, VALUES[0])
    for _ in range(2):
        found = night(strange, drift=drift)
        assert found.report["drift"]["quarantined"] == ["sex"]
        assert set(found.table["sex"].to_pylist()) <= {*SEXES, "*"}
        assert len(found.table) <= len(usual) - 40
        # the records that stay are those of others, counted here once more
        kept, others = Counter(found.table["dx"].to_pylist()), Counter(strange["dx"][40:])
        assert all(kept[value] <= others[value] for value in kept)
        assert VALUES[0] not in json.dumps(found.published)
    (tmp_path / "private/facts.json").unlink()
    accepted = [night(strange, drift=drift).report["drift"] for _ in range(2)]
    assert [one["since"] is None for one in accepted] == [True, False]
    assert [one["quarantined"] for one in accepted] == [[], []]


def test_few_quarantined_records_are_not_counted(night):
    drift = {"new_values": {"sex": "quarantine"}}
    night(people(), drift=drift)
    found = night(with_cells(people(), "sex", 3, VALUES[0]), drift=drift)
    assert found.published["rows"] is None
    assert found.published["suppressed_class"]["below"] == 5
    assert found.published["drift"]["quarantined"] == ["sex"]


def test_more_new_values_than_may_be_suppressed_release_nothing(night, tmp_path):
    from engine import NoSolution  # noqa: PLC0415 (of this test alone)

    drift = {"new_values": {"sex": "quarantine"}, "distance": 1.0}
    night(people(), drift=drift)
    with pytest.raises(NoSolution):
        night(with_cells(people(), "sex", 400, VALUES[0]), drift=drift, output="other")


def test_a_column_that_is_read_otherwise_is_not_compared(night):
    night(people())
    attributes = {
        "age": {"role": "quasi-identifying", "hierarchy": {"builder": "flat"}},
        "sex": {"role": "quasi-identifying", "hierarchy": {"builder": "flat"}},
        "dx": {"role": "sensitive"},
        "note": {"role": "insensitive"},
    }
    assert night(people(), attributes=attributes).report["drift"]["not_compared"] == ["age"]


def test_the_facts_are_private_and_hold_no_values(night, tmp_path):
    night(with_cells(people(), "sex", 700, VALUES[0]), drift={"new_values": {"sex": "refuse"}})
    path = tmp_path / "private/facts.json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert VALUES[0] not in path.read_text()
    assert not list((tmp_path / "release").glob("*facts*"))


@pytest.mark.parametrize("content", ["", "{}", "[]", "{not json", '{"format": 2}'])
def test_damaged_facts_end_the_run(night, tmp_path, content):
    path = tmp_path / "private/facts.json"
    path.parent.mkdir()
    path.write_text(content)
    path.chmod(0o600)
    with pytest.raises(InvalidJob, match=r"drift\.facts.*damaged"):
        night(people())


def test_facts_that_others_can_open_end_the_run(night, tmp_path):
    night(people())
    (tmp_path / "private/facts.json").chmod(0o640)
    with pytest.raises(InvalidJob, match="mode 0640"):
        night(people())


def test_facts_of_another_job_end_the_run(night):
    night(people())
    fix = r"is of job 'people'; .*renamed to 'others', write this name for `job` in the file; or remove it"
    with pytest.raises(InvalidJob, match=fix):
        night(people(), name="others")


def test_a_renamed_job_keeps_its_facts(night, tmp_path):
    night(people())
    facts = tmp_path / "private/facts.json"
    facts.write_text(facts.read_text().replace('"job": "people"', '"job": "others"'))
    assert night(people(seed=2), name="others").report["drift"]["since"] is not None


def test_facts_that_cannot_be_written_leave_the_release_and_those_before(night, tmp_path, monkeypatch):
    night(people())
    before = (tmp_path / "private/facts.json").read_bytes()

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InvalidJob, match="the release is complete"):
        keep_drift_facts(_job(tmp_path), json.loads(before))
    assert [path.name for path in (tmp_path / "private").iterdir()] == ["facts.json"]
    assert (tmp_path / "private/facts.json").read_bytes() == before


def _job(folder):
    from engine import load_job  # noqa: PLC0415 (of this helper alone)

    return load_job(
        {
            "name": "people",
            "attributes": {"sex": {"role": "quasi-identifying", "hierarchy": {"builder": "flat"}}},
            "privacy": [{"model": "k-anonymity", "k": 5}],
            "drift": {"facts": str(folder / "private/facts.json")},
        }
    )


def test_a_check_remembers_nothing_and_compares_whole_tables(tmp_path):
    job = _job(tmp_path)
    table = people()[["sex"]]
    assert check(job, table).exit_code == 0
    assert not (tmp_path / "private").exists()
    run(job, table, output=tmp_path / "release")
    assert check(job, table[:500]).exit_code == DriftRefused.exit_code
    assert check(job, table, most=500).exit_code == 0


def refused(night, table, **changes):
    """Run a night that is refused; return the name of the difference, as the refusal tells it."""
    with pytest.raises(DriftRefused, match="--difference") as found:
        night(table, output="other", **changes)
    return re.search(r"--difference ([0-9a-f]{16})", str(found.value))[1]


def accepted(folder, **given):
    return accept_drift(_job(folder), **{"by": "C. Custodian", **given})


def test_a_refused_table_that_somebody_accepts_is_released_once(night, tmp_path):
    few = people(900)
    night(people())
    name = refused(night, few)
    assert refused(night, few) == name, "the same table has the same difference"
    found, is_new = accepted(tmp_path, comment="a clinic closed", difference=name)
    assert (is_new, found["differences"]) == (True, ["it has less than 0.5 of its records (drift.least_records)"])
    assert accepted(tmp_path, by="somebody else") == (found, False), "the first word stands"
    assert stat.S_IMODE((tmp_path / "private/facts.json.accepted").stat().st_mode) == 0o600
    report = night(few).published
    assert report["drift"]["accepted"] == {
        "difference": name,
        "differences": found["differences"],
        "by": "C. Custodian",
        "at": found["at"],
        "comment": "a clinic closed",
    }
    assert any("C. Custodian accepted" in warning for warning in report["warnings"])
    assert [path.name for path in (tmp_path / "private").iterdir()] == ["facts.json"], "it was used"
    assert "accepted" not in night(few).report["drift"]
    refused(night, people(400))


def test_what_was_accepted_is_that_difference_alone(night, tmp_path):
    drift = {"new_values": {"sex": "refuse", "dx": "refuse"}}
    usual, strange = people(), with_cells(people(), "sex", 40, VALUES[0])
    night(usual, drift=drift)
    name = refused(night, strange, drift=drift)
    accepted(tmp_path)
    others = {
        "another value": with_cells(strange, "sex", 3, "Yoda-secret"),
        "a value of another column": with_cells(strange, "dx", 3, VALUES[1]),
        "fewer records": strange[:900],
    }
    for table in others.values():
        assert refused(night, table, drift=drift) != name
    refused(night, strange, drift={**drift, "distance": 0.0})
    assert night(with_cells(people(seed=2), "sex", 30, VALUES[0]), drift=drift).report["drift"]["accepted"]


def test_a_table_like_the_last_one_needs_no_acceptance_and_ends_it(night, tmp_path):
    night(people())
    before = (tmp_path / "private/facts.json").read_bytes()
    refused(night, people(900))
    accepted(tmp_path)
    stale = {path.name: path.read_bytes() for path in (tmp_path / "private").iterdir()}
    assert "accepted" not in night(people(seed=2)).report["drift"]
    assert (tmp_path / "private/facts.json").read_bytes() != before
    # a run that was killed before it removed them, or a copy that somebody put back
    for name in ("facts.json.accepted", "facts.json.refused"):
        (tmp_path / "private" / name).write_bytes(stale[name])
        (tmp_path / "private" / name).chmod(0o600)
    with pytest.raises(InvalidJob, match="no run refused a table since the last release"):
        accepted(tmp_path)
    refused(night, people(900))


def test_quarantined_values_are_not_accepted_with_something_else(night, tmp_path):
    drift = {"new_values": {"sex": "quarantine"}}
    strange = with_cells(people(), "sex", 40, VALUES[0]).assign(note="yes")
    night(people(), drift=drift)
    refused(night, strange, drift=drift)
    accepted(tmp_path)
    for _ in range(2):
        found = night(strange, drift=drift)
        assert found.report["drift"]["quarantined"] == ["sex"]
        assert VALUES[0] not in found.table["sex"].to_pylist()


def test_what_cannot_be_accepted(night, tmp_path, monkeypatch):
    with pytest.raises(InvalidJob, match="no run refused a table"):
        accepted(tmp_path)
    night(people())
    with pytest.raises(InvalidJob, match="no run refused a table"):
        accepted(tmp_path)
    refused(night, people(900))
    with pytest.raises(InvalidJob, match="--difference 0000: the table that was refused last has another one"):
        accepted(tmp_path, difference="0000")
    for wrong in ({"comment": "two\nlines"}, {"comment": ""}, {"by": "x" * 501}):
        with pytest.raises(InvalidJob, match="must be one line of 1 to 500 characters"):
            accepted(tmp_path, **wrong)
    with pytest.raises(InvalidJob, match="the job does not look for it"):
        accept_drift(_job(tmp_path).model_copy(update={"drift": None}), by="C. Custodian")
    with monkeypatch.context() as patched:
        patched.setattr(os, "open", _not_for_writing(os.open))
        with pytest.raises(InvalidJob, match=r"cannot be written .*; accept as the user who runs the job"):
            accepted(tmp_path)
        with pytest.raises(DriftRefused, match="but nobody can accept it"):
            night(people(800), output="other")
    path = tmp_path / "private/facts.json.refused"
    path.write_text(path.read_text().replace("0.5", "0.1"))
    with pytest.raises(InvalidJob, match="is damaged"):
        accepted(tmp_path)


def _not_for_writing(opened):
    """Open files for reading alone: the tests may run as root, whom no mode stops."""

    def limited(path, flags, *further, **keys):
        if flags & os.O_CREAT and "facts.json" in str(path):
            raise PermissionError(13, "Permission denied")
        return opened(path, flags, *further, **keys)

    return limited


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), min_size=1, max_size=8))
def test_distance_is_the_largest_difference_of_any_event(counts):
    """Total variation, by its other definition: over all sets of labels."""
    before = {str(label): pair[0] for label, pair in enumerate(counts)}
    now = {str(label): pair[1] for label, pair in enumerate(counts)}
    totals = [sum(one.values()) for one in (before, now)]
    if not all(totals):
        assert distance(before, now) == 0
        return
    shares = [(before[label] / totals[0], now[label] / totals[1]) for label in before]
    events = [[shares[i] for i in range(len(shares)) if mask >> i & 1] for mask in range(1 << len(shares))]
    largest = max(abs(sum(p for p, _ in event) - sum(q for _, q in event)) for event in events)
    assert distance(before, now) == pytest.approx(largest, abs=1e-12)

"""Pseudonyms by the command line: the key's file is made once, its id goes into the job, and `verify` reads it."""

from __future__ import annotations

import datetime as dt
import re

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.engine.cli.command_line import JOB, cli, write
from tests.reference.pseudonyms import key_id, pseudonym


def with_key(**place):
    numbers = {"role": "identifying", "action": "pseudonymize", "key_file": "keys/people", **place}
    return {**JOB["attributes"], "person_id": numbers}


def test_a_key_from_the_first_run_to_its_rotation(folder):
    write(folder, attributes=with_key())
    first = cli("run", folder / "job.yaml")
    assert first.returncode == 2
    assert not (folder / "release").exists()
    named = re.search("say key_id: ([0-9a-f]{16})", first.stderr)[1]
    secret = (folder / "keys/people").read_bytes().strip()
    assert named == key_id(secret)

    write(folder, attributes=with_key(key_id=named))
    assert cli("run", folder / "job.yaml").returncode == 0
    released = pq.read_table(folder / "release/data.parquet")["person_id"].drop_null().to_pylist()
    assert set(released) <= {pseudonym(secret, "people", "person_id", str(one)) for one in range(1, 6)}
    done = cli("verify", folder / "release", folder / "job.yaml")
    assert (done.returncode, done.stderr) == (0, "")
    assert "holds  pseudonyms of person_id: 4 pseudonyms" in done.stdout
    # without the source nobody can compare them with its identifiers
    (folder / "people.csv").rename(folder / "moved.csv")
    without = cli("verify", folder / "release", folder / "job.yaml")
    assert without.returncode == 2
    told = "what is said of pseudonyms is stated and not shown; 4 pseudonyms: source people.csv: not found"
    assert told in without.stderr
    (folder / "moved.csv").rename(folder / "people.csv")
    assert secret.decode() not in first.stderr + done.stdout + (folder / "release/job.yaml").read_text()

    (folder / "keys/people").write_text("ab" * 32)
    for command in (("run", folder / "job.yaml"), ("run", folder / "job.yaml", "--output", folder / "other")):
        changed = cli(*command)
        assert changed.returncode == 2
        assert "the key was lost or replaced" in changed.stderr
    assert not (folder / "other").exists()
    write(folder, attributes=with_key(key_id=key_id(b"ab" * 32)))
    assert cli("run", folder / "job.yaml").returncode == 0
    rotated = pq.read_table(folder / "release/data.parquet")["person_id"].drop_null().to_pylist()
    assert not set(rotated) & set(released)


YEAR = {"role": "quasi-identifying", "hierarchy": {"builder": "date", "levels": ["year"]}, "minimum_level": 1}
DATES = [("quasi-identifying", YEAR), ("sensitive", {"role": "sensitive"}), ("insensitive", {"role": "insensitive"})]


@pytest.mark.parametrize(("role", "entry"), DATES, ids=[role for role, _ in DATES])
def test_dates_shifted_by_a_key_that_nobody_has_are_not_refuted(folder, role, entry):
    """Shifts of up to ten years put most dates into another year than that of the source."""
    days = [dt.date(2010 + one % 3, 1 + one % 12, 1 + one % 28) for one in range(60)]
    source = {"person_id": list(range(60)), "age": [20 + one % 2 for one in range(60)], "born": days}
    pq.write_table(pa.table(source), folder / "stays.parquet")
    size = {"model": "k-anonymity", "k": 2}
    diverse = {"model": "l-diversity", "variant": "distinct", "attribute": "born", "l": 2}
    write(
        folder,
        source={"path": "stays.parquet"},
        attributes={
            "person_id": {"role": "identifying"},
            "age": JOB["attributes"]["age"],
            "born": {**entry, "action": "shift", **({} if "hierarchy" in entry else {"accept": "unique"})},
        },
        subject="person_id",
        shift={"days": 3650},
        privacy=[size, diverse] if role == "sensitive" else [size],
        suppression_limit=0.9,
    )
    done = cli("run", folder / "job.yaml")
    assert done.returncode == 0, done.stderr
    told = cli("verify", folder / "release", folder / "job.yaml", "--source", folder / "stays.parquet")
    assert told.returncode == 2, told.stdout
    what = "what is said of shift" if role == "insensitive" else "that its classes are of enough persons"
    fix = "the dates are not shown to be shifted: the key of this release is not given, and is kept nowhere"
    assert f"{what} is stated and not shown; {fix}" in told.stderr

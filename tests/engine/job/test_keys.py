"""The keys of a job: made once, named by their ids, and opened before anything is read."""

from __future__ import annotations

import os
import re
import stat

import pytest

from engine import InvalidJob, load_job, run
from engine.job.keys import open_keys
from tests.reference.pseudonyms import key_id

SECRET = b"7c1f" * 16


def job(**place):
    return load_job(
        {
            "name": "visits",
            "unit": "record",
            "attributes": {
                "mrn": {"role": "identifying", "action": "pseudonymize", **place},
                "age": {"role": "quasi-identifying", "hierarchy": {"builder": "age"}},
            },
            "privacy": [{"model": "k-anonymity", "k": 5}],
        }
    )


def written(path, text=None, mode=0o600):
    path.write_text(SECRET.decode() if text is None else text)
    path.chmod(mode)
    return str(path)


def refused(made, keys=None):
    with pytest.raises(InvalidJob) as problem:
        open_keys(made, keys)
    assert SECRET.decode() not in str(problem.value)
    return str(problem.value)


def test_a_key_of_a_release_is_another_one_each_time():
    first, second = (open_keys(job()).of_column("mrn") for _ in range(2))
    assert len(first) == 32
    assert first != second
    assert open_keys(job(), release_key=SECRET).of_column("mrn") == SECRET
    assert SECRET.decode() not in repr(open_keys(job(), release_key=SECRET))


def test_a_key_is_made_once_and_the_job_must_name_its_id(tmp_path):
    place = tmp_path / "keys" / "mrn"
    told = refused(job(key_file=str(place)))
    found = re.search("say key_id: ([0-9a-f]{16})$", told)[1]
    assert stat.S_IMODE(place.stat().st_mode) == 0o600
    secret = place.read_bytes().strip()
    assert found == key_id(secret)
    assert open_keys(job(key_file=str(place), key_id=found)).of_column("mrn") == secret


def test_a_lost_key_is_not_made_anew(tmp_path):
    told = refused(job(key_file=str(tmp_path / "mrn"), key_id=key_id(SECRET)))
    assert "attributes.mrn.key_file, file" in told
    assert "restore the key" in told
    assert not list(tmp_path.iterdir())


def test_a_changed_key_is_refused_until_the_job_says_so(tmp_path):
    place = written(tmp_path / "mrn", "ab" * 32)
    other = key_id(b"ab" * 32)
    told = refused(job(key_file=place, key_id=key_id(SECRET)))
    assert f"key_id: is {key_id(SECRET)}, and that of the key is {other}" in told
    assert told.endswith(f"if it is replaced on purpose, say key_id: {other}")
    assert open_keys(job(key_file=place, key_id=other)).of_column("mrn") == b"ab" * 32


@pytest.mark.parametrize("mode", [0o640, 0o604])
def test_a_key_that_others_can_read_is_refused(tmp_path, mode):
    told = refused(job(key_file=written(tmp_path / "mrn", mode=mode), key_id=key_id(SECRET)))
    assert f"has mode {mode:04o}" in told
    assert "can find who is behind a pseudonym" in told


def test_a_short_key_and_a_pipe_are_refused(tmp_path):
    assert "must be at least 32" in refused(job(key_file=written(tmp_path / "short", "abc")))
    os.mkfifo(tmp_path / "pipe", 0o600)
    assert "is not a file" in refused(job(key_file=str(tmp_path / "pipe")))


def test_a_key_of_a_connection_is_given_by_who_knows_it():
    made = job(key_conn_id="keys", key_id=key_id(SECRET))
    assert open_keys(made, {"keys": SECRET}).of_column("mrn") == SECRET
    assert "only Airflow's tasks know the connection 'keys'" in refused(made)
    assert "key_id: is" in refused(made, {"keys": SECRET[::-1]})


def test_nothing_is_read_without_the_key(tmp_path):
    class Unreadable:
        schema = None

        def batches(self, columns):
            raise AssertionError(columns)

    with pytest.raises(InvalidJob, match="only Airflow's tasks know"):
        run(job(key_conn_id="keys", key_id=key_id(SECRET)), table=Unreadable())

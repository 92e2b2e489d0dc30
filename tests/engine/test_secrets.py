"""No error repeats what a file delivers: cells, and headers and keys that the job does not name."""

from __future__ import annotations

import io
import json
import logging
import traceback
from contextlib import redirect_stderr, redirect_stdout

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine import EngineError, InvalidData, InvalidJob, load_job, run, verify
from engine.cli import main
from tests.engine.cli.command_line import write
from tests.profiles import examples

PLANTED = "Zq7Roe"
WELL = {
    "source.csv": "id,age,place\n1,30,b\n2,31,b\n3,40,c\n4,41,c\n",
    "ages.csv": "30;3;*\n31;3;*\n40;4;*\n41;4;*\n",
    "subset.csv": "id\n1\n2\n",
    "people.csv": "age,place,persons\n30,b,3\n31,b,3\n40,c,3\n41,c,3\n",
    "policy.yaml": "policy:\n  age: [{value: '30'}, {from: '31', to: '41'}]\n",
    "zips.csv": "100;30000\n200;10\n",
    "frontier.json": json.dumps({"frontier": [{"risk": 0.1, "utility_loss": 0.1, "policy": {"age": []}}]}),
}
JOBS = {
    "source.csv": {},
    "ages.csv": {},
    "subset.csv": {"privacy": [{"model": "delta-presence", "delta_min": 0, "delta_max": 1, "subset": "subset.csv"}]},
    "people.csv": {"privacy": [{"model": "k-map", "k": 2, "population": "people.csv"}]},
    "policy.yaml": {"search": {"algorithm": "policy", "file": "policy.yaml"}},
    "zips.csv": {"hierarchy": {"builder": "zip", "populations": "zips.csv"}},
    "frontier.json": {"choose": {"from": "frontier.json", "maximum_risk": 1.0}},
}
"""For each file, what makes a job read it."""

_FRAGMENTS = [
    *(
        PLANTED.encode(),
        b"'" + PLANTED.encode(),
        b"*" + PLANTED.encode(),
        PLANTED.encode() + b": 1",
        PLANTED.encode() + b"\xff",
    ),
    *(b'"', b"'", b",", b";", b"\n", b"\r", b": ", b"- ", b"[", b"{", b"&", b"!", b"\0", b"\xff", b"#"),
    *(b"id", b"age", b"place", b"persons", b"policy", b"name", b"30", b"b", b"100", b"9" * 20, b"value", b"from"),
]
PIECES = st.lists(st.sampled_from(_FRAGMENTS), max_size=12).map(b"".join)


def document(name, source="source.csv"):
    changes = dict(JOBS[name])
    hierarchy = changes.pop("hierarchy", {"builder": "csv", "path": "ages.csv"})
    ordered = {"order": "integer"} if name in {"policy.yaml", "frontier.json"} else {}
    return {
        "name": "people",
        "source": {"path": source},
        "attributes": {
            "id": {"role": "identifying"},
            "age": {"role": "quasi-identifying", "hierarchy": hierarchy, **ordered},
            "place": {"role": "sensitive"},
        },
        "privacy": [{"model": "k-anonymity", "k": 2}],
        "suppression_limit": 0.5,
        **changes,
    }


def files(folder, **contents):
    for name, content in {**WELL, **contents}.items():
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())


def said(action):
    """Give all that an action says, in an error too, which must be one of the engine."""
    heard = io.StringIO()
    handler = logging.StreamHandler(heard)
    logging.getLogger().addHandler(handler)
    try:
        with redirect_stdout(heard), redirect_stderr(heard):
            action()
    except EngineError as problem:
        heard.write("".join(traceback.format_exception(problem)))
    finally:
        logging.getLogger().removeHandler(handler)
    return heard.getvalue()


@pytest.mark.parametrize("name", WELL)
def test_the_files_are_read(tmp_path, name):
    """Nothing is to be said of the good files, so that a bad one is what an error of the next test is about."""
    files(tmp_path)
    (tmp_path / "job.yaml").write_text(json.dumps(document(name)))
    expected = {"zips.csv": "its hierarchy has no entry for", "frontier.json": "choose: no policy"}
    assert expected.get(name, "") in said(lambda: run(tmp_path / "job.yaml"))
    assert name in expected or not said(lambda: run(tmp_path / "job.yaml"))


@pytest.mark.parametrize("name", WELL)
@settings(max_examples=examples(200))
@given(st.data())
def test_no_error_repeats_what_a_file_holds(tmp_path_factory, name, data):
    """A piece is put anywhere into a good file, or in place of its rest."""
    well = WELL[name].encode()
    start = data.draw(st.integers(0, len(well)))
    end = data.draw(st.sampled_from([start, len(well)]))
    folder = tmp_path_factory.mktemp("secret")
    files(folder, **{name: well[:start] + data.draw(PIECES) + well[end:]})
    (folder / "job.yaml").write_text(json.dumps(document(name)))
    assert PLANTED not in said(lambda: run(folder / "job.yaml"))


def test_a_header_with_an_unbalanced_quote(tmp_path):
    """The rest of the file, with its patients, is one column name."""
    records = "".join(f"{number},30,{PLANTED}\n" for number in range(50))
    files(tmp_path, **{"source.csv": 'id,age,"place\n' + records + '"\n'})
    (tmp_path / "job.yaml").write_text(json.dumps(document("source.csv")))
    text = said(lambda: run(tmp_path / "job.yaml"))
    assert PLANTED not in text
    assert "source: column number 3 of its 3 is not named in the job" in text
    assert "the quoting of the header" in text


def parquet(folder, **columns):
    path = folder / "source.parquet"
    pq.write_table(pa.table({"id": ["1", "2"], "age": ["30", "31"], "place": ["b", "b"], **columns}), path)
    return document("source.csv", str(path))


def not_utf8(*values):
    binary = pa.array(values, pa.binary())
    return pa.Array.from_buffers(pa.string(), len(values), binary.buffers())


NESTED = pa.array([{PLANTED: 1}] * 2)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"age": not_utf8(b"30", PLANTED.encode() + b"\xff")}, "column 'age': holds text that is not UTF-8"),
        ({"place": not_utf8(b"30", PLANTED.encode() + b"\xff")}, "column 'place': holds text that is not UTF-8"),
        ({"place": not_utf8(b"30", b"\xff").dictionary_encode()}, "column 'place': holds text that is not UTF-8"),
        ({"age": NESTED}, "column 'age': type struct has no text form"),
        ({PLANTED: ["x", "y"]}, "source: column number 4 of its 4 is not named in the job"),
    ],
)
def test_parquet(tmp_path, columns, message):
    files(tmp_path)
    job = parquet(tmp_path, **columns)
    job["attributes"]["age"]["hierarchy"]["path"] = str(tmp_path / "ages.csv")
    with pytest.raises(InvalidData) as problem:
        run(job)
    assert str(problem.value).startswith(message)
    assert PLANTED not in "".join(traceback.format_exception(problem.value))


def test_columns_of_an_output_that_the_job_does_not_release(tmp_path):
    files(tmp_path)
    (tmp_path / "job.yaml").write_text(json.dumps(document("source.csv")))
    table = pa.table({"age": ["30"], "place": ["b"], PLANTED: ["x"]})
    (finding,) = verify(table, load_job(tmp_path / "job.yaml"))
    assert finding.message == "columns not released by the job: 1"


def test_unexpected_exceptions_of_the_command_line_are_not_quoted(tmp_path, monkeypatch, capsys):
    def ends(*_, **__):
        raise ValueError(f"could not convert {PLANTED}")

    write(tmp_path)
    monkeypatch.setattr("engine.cli.run.load_job", ends)
    assert main(["run", str(tmp_path / "job.yaml")]) == 1
    text = capsys.readouterr().err
    assert PLANTED not in text
    assert "ended unexpectedly with ValueError" in text
    assert "test_secrets.py" in text


@pytest.mark.parametrize("number", [2**63, -(2**63) - 1, 10**400])
def test_numbers_beyond_64_bits_in_a_job(number):
    job = document("source.csv")
    with pytest.raises(InvalidJob, match=r"privacy\.0\.k: a whole number must be from -2\^63 to 2\^63 - 1"):
        load_job({**job, "privacy": [{"model": "k-anonymity", "k": number}]})
    with pytest.raises(InvalidJob, match=r"privacy\.0\.k: must be .* at most 1000000000000000"):
        load_job({**job, "privacy": [{"model": "k-anonymity", "k": 2**63 - 1}]})

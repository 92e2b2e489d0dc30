"""`airflow-anon ledger`: what it prints, and how it ends."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys

import pytest
import sqlalchemy as sa

from airflow_anon.ledger.cli import main
from airflow_anon.ledger.store import Ledger
from tests.airflow_anon.ledger.documents import HASH, document
from tests.airflow_anon.ledger.releases import release
from tests.airflow_anon.ledger.tables import owner


@pytest.fixture
def url(tmp_path):
    """Give a ledger of two releases in a share and a refused attempt."""
    url = f"sqlite:///{tmp_path / 'ledger.sqlite'}"
    ledger = Ledger(url)
    ledger.append(release(tmp_path / "share", 1))
    ledger.append(document(2, "refused", name="per\x1b[31msons"))
    ledger.append(release(tmp_path / "share", 3))
    return url


@pytest.fixture
def run(url, capsys):
    def command(*arguments, ledger=url):
        status = main([*arguments, "--ledger", ledger])
        return status, capsys.readouterr().out

    return command


def test_an_intact_ledger(run, url, tmp_path):
    newest = Ledger(url).entry(3)
    anchors = [f"--entry={entry.sequence}:{entry.entry_sha256}" for entry in Ledger(url).entries()]
    status, text = run("verify", *anchors, "--files", "--share", str(tmp_path / "share"))
    lines = dict(line.split(maxsplit=1) for line in text.splitlines())
    assert status == 0
    assert (lines["entries"], lines["newest"], lines["result"]) == ("3", f"3:{newest.entry_sha256}", "intact")
    status, text = run("verify", "--json")
    told = json.loads(text)
    assert (status, told["intact"], told["entries"], told["breaks"], told["files"]) == (0, True, 3, [], None)
    assert told["newest"] == {"sequence": 3, "entry_sha256": newest.entry_sha256}


def test_a_changed_field_is_status_4_and_names_the_entry(run, url):
    with owner(url) as connection:
        connection.execute(sa.text("UPDATE release_ledger SET suppressed = 8 WHERE sequence = 2"))
    status, text = run("verify")
    assert status == 4
    assert "TAMPERED  Entry 2 was changed" in text
    assert text.splitlines()[-1].split() == ["result", "NOT", "intact"]
    status, text = run("verify", "--json")
    assert status == 4
    assert {found["sequence"] for found in json.loads(text)["breaks"]} == {2}


def test_a_ledger_that_was_made_anew_does_not_have_the_hash_of_a_certificate(run, url):
    certificate = Ledger(url).entry(2)
    assert run("verify", "--entry", f"2:{certificate.entry_sha256.upper()}")[0] == 0
    assert run("verify", "--entry", f"2:{HASH}")[0] == 4
    status, text = run("verify", "--entry", f"7:{HASH}", "--json")
    assert status == 4
    assert [found["sequence"] for found in json.loads(text)["breaks"]] == [7]


def test_files_are_compared_on_demand(run, url, tmp_path):
    data = tmp_path / "share/visits/release-1/data.parquet"
    data.write_bytes(data.read_bytes()[:-1] + b"x")
    assert run("verify")[0] == 0
    status, text = run("verify", "--files")
    assert status == 4
    assert "data.parquet of entry 1 (visits): changed" in text
    shutil.rmtree(tmp_path / "share")
    status, text = run("verify", "--files")
    assert (status, "unknown" in text.splitlines()[-1]) == (2, True)
    lines = [line for line in text.splitlines() if line.startswith(("AWAY", "FILE"))]
    assert [line[: line.index(",")] for line in lines] == [f"AWAY      {tmp_path}/share/visits: cannot be reached"]
    assert lines[0].endswith(f"say so by `airflow-anon give-up {tmp_path}/share`")


def test_the_share_is_compared_on_demand(run, url, tmp_path):
    release(tmp_path / "share", 5)
    shutil.rmtree(tmp_path / "share/visits/release-3")
    status, text = run("verify", "--share", str(tmp_path / "share"))
    assert status == 4
    assert "release release-5 of visits has no entry" in text
    assert "release release-3 of visits is gone, entry 3: put it back, or `airflow-anon give-up`" in text
    Ledger(url).begin(document(5))
    assert "pending   release release-5 of visits" in run("verify")[1]


@pytest.mark.parametrize(
    "arguments",
    [
        ["verify", "--entry", "3"],
        ["verify", "--entry", "3:xyz"],
        ["list", "--outcome", "done"],
        ["show", "first"],
        ["erase"],
        [],
    ],
)
def test_bad_arguments_are_status_2(arguments):
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2


def test_what_cannot_be_read_is_status_2(run, tmp_path, capsys):
    assert main(["verify", "--ledger", f"sqlite:///{tmp_path / 'other.sqlite'}"]) == 2
    assert "name another one by --ledger, or by AIRFLOW_ANON_LEDGER" in capsys.readouterr().err
    assert run("show", "9")[0] == 2
    assert run("list", "--limit", "0")[0] == 2
    assert run("verify", "--share", str(tmp_path / "nowhere"))[0] == 2
    assert main(["list", "--ledger", f"sqlite:///{tmp_path / 'none.sqlite'}"]) == 2
    assert "nothing to list" in capsys.readouterr().err
    assert main(["list", "--ledger", "postgresql://user:secret@127.0.0.1:1/db?password=secret"]) == 2
    told = capsys.readouterr()
    assert "secret" not in told.out + told.err
    assert "127.0.0.1" in told.err


def test_list_is_newest_first_and_filtered(run):
    def listed(*arguments):
        return [line.split()[0] for line in run("list", *arguments)[1].splitlines()[1:]]

    assert listed() == ["3", "2", "1"]
    assert listed("--limit", "1") == ["3"]
    assert listed("--outcome", "refused") == ["2"]
    assert listed("--job", "visits") == ["3", "1"]
    assert listed("--job", "visits", "--outcome", "refused") == []


@pytest.mark.parametrize(("job", "hint"), [("visit", "did you mean 'visits'"), ("labs", "without --job")])
def test_a_job_without_an_entry_is_no_empty_list(url, capsys, job, hint):
    assert main(["list", "--job", job, "--ledger", url]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert f"--job {job}: no entry of such a job" in told.err
    assert hint in told.err


def test_no_text_of_a_job_steers_the_terminal(run):
    status, text = run("list")
    assert status == 0
    assert "\x1b" not in text
    assert "per\\x1b[31msons" in text
    assert "\x1b" not in run("show", "2")[1]


def test_show_prints_row_and_document(run, url):
    status, text = run("show", "3")
    shown = json.loads(text)
    assert status == 0
    assert shown.pop("document") == Ledger(url).document(3)
    assert shown == vars(Ledger(url).entry(3))


def test_migrate_makes_the_ledger(run, tmp_path):
    made = f"sqlite:///{tmp_path / 'made.sqlite'}"
    assert run("migrate", ledger=made)[0] == 0
    assert Ledger(made).exists()
    assert run("verify", ledger=made)[0] == 0


@pytest.mark.parametrize("arguments", [["list", "--limit", "1"], ["verify", "--entry", f"1:{HASH}"], ["--help"], []])
def test_the_engine_hands_on_arguments_and_status(url, arguments):
    """`airflow-anon ledger` is this command in another process."""
    where = ["--ledger", url] if arguments and arguments != ["--help"] else []

    def ended(module, *first):
        command = [sys.executable, "-m", module, *first, *arguments, *where]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout, done.stderr

    assert ended("engine", "ledger") == ended("airflow_anon.ledger")

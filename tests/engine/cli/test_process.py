"""The command line as a process: signals, terminals, and the adult data from end to end."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys

import pytest
import yaml

from tests.engine.cli.command_line import names, program
from tests.places import ROOT

SLOW_SOURCE = """
import os, sys, time, engine.tables.release.transform as t
coded = t.Transformation._coded
def waiting(self, table, folder):
    yield from coded(self, table, folder)
    print("half", flush=True)
    time.sleep(600)
t.Transformation._coded = waiting
from engine.cli.commands import main
sys.exit(main())
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_an_ended_process_leaves_nothing(folder, number):
    before = names(folder)
    with subprocess.Popen(
        [sys.executable, "-c", SLOW_SOURCE, "run", folder / "job.yaml"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        # in the background of a shell the tests run with SIGINT ignored, and a child would inherit that
        # and one that nohup started has SIGHUP ignored
        preexec_fn=lambda: (  # noqa: PLW1509 (no threads here)
            signal.signal(signal.SIGINT, signal.default_int_handler),
            signal.signal(signal.SIGHUP, signal.SIG_DFL),
        ),
    ) as process:
        assert process.stdout.readline() == "half\n"
        assert names(folder) != before
        process.send_signal(number)
        assert process.wait() != 0
    assert names(folder) == before


@pytest.mark.parametrize("behind", ["a full disk", "a closed pipe"])
def test_a_summary_that_cannot_be_printed_does_not_undo_the_release(folder, behind):
    if behind == "a full disk":
        target = os.open("/dev/full", os.O_WRONLY)
    else:
        reader, target = os.pipe()
        os.close(reader)
    command = [sys.executable, "-m", "engine", "run", folder / "job.yaml"]
    done = subprocess.run(command, check=False, stdout=target, stderr=subprocess.PIPE, text=True)
    os.close(target)
    assert done.returncode == 0
    [line] = done.stderr.splitlines()
    assert line.startswith(f"airflow-anon: the release {folder / 'release'} is made; its summary cannot be printed (")
    assert (folder / "release" / "manifest.json").is_file()


@pytest.mark.parametrize(
    "command",
    [
        ["engine", "schema"],
        ["engine", "doctor"],
        ["airflow_anon.commands", "doctor"],
        ["airflow_anon.ledger", "list", "--ledger=sqlite:///ledger.sqlite"],
    ],
)
def test_a_command_whose_reader_has_gone_ends_without_a_word(folder, command):
    """As `airflow-anon ledger list | head` does; a shell has the status 141 for such a program."""
    if "list" in command:
        migrate = [sys.executable, "-m", command[0], "migrate", command[-1]]
        subprocess.run(migrate, check=True, cwd=folder, capture_output=True)
    reader, target = os.pipe()
    os.close(reader)
    line = [sys.executable, "-m", *command]
    done = subprocess.run(line, check=False, stdout=target, stderr=subprocess.PIPE, text=True, cwd=folder)
    os.close(target)
    assert (done.returncode, done.stderr) == (128 + signal.SIGPIPE, "")


@pytest.mark.parametrize("command", [["doctor"], ["ledger", "verify", "--ledger=sqlite:///none.sqlite"]])
def test_a_folder_named_engine_where_the_user_is_hides_nothing(folder, command):
    """The script `airflow-anon` does not look there; what it starts for commands that need Airflow must not either."""
    (folder / "engine").mkdir()
    (folder / "engine" / "__init__.py").write_text("raise RuntimeError('is not ours')\n")
    script = "import sys; sys.path.remove(''); from engine.cli import main; sys.exit(main())"
    done = subprocess.run(
        [sys.executable, "-c", script, *command],
        check=False,
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert "is not ours" not in done.stderr
    assert "Traceback" not in done.stderr
    assert "hides" not in done.stdout + done.stderr


def test_a_process_that_nohup_started_outlives_its_terminal(folder):
    with subprocess.Popen(
        [sys.executable, "-c", SLOW_SOURCE.replace("600", "0.5"), "run", folder / "job.yaml"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN),  # noqa: PLW1509 (no threads here)
    ) as process:
        assert process.stdout.readline() == "half\n"
        process.send_signal(signal.SIGHUP)
        assert process.wait() == 0


WITH_PROGRESS = """
import sys, engine.search.boxes.course as o
o.PROGRESS_SECONDS = -1.0
from engine.cli.commands import main
sys.exit(main())
"""


def test_progress_is_shown_on_a_terminal_only(folder):
    leader, follower = pty.openpty()
    command = [sys.executable, "-c", WITH_PROGRESS, "run", folder / "job.yaml"]
    done = subprocess.run(command, check=False, stdout=subprocess.PIPE, stderr=follower)
    os.close(follower)
    shown = os.read(leader, 1 << 16).decode()
    os.close(leader)
    assert done.returncode == 0
    assert "searching: loss" in shown
    # cleared at the end: nothing stays on the line
    assert shown.endswith("\r\x1b[K")
    quiet = subprocess.run(command, check=False, capture_output=True)
    assert quiet.stderr == b""


@pytest.mark.slow
def test_the_vector_of_the_adult_data(shared, tmp_path):
    data = shared / "data" / "adult"
    hierarchies = sorted((data / "hierarchies").glob("*.csv"))
    if not hierarchies:
        pytest.skip("needs ../shared/data/adult/hierarchies beside the project")
    header = (data / "adult.csv").read_text().splitlines()[0].split(";")
    quasi = [path.stem for path in hierarchies if path.stem in header and path.stem != "occupation"]
    attributes = {name: {"role": "insensitive"} for name in header}
    for name in quasi:
        attributes[name] = {
            "role": "quasi-identifying",
            "hierarchy": os.path.relpath(data / "hierarchies" / f"{name}.csv", tmp_path),
        }
    job = {
        "name": "adult",
        "source": {"path": os.path.relpath(data / "adult.csv", tmp_path), "delimiter": ";"},
        "attributes": attributes,
        "privacy": [{"model": "k-anonymity", "k": 5}],
        "suppression_limit": 0.05,
        "output": {"path": "release"},
    }
    (tmp_path / "job.yaml").write_text(yaml.safe_dump(job))
    assert program("run", tmp_path / "job.yaml").returncode == 0
    solution = json.loads((tmp_path / "release" / "report.json").read_text())["solution"]
    assert solution["information_loss"] == pytest.approx(0.1783389956, abs=5e-11)
    assert solution["suppressed"] == 1346
    assert solution["optimal"] is True
    assert program("verify", tmp_path / "release", tmp_path / "job.yaml").returncode == 0

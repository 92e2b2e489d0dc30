"""Kernels compiled in the image are loaded, not compiled, by a process that may not write to the image."""

from __future__ import annotations

import csv
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from tests.places import ROOT
from tests.profiles import thorough

pytestmark = pytest.mark.slow

GENERIC = {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}
# All kernels are compiled for the image's processor in the thorough profile, and else for this one, as for all tests.
PROCESSOR = GENERIC if thorough() else {}
ENGINE = [sys.executable, "-m", "engine"]
CALL = """
import numpy as np
from engine.kernels.refine import class_counts
class_counts(np.array([0, 1, 0], np.int32), 2, np.array([5, 7, 11]))
"""
ONE_KERNEL = [sys.executable, "-c", CALL]

JOB = """
name: kernels
source: {path: people.csv}
attributes:
  age: {role: quasi-identifying, hierarchy: {builder: csv, path: age.csv}}
  zip: {role: quasi-identifying, hierarchy: {builder: csv, path: zip.csv}}
  disease: {role: sensitive, hierarchy: {builder: csv, path: disease.csv}}
privacy:
  - {model: k-anonymity, k: 3}
  - {model: l-diversity, variant: distinct, attribute: disease, l: 2}
  - {model: l-diversity, variant: recursive, attribute: disease, c: 2.0, l: 2}
  - {model: t-closeness, distance: ordered, attribute: disease, t: 0.3}
  - {model: t-closeness, distance: hierarchical, attribute: disease, t: 0.3}
suppression_limit: 0.1
output: {path: release}
"""


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[Path]:
    """Give a folder with the compiled kernels, nothing in it writable."""
    folder = tmp_path_factory.mktemp("image")
    if thorough():
        environment = {"PATH": os.defpath, "NUMBA_CACHE_DIR": str(folder / "kernels"), **GENERIC}
        subprocess.run([*ENGINE, "warm-up"], cwd=ROOT, env=environment, check=True, capture_output=True)
    else:
        shutil.copytree(request.getfixturevalue("compiled_kernels"), folder / "kernels")
    paths = [folder, *folder.rglob("*")]
    for path in paths:
        path.chmod(path.stat().st_mode & ~0o222)
    yield folder
    for path in paths:
        path.chmod(path.stat().st_mode | 0o200)


@pytest.fixture
def run(image: Path, docker_folder: Path, tmp_path: Path) -> Callable[..., str]:
    """Give a function that runs a command through the entry point; returns what Numba says about its cache."""

    def start(command: Sequence[str], **environment: str) -> str:
        done = subprocess.run(
            [sys.executable, docker_folder / "entrypoint.py", *command],
            cwd=ROOT,
            env={
                "PATH": os.defpath,
                "PYTHONDONTWRITEBYTECODE": "1",
                "AIRFLOW_ANON_KERNELS": str(image / "kernels"),
                "NUMBA_CACHE_DIR": str(tmp_path / "cache"),
                "NUMBA_DEBUG_CACHE": "1",
                **PROCESSOR,
                **environment,
            },
            check=False,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return start


def job(folder: Path) -> Path:
    """Write a job that uses every kernel."""
    people = [{"age": 20 + n % 5, "zip": 100 + n % 4, "disease": "abc"[n % 3]} for n in range(240)]
    for name, rows in {
        "people": [list(people[0]), *(list(person.values()) for person in people)],
        "age": [[age, "*"] for age in range(20, 25)],
        "zip": [[code, code // 2, "*"] for code in range(100, 104)],
        "disease": [["a", "ab", "*"], ["b", "ab", "*"], ["c", "c", "*"]],
    }.items():
        with (folder / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
            csv.writer(file, delimiter="," if name == "people" else ";").writerows(rows)
    (folder / "job.yaml").write_text(JOB, encoding="utf-8")
    return folder / "job.yaml"


def kernels_of(package: Path) -> set[str]:
    """Every kernel the engine has, as its source says."""
    sources = (package / "kernels").rglob("*.py")
    return {name for file in sources for name in re.findall(r"@kernel\ndef (\w+)", file.read_text(encoding="utf-8"))}


def test_image_holds_every_kernel(image: Path) -> None:
    compiled = {path.name.split("-")[0].split(".")[1] for path in (image / "kernels").rglob("*.nbc")}
    assert compiled == kernels_of(ROOT / "engine")
    assert compiled


def test_a_whole_job_compiles_nothing(run: Callable[..., str], tmp_path: Path) -> None:
    """A kernel called with another type than at warm-up would be compiled, and saved."""
    said = run([*ENGINE, "run", str(job(tmp_path))])
    assert (tmp_path / "release" / "manifest.json").is_file()
    assert said.count("data loaded") > 0
    assert "saved" not in said


@pytest.mark.thorough
def test_another_processor_compiles_again(run: Callable[..., str]) -> None:
    """The reason for one CPU name in the whole image; it also shows that the test above can fail."""
    here = run(ONE_KERNEL)
    assert "data loaded" in here
    assert "saved" not in here
    another = "x86-64-v2" if os.uname().machine == "x86_64" else "cortex-a53"
    there = run(ONE_KERNEL, NUMBA_CPU_NAME=another, NUMBA_CPU_FEATURES="")
    assert "data saved" in there
    assert "data loaded" not in there


def test_the_processor_of_the_image_is_one_that_kernels_are_kept_for(run: Callable[..., str], tmp_path: Path) -> None:
    """What is compiled for the name that the Dockerfile gives is loaded by the next process of that name."""
    empty = {"AIRFLOW_ANON_KERNELS": str(tmp_path / "none"), **GENERIC}
    (tmp_path / "none").mkdir()
    assert "data saved" in run(ONE_KERNEL, **empty)
    again = run(ONE_KERNEL, **empty)
    assert "data loaded" in again
    assert "saved" not in again


def test_image_alone_is_no_cache(run: Callable[..., str], image: Path) -> None:
    """The reason for the copy: Numba does not load from a folder it cannot write to."""
    if os.geteuid() == 0:
        pytest.skip("root may write anywhere; run as another user")
    assert "data loaded" not in run(ONE_KERNEL, NUMBA_CACHE_DIR=str(image / "kernels"))

"""Kernels where nothing can be kept on disk: the engine works, and says so."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

from tests.places import ROOT

SCRIPT = """
import numpy as np
from engine.kernels.refine import class_counts
from engine.kernels.warm_up import cache_warnings
print(class_counts(np.array([0, 1, 0], np.int32), 2, np.array([5, 7, 11])).tolist())
print(len(cache_warnings()), *cache_warnings())
"""


def run(folder, cache):
    environment = {"PATH": os.defpath, "PYTHONDONTWRITEBYTECODE": "1", "XDG_CACHE_HOME": cache, "HOME": cache}
    command = [sys.executable, "-c", SCRIPT]
    return subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True, text=True).stdout


def test_without_a_place_for_them_kernels_are_compiled_and_that_is_said(tmp_path):
    shutil.copytree(ROOT / "engine", tmp_path / "engine", ignore=shutil.ignore_patterns("__pycache__"))
    # files where folders would have to be: also root cannot write there
    (tmp_path / "engine" / "kernels" / "__pycache__").touch()
    (tmp_path / "home").touch()
    counts, warning = run(tmp_path, str(tmp_path / "home")).splitlines()
    assert counts == "[16, 7]"
    assert warning.startswith("1 ")
    assert "NUMBA_CACHE_DIR" in warning


def test_where_they_are_kept_nothing_is_said(tmp_path):
    shutil.copytree(ROOT / "engine", tmp_path / "engine", ignore=shutil.ignore_patterns("__pycache__"))
    counts, warning = run(tmp_path, str(tmp_path / "cache")).splitlines()
    assert counts == "[16, 7]"
    assert warning == "0"
    assert list((tmp_path / "engine" / "kernels" / "__pycache__").glob("refine.class_counts*.nbc"))


OF_A_TYPE = """
from typing import Any, NamedTuple
from engine.kernels.jit import kernel
class Before(NamedTuple):
    counts: Any
@kernel
def total(rows):
    return rows.counts.sum()
"""
TOTAL = "import numpy as np; from engine.kernels import typed; print(typed.total(typed.{name}(np.array([2, 3]))))"


def test_what_an_earlier_version_kept_of_a_type_that_is_gone_is_forgotten(tmp_path):
    """As after an upgrade in place, which leaves what was compiled beside the new files."""
    shutil.copytree(ROOT / "engine", tmp_path / "engine", ignore=shutil.ignore_patterns("__pycache__"))
    environment = {"PATH": os.defpath, "PYTHONDONTWRITEBYTECODE": "1", "HOME": str(tmp_path)}
    for name in ("Before", "Afterwards"):
        (tmp_path / "engine" / "kernels" / "typed.py").write_text(OF_A_TYPE.replace("Before", name))
        command = [sys.executable, "-c", TOTAL.format(name=name)]
        done = subprocess.run(command, cwd=tmp_path, env=environment, check=False, capture_output=True, text=True)
        assert (done.stdout, done.stderr) == ("5\n", "")
        assert list((tmp_path / "engine" / "kernels" / "__pycache__").glob("typed.total*.nbc"))

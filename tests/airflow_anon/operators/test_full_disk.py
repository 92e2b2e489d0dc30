"""Tasks on a full disk, in a process of its own: the limit on files would break this one's database of Airflow too."""

from __future__ import annotations

import os
import re
import subprocess
import sys

from tests.conftest import ONCE
from tests.places import ROOT
from tests.profiles import thorough


def test_tasks_on_a_full_disk(once, migrated_metadata):
    assert migrated_metadata.is_relative_to(once)
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("AIRFLOW", "PYTEST"))}
    environment[ONCE] = str(once)
    options = ["-p", "no:cacheprovider", f"--hypothesis-profile={'thorough' if thorough() else 'fast'}"]
    command = [sys.executable, "-m", "pytest", *options, "tests/airflow_anon/operators/full_disk.py"]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:]
    assert re.search(rf"\b{6 if thorough() else 3} passed\b", done.stdout), done.stdout[-3000:]

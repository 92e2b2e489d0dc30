"""What importing the engine costs, and the names it gives."""

from __future__ import annotations

import subprocess
import sys

import pytest
import yaml

import engine
from tests.engine.jobs import BASE


def test_reading_a_job_file_imports_nothing_heavy(tmp_path):
    path = tmp_path / "job.yaml"
    path.write_text(yaml.safe_dump(BASE), encoding="utf-8")
    code = (
        "import sys; from engine import load_job; load_job(sys.argv[1]); "
        "print(sorted({'numpy', 'pandas', 'pyarrow', 'numba'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code, path], check=True, capture_output=True, text=True)
    assert done.stdout == "[]\n"


def test_the_names_of_the_engine_are_no_modules_whatever_was_imported_before():
    code = (
        "import importlib, pkgutil, types, engine\n"
        "for found in pkgutil.walk_packages(engine.__path__, 'engine.'):\n"
        "    if found.name != 'engine.__main__': importlib.import_module(found.name)\n"
        "print([name for name in engine.__all__ if isinstance(getattr(engine, name), types.ModuleType)])"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout == "[]\n"


def test_an_unknown_name_of_the_engine():
    with pytest.raises(AttributeError, match="nonsense"):
        engine.nonsense  # noqa: B018

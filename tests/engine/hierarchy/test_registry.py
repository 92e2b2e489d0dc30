"""What a job can name, and what naming it costs."""

from __future__ import annotations

import subprocess
import sys

import pytest

from engine.errors import InvalidJob


def test_parsing_a_job_imports_no_heavy_package():
    """Job files are parsed in schedulers, over and over."""
    script = (
        "import sys\n"
        "from pydantic import TypeAdapter\n"
        "from engine.hierarchy.policy_groups import AnyHierarchy\n"
        "builder = TypeAdapter(AnyHierarchy).validate_python({'builder': 'icd-10-cm'})\n"
        "assert builder.level_count == 5\n"
        "print({'numpy', 'pandas', 'pyarrow', 'simple_icd_10_cm'} & set(sys.modules))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_a_mapping_with_a_path_is_a_file(build):
    assert build(path="a.csv", delimiter=",").builder == "csv"


def test_an_unknown_builder_is_told_the_known_ones(build):
    with pytest.raises(
        InvalidJob, match=r"'builder' is 'zipcode', allowed are 'age', 'atc', 'csv', 'cuts', 'date', 'equal-width'"
    ):
        build(builder="zipcode")


@pytest.mark.parametrize("builder", ["age", "atc", "csv", "date", "icd-10-cm", "zip"])
def test_an_unknown_key_is_refused(build, builder):
    with pytest.raises(InvalidJob, match=r"unknown key 'surplus'"):
        build(builder=builder, path="a.csv", surplus=1) if builder == "csv" else build(builder=builder, surplus=1)

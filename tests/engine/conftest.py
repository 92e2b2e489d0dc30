"""Fixtures of the engine's tests."""

from __future__ import annotations

import pytest

from tests.engine.cli.command_line import ROWS, write


@pytest.fixture
def folder(tmp_path):
    """Give a folder with a job and its source."""
    (tmp_path / "people.csv").write_text(ROWS)
    write(tmp_path)
    return tmp_path

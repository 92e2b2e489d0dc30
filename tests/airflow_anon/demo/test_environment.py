"""What the demo tells whoever ran it."""

from __future__ import annotations

import os
import subprocess

from airflow_anon.demo.environment import DemoFolders, airflow_environment, check_command


def test_the_command_that_checks_a_release_knows_the_share_of_the_demo(tmp_path):
    folders = DemoFolders(tmp_path / "a demo's folder")
    command = tmp_path / ".venv" / "bin" / "airflow-anon"
    command.parent.mkdir(parents=True)
    command.write_text('#!/bin/sh\nprintf "%s\\n" "$AIRFLOW_CONN_RESEARCH_SHARE" "$@"\n', encoding="utf-8")
    command.chmod(0o755)
    own = {name: value for name, value in os.environ.items() if not name.startswith("AIRFLOW")}
    typed = subprocess.run(
        ["bash", "-c", check_command(folders)], cwd=tmp_path, env=own, capture_output=True, text=True, check=True
    )
    share = airflow_environment(folders)["AIRFLOW_CONN_RESEARCH_SHARE"]
    assert typed.stdout.splitlines() == [share, "ledger", "verify", "--files", "--ledger", folders.ledger_url]

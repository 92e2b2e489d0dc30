"""The command line of this room.

Exit status: 0 done, 1 the database failed, 2 an argument, the job or the data is invalid.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from airflow.providers.common.compat.sdk import AirflowException, AirflowFailException

from airflow_anon.commands.check import add_check
from airflow_anon.commands.doctor import add_doctor
from airflow_anon.commands.give_up import add_give_up
from airflow_anon.commands.init import add_init
from airflow_anon.commands.recall import add_recall
from airflow_anon.commands.settle import add_settle
from airflow_anon.commands.vault import add_vault
from engine import EngineError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; return the exit status."""
    parser = argparse.ArgumentParser(prog="airflow-anon")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    add_init(commands)
    add_check(commands)
    add_doctor(commands)
    add_vault(commands)
    add_recall(commands)
    add_give_up(commands)
    add_settle(commands)
    options = parser.parse_args(arguments)
    try:
        status: int = options.command(options)
    except EngineError as problem:
        return _ended(problem, problem.exit_code)
    except AirflowFailException as problem:
        return _ended(problem, 2)
    except AirflowException as problem:
        return _ended(problem, 1)
    return status


def _ended(problem: Exception, status: int) -> int:
    sys.stderr.write(f"airflow-anon: {problem}\n")
    return status

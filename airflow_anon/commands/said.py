"""The options of commands by which a person says something for the ledger: why, who, and of which ledger."""

from __future__ import annotations

import argparse
import getpass


def add_said(parser: argparse.ArgumentParser) -> None:
    """Add the options to a command's parser."""
    parser.add_argument("--reason", required=True, help="why, in a sentence that stands in the ledger and on the page")
    parser.add_argument("--by", metavar="NAME", help="who says it (default: the user of the operating system)")
    parser.add_argument("--ledger", metavar="ADDRESS", help="of the ledger, instead of AIRFLOW_ANON_LEDGER")


def said_by(options: argparse.Namespace) -> str:
    """Return who says it."""
    return options.by or getpass.getuser()

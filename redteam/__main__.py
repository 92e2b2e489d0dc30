"""`python -m redteam`: run the attacks, print what they came to, and fail if one is above its bound."""

from __future__ import annotations

import argparse
import importlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path

from redteam.outcome import Outcome

ROOT = Path(__file__).resolve().parents[1]
ATTACKS = (
    "small_classes",
    "row_order",
    "fingerprint",
    "homogeneity",
    "few_left_out",
    "unlooked_columns",
    "minimality",
    "downcoding",
    "people_left",
    "pseudonyms",
    "churn",
    "many_nights",
    "corrected_values",
)
HEADER = f"{'attack':<58} {'release':<36} {'tries':>8} {'success':>8} {'baseline':>9} {'bound':>7}"


def main(arguments: list[str] | None = None) -> int:
    """Run the attacks that are named, or all; return 1 if one is above its bound."""
    parser = argparse.ArgumentParser(prog="python -m redteam", description=__doc__)
    parser.add_argument("attacks", nargs="*", metavar="ATTACK", help=f"all if none is named: {', '.join(ATTACKS)}")
    parser.add_argument("--against", metavar="COMMIT", help="run them on the code of this commit")
    chosen = parser.parse_args(arguments)
    for name in set(chosen.attacks) - set(ATTACKS):
        parser.error(f"{name} is none of {', '.join(ATTACKS)}")
    if chosen.against:
        return _against(chosen.against, chosen.attacks)
    missing = _missing()
    if missing:
        print(missing, file=sys.stderr)
        return 2
    print(HEADER)
    above = 0
    for name in chosen.attacks or ATTACKS:
        begun = time.monotonic()
        for outcome in importlib.import_module(f"redteam.attacks.{name}").attack():
            above += not outcome.holds
            print(line(outcome), flush=True)
        print(f"  {name}: {time.monotonic() - begun:.0f} s", file=sys.stderr)
    print(f"{above} above their bounds" if above else "None is above its bound.")
    return 1 if above else 0


def line(outcome: Outcome) -> str:
    """Return an outcome as a line of the table."""
    shares = f"{outcome.success:8.2%} {outcome.baseline:9.2%} {outcome.bound:7.1%}"
    return f"{outcome.attack:<58} {outcome.table:<36} {outcome.tries:8,} {shares}{'' if outcome.holds else '  ABOVE'}"


def _missing() -> str | None:
    from redteam.adult import DATA  # noqa: PLC0415 (it loads the engine)

    return None if DATA.is_dir() else "needs the folder 'shared' beside the project root, with the table adult"


def _against(commit: str, attacks: list[str]) -> int:
    """Run the attacks of this folder on the code of another commit, in a copy of it."""
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder) / "project"
        archive = subprocess.Popen(["git", "archive", commit], cwd=ROOT, stdout=subprocess.PIPE)
        with archive, tarfile.open(fileobj=archive.stdout, mode="r|") as files:
            files.extractall(project, filter="data")
        if archive.returncode:
            return 2
        shutil.rmtree(project / "redteam", ignore_errors=True)
        shutil.copytree(ROOT / "redteam", project / "redteam", ignore=shutil.ignore_patterns("__pycache__"))
        (project.parent / "shared").symlink_to(ROOT.parent / "shared")
        environment = {**os.environ, "PYTHONPATH": str(project)}
        return subprocess.run(
            [sys.executable, "-m", "redteam", *attacks], cwd=project, env=environment, check=False
        ).returncode


if __name__ == "__main__":
    sys.exit(main())

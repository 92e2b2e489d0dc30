"""Passes over the data and seconds of `optimal` against the reference solver's checks, on the shared tables.

    python benchmarks/bench_search.py

In: `../shared` (tables, hierarchies, vectors). Out: one line per problem. The ratio compares counts of passes over the
distinct tuples, so it does not depend on the machine; seconds are the search alone. Every result is compared with the
vector before its line is printed.
"""

from __future__ import annotations

import json
import math
import statistics
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from engine import run  # noqa: E402 (the project root must be on the path)
from tests.conformance.test_vectors import VECTORS, job_of  # noqa: E402


def main() -> int:
    """Print the table."""
    if not VECTORS.is_file():
        print(f"needs the reference solver's results at {VECTORS.relative_to(ROOT.parent)} beside the project")
        return 0
    ratios = []
    print(f"{'problem':24} {'space':>7} {'reference checks':>17} {'ours':>6} {'ratio':>6} {'seconds':>8}")
    for vector in map(json.loads, VECTORS.read_text(encoding="utf-8").splitlines()):
        report = run(job_of(vector)).report
        expected, search = vector["expected"], report["search"]
        loss = report["solution"]["information_loss"]
        assert math.isclose(loss, expected["information_loss"], rel_tol=1e-9), vector["id"]
        assert expected["suppressed"] in {report["solution"]["suppressed"], None}, vector["id"]
        ratios.append(expected["reference_checked"] / search["checked"])
        print(
            f"{vector['id']:24} {search['space']:7} {expected['reference_checked']:17} {search['checked']:6} "
            f"{ratios[-1]:6.2f} {search['seconds']:8.3f}"
        )
    print(f"{len(ratios)} problems, median ratio {statistics.median(ratios):.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

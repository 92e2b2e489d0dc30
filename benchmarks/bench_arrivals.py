"""What each way to treat arrivals costs: adult, 1% come and 1% go each night, eleven nights.

    python benchmarks/bench_arrivals.py

Out: for each setting, on the last night, the loss of the released records, the persons who wait, cover or are
suppressed as shares of the table, and the loss of the last night's newcomers of whom the file has a record. Asserted in
the same run: no trace is below k (each run verifies it), and with `batch` nobody waits.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

from bench_lasting import job, nights

from engine import run

MEMORY = 11
SETTINGS = ("hold-back", "batch", "coarsen")
LIMITS = (0.05, 0.0)


def measured(arrivals: str, limit: float) -> dict[str, Any]:
    """Run as many nights as are remembered; return the report of the last one."""
    with tempfile.TemporaryDirectory() as folder:
        made = {**job(folder, MEMORY, lasting=False), "suppression_limit": limit}
        made["series"] = {**made["series"], "arrivals": arrivals}
        if arrivals == "batch":
            del made["stability"]
        for table in nights(MEMORY):
            report: dict[str, Any] = run(made, table[list(made["attributes"])], output=Path(folder) / "release").report
    return report


def main() -> None:
    """Run all settings."""
    for limit in LIMITS:
        for arrivals in SETTINGS:
            begun = time.process_time()
            report = measured(arrivals, limit)
            series, loss = report["series"], report["solution"]["information_loss"]
            assert arrivals != "batch" or series["held_back_share"] == 0.0
            withheld = sum(series[f"{cause}_share"] for cause in ("held_back", "covered", "suppressed"))
            print(
                f"limit {limit:g}, {arrivals}: loss {loss:.3f}, waiting {series['held_back_share']:.3f}, covers "
                f"{series['covered_share']:.3f}, suppressed {series['suppressed_share']:.3f}, in all "
                f"{loss + (1 - loss) * withheld:.3f}, {report['released']:,} released, {series.get('cohorts')}, "
                f"{time.process_time() - begun:.0f} CPU s",
                flush=True,
            )


if __name__ == "__main__":
    main()

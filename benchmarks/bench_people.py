"""What it costs to count persons instead of records: made-up visits, 13 per patient on average.

    python benchmarks/bench_people.py [PATIENTS ...]      # 2,000 and 100,000 by default

Out: for each way of counting the loss, what is suppressed, the persons of the smallest class, and CPU seconds and
memory of the whole run, verification included. Asserted in the same run: the loss is proven optimal; where persons are
counted a recount with pandas, which generalizes the source anew and shares only the rows of the hierarchies, finds
nobody below k in any class of the file; 100,000 patients take at most 20 CPU seconds and 2 GB, and 30 where rows are
left out.
"""

from __future__ import annotations

import hashlib
import resource
import subprocess
import sys
import time
from typing import Any, NamedTuple

import pandas as pd
from made_up_visits import HIERARCHIES, job_of_visits, made_up_visits

from engine import load_job, run
from engine.kernels.warm_up import warm_up

K = 5
KEY = bytes(range(32))
WAYS: dict[str, dict[str, Any]] = {
    "unit: record": {"unit": "record"},
    "knows: any-row": {"subject": "mrn", "knows": "any-row"},
    "knows: any-row, max_rows: 20": {"subject": "mrn", "knows": "any-row", "max_rows": 20},
}
LARGE = 100_000
MOST_SECONDS = {"unit: record": 20.0, "knows: any-row": 20.0, "knows: any-row, max_rows: 20": 30.0}
MOST_BYTES = 2 << 30


class Recounted(NamedTuple):
    """Persons of the smallest class of a file; patients alone in a class, and shares of those below K in one."""

    smallest: int
    alone: int
    below: float


def recounted(source: pd.DataFrame, released: pd.DataFrame, levels: dict[str, int]) -> Recounted:
    """Count the persons of each class that the file keeps."""
    job = load_job(job_of_visits(K, unit="record"))
    cells = pd.DataFrame({"mrn": source["mrn"]})
    for name in HIERARCHIES:
        hierarchy = job.attributes[name].hierarchy
        assert hierarchy is not None
        labels = {row[0]: row[levels[name]] for row in hierarchy.rows(sorted(source[name].unique()))}
        cells[name] = source[name].map(labels)
    names = list(HIERARCHIES)
    kept = released[names].drop_duplicates()
    there = cells.merge(kept[(kept != "*").any(axis=1)], on=names)
    sizes = there.groupby(names)["mrn"].nunique().rename("persons")
    least = there.join(sizes, on=names).groupby("mrn")["persons"].min()
    return Recounted(int(sizes.min()), int((least == 1).sum()), float((least < K).mean()))


def staying(source: pd.DataFrame, most: int) -> pd.DataFrame:
    """Return the rows of each patient that stay: those with the smallest keyed hashes of their place."""
    places = range(len(source))
    hashed = [hashlib.blake2b(n.to_bytes(8, "big"), key=KEY, digest_size=8).digest() for n in places]
    order = source.assign(hashed=hashed).sort_values("hashed")
    return source.loc[order.index[order.groupby("mrn").cumcount() < most]]


def measured(way: str, patients: int) -> str:
    """Run once, assert, and return a row of the table."""
    table = made_up_visits(patients)
    source = table.to_pandas()
    warm_up()
    before = time.process_time()
    result = run(job_of_visits(K, **WAYS[way]), table, rows_key=KEY)
    seconds = time.process_time() - before
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
    report = result.report
    most = WAYS[way].get("max_rows")
    source = source if most is None else staying(source, most)
    assert len(source) == report["rows"]
    found = recounted(source, result.table.to_pandas(), report["solution"]["levels"])
    assert report["solution"]["optimal"]
    if "subject" in WAYS[way]:
        assert found.smallest >= K
        assert report["persons"] == patients
        assert K <= report["classes"]["smallest"] <= found.smallest
        gone = f"{report['persons_suppressed_share']:.2%}"
    else:
        gone = ""
    if patients >= LARGE:
        assert seconds <= MOST_SECONDS[way], seconds
        assert peak <= MOST_BYTES, peak
    share = report["suppressed_class"]["records"] / report["rows"]
    rows = report.get("further_rows", {"share": 0.0})["share"]
    cells = [f"{patients:,}", f"{table.num_rows:,}", f"`{way}`", f"{report['solution']['information_loss']:.4f}"]
    cells += [f"{rows:.1%}", f"{share:.2%}", gone, str(found.smallest), str(found.alone), f"{found.below:.1%}"]
    cells += [f"{report['search']['seconds']:.1f}", f"{seconds:.1f}", f"{peak / 2**20:,.0f}"]
    return f"| {' | '.join(cells)} |"


def main(arguments: list[str]) -> int:
    """Print the table; each row is measured in a process of its own."""
    if arguments[:1] == ["--one"]:
        print(measured(arguments[1], int(arguments[2])), flush=True)
        return 0
    titles = "patients | visits | counted | loss | further rows left out | suppressed records"
    titles += " | persons of whom nothing is kept | persons of the smallest class | patients alone in a class"
    titles += " | patients in a class below 5 | search, s | run, CPU s | peak, MiB"
    print(f"| {titles} |")
    print(f"|{' ---: | ---: | --- |' + ' ---: |' * 10}", flush=True)
    for patients in map(int, arguments or ("2000", str(LARGE))):
        for way in WAYS:
            command = [sys.executable, __file__, "--one", way, str(patients)]
            done = subprocess.run(command, check=False)  # noqa: S603 (this file)
            if done.returncode:
                return done.returncode
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

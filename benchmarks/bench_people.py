"""What it costs to count persons instead of records, by what attackers know: made-up visits, 13 per patient on average.

    python benchmarks/bench_people.py [PATIENTS ...]      # 2,000 and 100,000 by default

Out: for each way of counting the loss, what is suppressed, the persons of the smallest class, and CPU seconds and
memory of the whole run, verification included. Asserted in the same run: the loss is proven optimal; where persons are
counted a recount with pandas, which generalizes the source anew and shares only the rows of the hierarchies, finds
nobody below k in any class of the file, or, of attackers who know several rows, in what they know of a person in it;
100,000 patients take at most 20 CPU seconds and 2 GB, 30 where rows are left out, and 60 where attackers know all rows.
Of attackers who know two rows seconds and memory are only reported.
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

from engine import NoSolution, load_job, run
from engine.kernels.warm_up import warm_up

K = 5
KEY = bytes(range(32))
SIZE = [{"model": "k-anonymity", "k": K}]
WAYS: dict[str, dict[str, Any]] = {
    "unit: record": {"unit": "record"},
    "knows: any-row": {"subject": "mrn", "knows": "any-row"},
    "knows: any-row, max_rows: 20": {"subject": "mrn", "knows": "any-row", "max_rows": 20},
    "knows: all-rows": {"subject": "mrn", "knows": "all-rows"},
    "knows: all-rows, max_rows: 5": {"subject": "mrn", "knows": "all-rows", "max_rows": 5},
    # the three attackers beside each other
    "knows: any-row, k alone": {"subject": "mrn", "knows": "any-row", "privacy": SIZE},
    "knows: {rows: 2}, k alone": {"subject": "mrn", "knows": {"rows": 2}, "privacy": SIZE},
    "knows: all-rows, k alone": {"subject": "mrn", "knows": "all-rows", "privacy": SIZE},
}
LARGE = 100_000
MOST_SECONDS = {
    "unit: record": 20.0,
    "knows: any-row": 20.0,
    "knows: any-row, max_rows: 20": 30.0,
    "knows: all-rows": 60.0,
    "knows: all-rows, max_rows: 5": 60.0,
    "knows: any-row, k alone": 20.0,
    "knows: all-rows, k alone": 60.0,
}
MOST_BYTES = 2 << 30


class Recounted(NamedTuple):
    """Persons of the smallest class of a file; patients alone in a class, and shares of those below K in one."""

    smallest: int
    alone: int
    below: float


def generalized(source: pd.DataFrame, levels: dict[str, int]) -> pd.DataFrame:
    """Return the cells of the source, and whose they are."""
    job = load_job(job_of_visits(K, unit="record"))
    cells = pd.DataFrame({"mrn": source["mrn"]})
    for name in HIERARCHIES:
        hierarchy = job.attributes[name].hierarchy
        assert hierarchy is not None
        labels = {row[0]: row[levels[name]] for row in hierarchy.rows(sorted(source[name].unique()))}
        cells[name] = source[name].map(labels)
    return cells


def recounted(source: pd.DataFrame, released: pd.DataFrame, levels: dict[str, int]) -> Recounted:
    """Count the persons of each class that the file keeps."""
    cells = generalized(source, levels)
    names = list(HIERARCHIES)
    kept = released[names].drop_duplicates()
    there = cells.merge(kept[(kept != "*").any(axis=1)], on=names)
    sizes = there.groupby(names)["mrn"].nunique().rename("persons")
    least = there.join(sizes, on=names).groupby("mrn")["persons"].min()
    return Recounted(int(sizes.min()), int((least == 1).sum()), float((least < K).mean()))


def recounted_persons(
    source: pd.DataFrame, released: pd.DataFrame, levels: dict[str, int], knows: Any, *, diverse: bool
) -> Recounted:
    """Count who has what attackers know of each patient in the file, which must have all rows of some patients."""
    names = list(HIERARCHIES)
    cells = generalized(source, levels)
    outcomes = source["outcome"].groupby(cells["mrn"]).agg(set)
    cells["cell"] = cells.groupby(names).ngroup()
    kept, among = cells, pd.Series(dtype="int64")
    while True:
        among = _alike(kept, outcomes, diverse=diverse) if knows == "all-rows" else _sharing_two(kept)
        if among.min() >= K:
            break
        kept = kept[kept["mrn"].map(among) >= K]
    expected = kept.groupby(names).size()
    assert expected.to_dict() == released.groupby(names).size().to_dict()
    return Recounted(int(among.min()), 0, float((among < K).mean()))


def _alike(cells: pd.DataFrame, outcomes: pd.Series, *, diverse: bool) -> pd.Series:
    """Return, by patient, how many have the same cells as often; 0 where all of these have one outcome."""
    picture = cells.sort_values("cell").groupby("mrn")["cell"].agg(tuple)
    sizes = picture.map(picture.value_counts())
    if diverse:
        of_group = outcomes.reindex(picture.index).groupby(picture).agg(lambda found: len(set().union(*found)))
        sizes = sizes.where(picture.map(of_group) > 1, 0)
    return sizes


def _sharing_two(cells: pd.DataFrame) -> pd.Series:
    """Return, by patient, how many share the rarest cell or pair of cells, which may be one cell twice."""
    own = cells[["mrn", "cell"]].sort_values("cell")
    own["nth"] = own.groupby(["mrn", "cell"]).cumcount()
    own = own[own["nth"] < 2]
    once = own.groupby(["cell", "nth"])["mrn"].transform("size").groupby(own["mrn"]).min()
    first = own.loc[own["nth"] == 0, ["mrn", "cell"]]
    numbers = pd.Series(pd.factorize(first["mrn"])[0], index=first.index)
    pairs = pd.DataFrame({"patient": numbers, "cell": first["cell"]})
    pairs = pairs.merge(pairs, on="patient")
    pairs = pairs[pairs["cell_x"] < pairs["cell_y"]]
    shared = pairs.groupby(["cell_x", "cell_y"])["patient"].transform("size").groupby(pairs["patient"]).min()
    shared.index = pd.factorize(first["mrn"])[1][shared.index]
    return once.clip(upper=shared.reindex(once.index).fillna(once)).astype("int64")


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
    try:
        result = run(job_of_visits(K, **WAYS[way]), table, rows_key=KEY)
    except NoSolution:
        return f"| {patients:,} | {table.num_rows:,} | `{way}` | no solution |"
    seconds = time.process_time() - before
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
    report = result.report
    most = WAYS[way].get("max_rows")
    source = source if most is None else staying(source, most)
    assert len(source) == report["rows"]
    knows, levels = WAYS[way].get("knows", "any-row"), report["solution"]["levels"]
    if knows == "any-row":
        found = recounted(source, result.table.to_pandas(), levels)
    else:
        diverse = "privacy" not in WAYS[way]
        found = recounted_persons(source, result.table.to_pandas(), levels, knows, diverse=diverse)
    assert report["solution"]["optimal"]
    if "subject" in WAYS[way]:
        assert found.smallest >= K
        assert report["persons"] == patients
        assert report["classes"]["smallest"] >= K
        if knows == "any-row":
            assert report["classes"]["smallest"] <= found.smallest
        else:
            assert report["privacy"][0]["observed"] == found.smallest
        gone = f"{report['persons_suppressed_share']:.2%}"
    else:
        gone = ""
    if patients >= LARGE and way in MOST_SECONDS:
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

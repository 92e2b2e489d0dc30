"""What it costs to de-identify linked tables, by what attackers know: patients, visits and conditions of the demo.

    python benchmarks/bench_linked.py [PERSONS ...]      # 3,000 and 100,000 by default

Out: for each attacker loss, what is suppressed, CPU seconds and memory of the whole run, verification included, by the
shipped job. Asserted in the same run: the loss is proven optimal; a recount with pandas, which generalizes the source
anew and shares only the rows of the hierarchies, finds nobody below k in what attackers know over all tables, and in
the files the records of exactly those persons; with 100,000 persons any-row takes at most 20 CPU seconds, all-rows 60,
and both 2 GB. Of attackers who know two rows seconds and memory are only reported.
"""

from __future__ import annotations

import itertools
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pandas as pd
import yaml
from sqlalchemy import create_engine, text

from airflow_anon.demo.warehouse import build_warehouse
from engine import NoSolution, load_job, run
from engine.kernels.warm_up import warm_up

K = 5
JOB = Path(__file__).resolve().parents[1] / "dags" / "jobs" / "patients_visits_conditions.yaml"
ATTACKERS: dict[str, Any] = {"any-row": "any-row", "{rows: 2}": {"rows": 2}, "all-rows": "all-rows"}
LARGE = 100_000
MOST_SECONDS = {"any-row": 20.0, "all-rows": 60.0}
MOST_BYTES = 2 << 30


def tables_of(document: dict[str, Any], persons: int) -> dict[str, pd.DataFrame]:
    """Build the demo warehouse, and read the tables of a job by its queries."""
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{folder}/warehouse.sqlite"
        build_warehouse(url, persons=persons)
        warehouse = create_engine(url)
        with warehouse.connect() as connection:
            found = {
                name: pd.read_sql(text(one["source"]["query"]), connection) for name, one in document["tables"].items()
            }
        warehouse.dispose()
    return found


def cells_of(job: Any, source: dict[str, pd.DataFrame], levels: dict[str, int]) -> pd.DataFrame:
    """Return the table, the cell and the person of each record of the source."""
    parts = []
    for table, frame in source.items():
        labels = []
        for name in job.tables[table].attributes:
            if name == job.subject:
                continue
            texts = frame[name].astype("string").astype(object).where(frame[name].notna(), None)
            values = sorted(value for value in texts.unique() if value is not None)
            generalized = job.attributes[name].hierarchy.rows(values)
            rows = {row[0]: row[levels[name]] for row in generalized}
            if 0 < levels[name] == len(generalized[0]) - 1:
                # at the highest level a missing value joins the root
                rows[None] = generalized[0][-1]
            labels.append([rows.get(value) for value in texts])
        cell = list(zip(itertools.repeat(table), *labels, strict=False))
        parts.append(pd.DataFrame({"person": frame[job.subject].to_numpy(), "cell": cell}))
    return pd.concat(parts, ignore_index=True)


def kept_of(cells: pd.DataFrame, knows: Any) -> tuple[pd.DataFrame, int]:
    """Return the records that are released, and the fewest persons who share what is known."""
    numbers, _ = pd.factorize(cells["cell"])
    records = cells.assign(number=numbers)
    if knows == "any-row":
        persons = records.groupby("number")["person"].nunique()
        good = persons[persons >= K]
        return records[records["number"].isin(good.index)], int(good.min())
    pictures = records.groupby("person")["number"].agg(lambda found: tuple(sorted(found)))
    while True:
        if knows == "all-rows":
            among = pictures.map(Counter(pictures))
        else:
            known = [{*own, *itertools.combinations(own, 2)} for own in pictures]
            shared = Counter(part for own in known for part in own)
            among = pd.Series([min(shared[part] for part in own) for own in known], index=pictures.index)
        if not len(among) or among.min() >= K:
            return records[records["person"].isin(pictures.index)], int(among.min())
        pictures = pictures[among >= K]


def measured(way: str, persons: int) -> str:
    """Run the job with one attacker; assert its result and return a row of the table."""
    document = yaml.safe_load(JOB.read_text())
    source = tables_of(document, persons)
    for one in document["tables"].values():
        del one["source"]
    gender = JOB.parent / "hierarchies" / "gender.csv"
    document["tables"]["person"]["attributes"]["gender"]["hierarchy"] = str(gender)
    job = load_job({**document, "knows": ATTACKERS[way], "output": None, "dag": None})
    number = sum(map(len, source.values()))
    warm_up()
    begun = time.process_time()
    try:
        result = run(job, source)
    except NoSolution:
        return f"| {persons:,} | {number:,} | `{way}` | no transformation | | | | |"
    seconds = time.process_time() - begun
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
    report = result.report
    assert report["solution"]["optimal"]
    kept, fewest = kept_of(cells_of(job, source, report["solution"]["levels"]), ATTACKERS[way])
    assert fewest >= K
    assert report["privacy"][0]["observed"] == fewest
    released = Counter()
    for name, table in result.tables.items():
        columns = [column.to_pylist() for column in table.columns]
        released.update(zip(itertools.repeat(name), *columns, strict=False))
    assert released == Counter(kept["cell"])
    gone = report["persons"] - kept["person"].nunique()
    assert report["persons_suppressed_share"] == gone / report["persons"]
    if persons >= LARGE and way in MOST_SECONDS:
        assert seconds <= MOST_SECONDS[way], seconds
        assert peak <= MOST_BYTES, peak
    share = report["suppressed_class"]["records"] / report["rows"]
    cells = [f"{persons:,}", f"{number:,}", f"`{way}`", f"{report['solution']['information_loss']:.4f}", f"{share:.2%}"]
    cells += [f"{report['persons_suppressed_share']:.2%}", f"{seconds:.1f}", f"{peak / 2**30:.1f}"]
    return f"| {' | '.join(cells)} |"


def main(arguments: list[str]) -> int:
    """Print the table; each row is measured in a process of its own."""
    if arguments[:1] == ["--one"]:
        print(measured(arguments[1], int(arguments[2])), flush=True)
        return 0
    print(
        "| persons | records | knows | loss | suppressed records | persons of whom nothing is kept | run, CPU s | GiB |"
    )
    print(f"| ---: | ---: | --- |{' ---: |' * 5}", flush=True)
    for persons in map(int, arguments or ("3000", str(LARGE))):
        for way in ATTACKERS:
            done = subprocess.run([sys.executable, __file__, "--one", way, str(persons)], check=False)  # noqa: S603 (this file)
            if done.returncode:
                return done.returncode
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

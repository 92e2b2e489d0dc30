"""Random releases with mixed levels beside pyCANON, which counts k, l and t of each by its own code.

    python benchmarks/bench_pycanon.py [--jobs JOBS] [--seed SEED] [--python PYTHON]

In: the package index (pyCANON is installed in an environment of its own, unless PYTHON names one that has it). Out: a
table in Markdown of how many releases there were by models, how many of them mix levels in a column, and how many
fail what their job demands (none, or the exit code is 1) or have another figure in their report than pyCANON finds. A
release with records that show `*` throughout has them as one more class: then only the demands are compared.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
from bench_peers import CannotDoItError, installed, solved

from engine import NoSolution, load_job, run
from engine.kernels.warm_up import Part, warm_up

SECONDS = 3600.0
_TOLERANCE = 1e-9


def hierarchy(random: np.random.Generator, name: str) -> list[list[str]]:
    """Return a random tree of 2 to 4 levels over 3 to 9 values."""
    size = int(random.integers(3, 10))
    columns = [[f"{name}{value}" for value in range(size)]]
    groups = np.arange(size)
    for level in range(1, int(random.integers(1, 3)) + 1):
        groups = groups // int(random.integers(2, 4))
        columns.append([f"{name}{level}.{group}" for group in groups.tolist()])
    return [list(row) for row in zip(*columns, ["*"] * size, strict=True)]


def demand(random: np.random.Generator, *, numeric: bool) -> list[dict[str, Any]]:
    """Return random privacy models of a job."""
    models: list[dict[str, Any]] = [{"model": "k-anonymity", "k": int(random.integers(2, 6))}]
    if random.random() < 2 / 3:
        l = int(random.integers(2, 4))  # noqa: E741 (the name of the parameter)
        models.append({"model": "l-diversity", "variant": "distinct", "attribute": "s", "l": l})
    if random.random() < 2 / 3:
        t = round(float(random.uniform(0.15, 0.6)), 2)
        distance = "ordered" if numeric else "equal"
        models.append({"model": "t-closeness", "distance": distance, "attribute": "s", "t": t})
    return models


def release(random: np.random.Generator, place: int, folder: Path) -> dict[str, Any] | None:
    """Make one release of a random job by local recoding; None where the models have no solution."""
    names = [f"q{a}" for a in range(int(random.integers(1, 4)))]
    records, numeric = int(random.integers(20, 150)), bool(random.integers(2))
    attributes: dict[str, Any] = {"s": {"role": "sensitive", **({"order": "integer"} if numeric else {})}}
    columns: dict[str, Any] = {}
    for name in names:
        rows = hierarchy(random, name)
        (folder / f"{name}.csv").write_text("".join(";".join(row) + "\n" for row in rows), encoding="utf-8")
        attributes[name] = {"role": "quasi-identifying", "hierarchy": str(folder / f"{name}.csv")}
        shares = random.dirichlet(np.full(len(rows), 0.7))
        columns[name] = random.choice([row[0] for row in rows], records, p=shares)
    values = random.choice(np.arange(1, 7), records, p=random.dirichlet(np.ones(6)))
    columns["s"] = values if numeric else np.char.add("v", values.astype(str))
    job = load_job(
        {
            "name": "random",
            "unit": "record",
            "attributes": attributes,
            "privacy": demand(random, numeric=numeric),
            "transformation": "local-recoding",
            "recoding": {"algorithm": str(random.choice(["clustering", "splitting"])), "bound_passes": 0},
            "suppression_limit": float(random.choice([0.0, 0.1, 0.4])),
            "allow_empty_information": True,
            "output": {"path": "unused", "suppressed": str(random.choice(["star", "drop"]))},
        }
    )
    try:
        result = run(job, pa.table(columns), output=folder / "out")
    except NoSolution:
        return None
    path = folder / f"{place}.csv"
    pa.csv.write_csv(result.table, path, pa.csv.WriteOptions(delimiter=";", quoting_style="needed"))
    solution = result.report["solution"]
    return {
        "table": str(path),
        "quasi_identifiers": names,
        "sensitive": "s",
        "numeric": numeric,
        "records": result.table.num_rows,
        "privacy": result.report["privacy"],
        "form": result.report["suppressed_class"]["form"],
        "mixed": any(sum(share > 0 for share in shares) > 1 for shares in solution["shares"].values()),
    }


KEYS = {"k-anonymity": "k", "l-diversity": "l", "t-closeness": "t"}


def judged(made: dict[str, Any], found: dict[str, Any]) -> tuple[bool, bool]:
    """Tell whether a release fails a demand by pyCANON's figures, and whether its report has others."""
    fails = differs = False
    for model in made["privacy"]:
        key = KEYS[model["model"]]
        figure, required = found[key], model[key]
        fails |= figure > required + _TOLERANCE if key == "t" else figure < required
        if made["form"] != "star":
            differs |= not math.isclose(figure, model["observed"], rel_tol=_TOLERANCE, abs_tol=_TOLERANCE)
    return fails, differs


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description="Print the table.")
    parser.add_argument("--jobs", type=int, default=400, help="random jobs")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--python", help="an interpreter with pyCANON, instead of a new environment")
    given = parser.parse_args()
    warm_up(Part.SEARCH, Part.RECODING)
    counts: dict[str, Counter[str]] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        try:
            python, version = (Path(given.python), "") if given.python else installed("pycanon", folder)
        except CannotDoItError as reason:
            print(f"pycanon: {reason}")
            return 0
        random = np.random.default_rng(given.seed)
        before = time.process_time()
        drawn = [release(random, place, folder) for place in range(given.jobs)]
        seconds = time.process_time() - before
        made = [one for one in drawn if one is not None and one["records"]]
        figures = solved(python, "pycanon_releases", {"releases": made}, SECONDS)["found"]
        for one, found in zip(made, figures, strict=True):
            of = counts.setdefault(", ".join(KEYS[model["model"]] for model in one["privacy"]), Counter())
            fails, differs = judged(one, found)
            of.update(
                ["releases", *(["mixed"] if one["mixed"] else []), *([one["form"]] if one["form"] != "none" else [])]
            )
            of.update({"fail": int(fails), "differ": int(differs)})
            if fails or differs:
                print(json.dumps({**one, "found": found}), file=sys.stderr)
    columns = ("releases", "mixed", "star", "drop", "fail", "differ")
    print(f"{given.jobs} jobs, {given.jobs - len(made)} without a solution; {seconds:.0f} CPU s; pyCANON {version}\n")
    print("| models | releases | mixed levels | suppressed as `*` | left out | fail by pyCANON | other figures |")
    print("| --- |" + " ---: |" * len(columns))
    for models, of in sorted(counts.items()):
        print(f"| {models} | " + " | ".join(str(of[key]) for key in columns) + " |")
    return int(any(of["fail"] or of["differ"] for of in counts.values()))


if __name__ == "__main__":
    sys.exit(main())

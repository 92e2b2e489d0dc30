"""Turn the parts of a random problem into a job and a table."""

from __future__ import annotations

import csv

import pyarrow as pa

from engine import load_job
from engine.hierarchy.builder import HierarchyBuilder


class Listed(HierarchyBuilder):
    """A hierarchy builder whose rows are given."""

    builder: str = "listed"
    entries: tuple[tuple[str, ...], ...]

    @property
    def level_count(self):
        """See `HierarchyBuilder`."""
        return len(self.entries[0])

    def rows(self, values):
        """See `HierarchyBuilder`."""
        del values
        return list(self.entries)


def names(problem):
    """Names of the quasi-identifiers."""
    return [f"q{a}" for a in range(len(problem["hierarchies"]))]


def table(problem):
    """Return the records as a table."""
    columns = {name: [values[a] for values, _ in problem["records"]] for a, name in enumerate(names(problem))}
    columns["s"] = [sensitive["s"] for _, sensitive in problem["records"]]
    return pa.table(columns, schema=pa.schema([(name, pa.string()) for name in columns]))


def job(problem, folder, **changes):
    """Write the hierarchies into a folder and return the job."""
    attributes = {"s": {"role": "sensitive"}}
    for name, rows, weight in zip(names(problem), problem["hierarchies"], problem["weights"], strict=True):
        with (folder / f"{name}.csv").open("w", newline="") as file:
            csv.writer(file, delimiter=";").writerows(rows)
        attributes[name] = {"role": "quasi-identifying", "hierarchy": str(folder / f"{name}.csv"), "weight": weight}
    document = {
        "name": "random",
        "attributes": attributes,
        "privacy": problem["models"],
        "suppression_limit": problem["limit"],
        "utility": {
            "measure": problem["measure"],
            "aggregate": problem["combine"],
            "generalization_suppression_factor": problem["f"],
        },
        **changes,
    }
    return load_job(document)

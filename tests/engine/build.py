"""Turn the parts of a random problem into a job and a table."""

from __future__ import annotations

import csv
import math

import pyarrow as pa
from pydantic import TypeAdapter

from engine import load_job
from engine.columns import Columns, QuasiIdentifier, Sensitive
from engine.encode import encode
from engine.hierarchy.builder import HierarchyBuilder
from engine.lattice.space import Lattice
from engine.privacy.registry import AnyPrivacyModel
from engine.search.algorithm import Problem
from engine.table import open_data
from engine.utility.registry import AnyMeasure


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

    def is_label(self, label, level):
        """See `HierarchyBuilder`."""
        return any(row[level] == label for row in self.entries)


def encoded(table, builders, sensitive=(), refuse_nulls=(), **settings):
    """Encode a table; `sensitive` names attributes, or maps them to how they are read."""
    read = sensitive if isinstance(sensitive, dict) else {name: Sensitive() for name in sensitive}
    quasi = {name: QuasiIdentifier(builder) for name, builder in builders.items()}
    return encode(table, Columns(quasi, read, tuple(refuse_nulls)), **settings)


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


def counted(problem):
    """Return the frequency table of a problem, without a job."""
    records = table(problem)
    builders = {name: Listed(entries=rows) for name, rows in zip(names(problem), problem["hierarchies"], strict=True)}
    # an attribute without any value has no hierarchy to build
    grown = "tree" in problem and records["s"].null_count < records.num_rows
    tree = Listed(entries=problem["tree"]) if grown else None
    return encoded(open_data(records), builders, {"s": Sensitive(hierarchy=tree)})[1]


def models(problem):
    """Return the privacy models of a problem."""
    return tuple(TypeAdapter(AnyPrivacyModel).validate_python(model) for model in problem["models"])


def evaluator(problem, counts):
    """Bind the measure of a problem to its frequency table."""
    parameters = {
        "measure": problem["measure"],
        "aggregate": problem["combine"],
        "generalization_suppression_factor": problem["f"],
    }
    return TypeAdapter(AnyMeasure).validate_python(parameters).evaluator(counts, problem["weights"])


def search_problem(problem, low=None, high=None, **settings):
    """Return what a search is given; nothing of a job's run before or after it is needed."""
    counts = counted(problem)
    heights = tuple(hierarchy.level_count - 1 for hierarchy in counts.hierarchies)
    lattice = Lattice(tuple(low or [0] * len(heights)), tuple(high or heights))
    limit = math.floor(problem["limit"] * counts.records)
    return Problem(counts, lattice, models(problem), evaluator(problem, counts), limit, **settings)


def leaves(counts):
    """Return the tuple of leaf values of each row of a frequency table."""
    labels = [hierarchy.labels[0] for hierarchy in counts.hierarchies]
    return [tuple(of[code] for of, code in zip(labels, codes, strict=True)) for codes in counts.codes.T.tolist()]

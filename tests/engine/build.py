"""Turn the parts of a random problem into a job and a table."""

from __future__ import annotations

import csv
import itertools
import math

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import TypeAdapter

from engine import load_job
from engine.hierarchy.builder import HierarchyBuilder
from engine.lattice.space import Lattice
from engine.privacy.registry import AnyPrivacyModel
from engine.search.problem import Problem
from engine.tables.altered.subset import Subset
from engine.tables.counting.columns import Columns, QuasiIdentifier, Sensitive
from engine.tables.counting.encode import encode
from engine.tables.sources.source import open_data
from engine.utility.registry import AnyMeasure
from tests.reference.tuples import UNSEEN


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
    """Return the released records as a table."""
    columns = {name: [values[a] for values, _ in problem["records"]] for a, name in enumerate(names(problem))}
    for name in problem["records"][0][1]:
        columns[name] = [sensitive[name] for _, sensitive in problem["records"]]
    return pa.table(columns, schema=pa.schema([(name, pa.string()) for name in columns]))


def source(problem):
    """Return the whole source: where the population is its own, records that are not released stand between."""
    records = table(problem).append_column("id", pa.array(map(str, range(len(problem["records"]))), pa.string()))
    if problem.get("people") != "subset":
        return records
    others = [dict(zip(names(problem), values, strict=True)) for values in problem["others"]]
    mixed = itertools.chain.from_iterable(itertools.zip_longest(others, records.to_pylist()))
    # they have sensitive values that no released record has
    rows = [{"s": "other", "z": "other", "n": "99", "id": "other", **row} for row in mixed if row is not None]
    return pa.Table.from_pylist(rows, schema=records.schema)


def subset(problem):
    """Return the file of released records: by their number, because records may be alike."""
    return source(problem).select(["id"]).filter(pa.compute.not_equal(source(problem)["id"], "other"))


def population(problem):
    """Return the population's own table, of which more is not read."""
    columns = {name: [values[a] for values in problem["others"]] for a, name in enumerate(names(problem))}
    return pa.table(columns, schema=pa.schema([(name, pa.string()) for name in columns]))


def job(problem, folder, **changes):
    """Write the hierarchies, and the file of people if there is one, into a folder and return the job."""
    attributes = {name: _sensitive(problem, name, folder) for name in problem["records"][0][1]}
    ways = zip(
        names(problem),
        problem["hierarchies"],
        problem["weights"],
        problem.get("missing") or itertools.repeat(()),
        problem.get("unseen") or itertools.repeat("error"),
        strict=False,
    )
    for name, rows, weight, missing, unseen in ways:
        attributes[name] = {
            "role": "quasi-identifying",
            "hierarchy": _written(rows, folder / f"{name}.csv"),
            "weight": weight,
            "missing": list(missing),
            "unseen": unseen,
        }
    counted = {}
    if problem.get("people"):
        attributes["id"] = {"role": "identifying"}
        # of records that are not released it repeats
        counted = {"unit": "record"}
    document = {
        "name": "random",
        **counted,
        "attributes": attributes,
        "privacy": [_located(problem, model, folder) for model in problem["models"]],
        "suppression_limit": problem["limit"],
        "suppress": "small-classes" if problem.get("small_only") else "any",
        # of tables as small as these the best is often the root
        "allow_empty_information": True,
        "utility": {
            "measure": problem["measure"],
            "aggregate": problem["combine"],
            "generalization_suppression_factor": problem["f"],
        },
        **changes,
    }
    return load_job(document)


def _sensitive(problem, name, folder):
    grown = any(model.get("distance") == "hierarchical" and model["attribute"] == name for model in problem["models"])
    tree = problem.get("trees", {}).get(name)
    order = {"order": "decimal"} if name == "n" else {}
    return {"role": "sensitive", **order, **({"hierarchy": _written(tree, folder / f"{name}.csv")} if grown else {})}


def _written(rows, path):
    with path.open("w", newline="") as file:
        csv.writer(file, delimiter=";").writerows(rows)
    return str(path)


def _located(problem, model, folder):
    key = problem.get("people")
    if key not in model:
        return model
    path = folder / "people.parquet"
    pq.write_table(subset(problem) if key == "subset" else population(problem), path)
    return {**model, key: str(path)}


def counted(problem):
    """Return the frequency table of a problem, without a job."""
    records = table(problem)
    missing = problem.get("missing") or [()] * len(names(problem))
    unseen = problem.get("unseen") or ["error"] * len(names(problem))
    quasi = {
        name: QuasiIdentifier(Listed(entries=rows), frozenset(texts), policy)
        for name, rows, texts, policy in zip(names(problem), problem["hierarchies"], missing, unseen, strict=True)
    }
    read = {}
    for name, rows in (problem.get("trees") or {"s": problem.get("tree")}).items():
        # an attribute without any value has no hierarchy to build
        grown = rows is not None and records[name].null_count < records.num_rows
        read[name] = Sensitive(hierarchy=Listed(entries=rows) if grown else None)
    if "n" in records.column_names:
        read["n"] = Sensitive(order="decimal")
    return encode(open_data(source(problem)), Columns(quasi, read), **_population(problem))[1]


def _population(problem):
    if problem.get("people") == "subset":
        return {"subset": Subset(open_data(source(problem)), open_data(subset(problem)), "people.csv")}
    return {"population": open_data(population(problem))} if problem.get("people") else {}


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
    settings.setdefault("small_only", problem.get("small_only", False))
    return Problem(counts, lattice, models(problem), evaluator(problem, counts), limit, **settings)


def leaves(counts):
    """Return the tuple of leaf values of each row of a frequency table, UNSEEN for one without a hierarchy entry."""
    labels = []
    for hierarchy in counts.hierarchies:
        of = list(hierarchy.labels[0])
        if hierarchy.unseen_code >= 0:
            # the label of the root may be that of a leaf too
            of[hierarchy.unseen_code : hierarchy.unseen_code + 1] = [UNSEEN]
        labels.append(of)
    return [tuple(of[code] for of, code in zip(labels, codes, strict=True)) for codes in counts.codes.T.tolist()]

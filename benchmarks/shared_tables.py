"""The shared benchmark tables as problems: which columns are quasi-identifying, which is sensitive, which subset.

In: the name of a table, models and settings in the words of the job file. Out: a job, or the problem its search is
given.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
DATA = ROOT.parent / "shared" / "data"

import pyarrow as pa  # noqa: E402 (the project root must be on the path)
import pyarrow.csv  # noqa: E402
import pyarrow.parquet  # noqa: E402

from engine import Job, load_job  # noqa: E402
from engine.job.counting import count  # noqa: E402
from engine.job.problem import problem_of  # noqa: E402
from engine.search.problem import Problem  # noqa: E402
from engine.tables.sources.csv_form import CsvForm  # noqa: E402
from engine.tables.sources.source import open_data, open_path  # noqa: E402

SENSITIVE = {
    "adult": "occupation",
    "cup": "RAMNTALL",
    "fars": "istatenum",
    "ihis_synthetic": "EDUC",
    "ss13acs_synthetic": "Education",
}
ORDERED_AS = {
    "adult": "text",
    "cup": "integer",
    "fars": "integer",
    "ihis_synthetic": "text",
    "ss13acs_synthetic": "integer",
}
MODELS: Mapping[str, Mapping[str, Any]] = {
    "k": {"model": "k-anonymity", "k": 5},
    "l": {"model": "l-diversity", "variant": "recursive", "c": 4.0, "l": 3},
    "t": {"model": "t-closeness", "distance": "hierarchical", "t": 0.2},
    "to": {"model": "t-closeness", "distance": "ordered", "t": 0.2},
    "d": {"model": "delta-presence", "delta_min": 0.05, "delta_max": 0.15},
}
"""The models of Kohlmayer 2015, section 2.8.2, by their letters, and ordered t-closeness."""


def source_of(name: str) -> Path:
    """Return the file of a table."""
    return next((DATA / name).glob(f"{name}.*"))


def header(name: str) -> list[str]:
    """Return the columns of a table."""
    source = source_of(name)
    if source.suffix == ".parquet":
        return list(pa.parquet.read_schema(source).names)
    return source.open(encoding="utf-8").readline().strip().split(";")


def quasi_identifiers_of(name: str) -> list[str]:
    """Return the columns of a table that are quasi-identifying where none are named: all but the sensitive one."""
    return [column for column in header(name) if column != SENSITIVE.get(name)]


def job_of(
    name: str, models: Sequence[Mapping[str, Any]], quasi_identifiers: Sequence[str] | None = None, **settings: Any
) -> Job:
    """Return a job on a table; without `quasi_identifiers` all columns but the sensitive one are."""
    sensitive = SENSITIVE.get(name)
    hierarchies = DATA / name / "hierarchies"
    quasi = quasi_identifiers_of(name) if quasi_identifiers is None else quasi_identifiers
    attributes: dict[str, Any] = {column: {"role": "insensitive", "accept": "unique"} for column in header(name)}
    for column in quasi:
        attributes[column] = {"role": "quasi-identifying", "hierarchy": str(hierarchies / f"{column}.csv")}
    privacy = []
    for model in models:
        located = dict(model)
        if model["model"] in {"delta-presence", "k-map"}:
            located["subset"] = str(DATA / name / f"{name}_subset.csv")
        if model["model"] in {"l-diversity", "t-closeness"}:
            located["attribute"] = sensitive
            attributes[str(sensitive)] = {
                "role": "sensitive",
                "order": ORDERED_AS[name],
                "hierarchy": str(hierarchies / f"{sensitive}.csv"),
            }
        privacy.append(located)
    source = {"path": str(source_of(name)), "delimiter": ";"}
    return load_job({"name": name, "source": source, "attributes": attributes, "privacy": privacy, **settings})


class Tables:
    """Problems on one table with the same columns and models, counted once."""

    def __init__(
        self, name: str, models: Sequence[Mapping[str, Any]], quasi_identifiers: Sequence[str] | None = None
    ) -> None:
        self._arguments = (name, models, quasi_identifiers)
        job = job_of(*self._arguments)
        self.table = count(job, _open(source_of(name))).table

    def problem(self, **settings: Any) -> Problem:
        """Return the problem of a job with these settings."""
        return problem_of(job_of(*self._arguments, **settings), self.table)


def _open(path: Path) -> Any:
    if path.suffix == ".csv":
        return open_path(path, CsvForm(";"))
    return open_data(pa.parquet.read_table(path))


def missing() -> str | None:
    """Say what is absent if the shared tables are not beside the project."""
    return None if DATA.is_dir() else f"needs the shared tables at {DATA.relative_to(ROOT.parent)} beside the project"

"""What was done to a column of a release, before a record of it is counted.

In: the job and the levels that were chosen. Out: the part of a `DescribedColumn` that follows from these two alone,
and the same in words. Codebook, README, the file of records and the table of a database all say what is said here.
"""

from __future__ import annotations

from collections.abc import Mapping

from engine.codebook.document import DescribedColumn, What
from engine.hierarchy.builder import HierarchyBuilder
from engine.job.job import Job

_WHAT: Mapping[str, What] = {"pseudonymize": "pseudonym", "shift": "shifted"}

_HOLDS: Mapping[What, str] = {
    "as-in-the-source": "the values of the source",
    "pseudonym": "pseudonyms, each for one identifier",
    "shifted": "dates that were moved",
    "coded": "coded numbers",
    "noisy": "numbers with random noise",
    "randomized": "categories, some of them changed at random",
    "exact": "the values of the source",
    "one-label": "one label for all values: nothing is left of this column",
}


def treated(job: Job, name: str, type_name: str, levels: Mapping[str, int] | None) -> DescribedColumn:
    """Describe what was done to a column.

    Parameters
    ----------
    type_name : str
        Its type in the release.
    levels : mapping of quasi-identifier to level, or None
        None of a local recoding, in which each record has levels of its own.
    """
    attribute = job.attributes[name]
    described: DescribedColumn = {
        "column": name,
        "type": type_name,
        "role": attribute.role,
        "what": _WHAT.get(attribute.action, "as-in-the-source"),
    }
    if attribute.action == "shift":
        described["shifted"] = True
    if attribute.coding is not None:
        described["what"] = "coded"
        described["coding"] = attribute.coding.model_dump(exclude_none=True)
    if attribute.microaggregation is not None:
        described["what"] = "aggregated"
        described["aggregate"] = attribute.microaggregation
    if attribute.noise is not None:
        described["what"] = "noisy"
        described["noise"] = attribute.noise.model_dump()
    if attribute.pram is not None:
        described["what"] = "randomized"
        described["pram"] = attribute.pram.model_dump()
    if name in job.quasi_identifiers and attribute.hierarchy is not None:
        _generalized(described, attribute.hierarchy, None if levels is None else levels[name])
        if levels is None:
            highest = attribute.hierarchy.level_count - 1
            described["lowest"] = attribute.minimum_level
            described["highest"] = highest if attribute.maximum_level is None else attribute.maximum_level
    return described


def _generalized(described: DescribedColumn, hierarchy: HierarchyBuilder, level: int | None) -> None:
    highest = hierarchy.level_count - 1
    described["levels"] = hierarchy.level_count
    if level is None:
        described["what"] = "mixed"
    else:
        described["what"] = "exact" if level == 0 else "one-label" if level == highest else "generalized"
        described["level"] = level
    if hierarchy.notation and (level is None or 0 < level < highest):
        described["notation"] = hierarchy.notation


def holds(column: DescribedColumn, *, starred: bool = True) -> str:
    """Say what a column holds, such as `labels of level 2 of 4, for several values each`.

    Parameters
    ----------
    starred : bool
        Some records may be suppressed as `*`.
    """
    if column["what"] == "aggregated" and column["aggregate"] == "mdav":
        return "the mean of a group of alike records with the same labels"
    if column["what"] == "aggregated":
        return f"the {column['aggregate']} of the records with the same labels"
    if column["what"] == "mixed":
        low, high = column["lowest"], column["highest"]
        of = (
            f"values of the source and labels of levels up to {high}"
            if low == 0
            else f"labels of levels {low} to {high}"
        )
        return f"{of}, each record with its own level"
    if column["what"] == "generalized":
        return f"labels of level {column['level']} of {column['levels'] - 1}, for several values each"
    return _HOLDS[column["what"]] + ("; * where suppressed" if starred and column["what"] == "exact" else "")


def in_words(column: DescribedColumn) -> str:
    """Say what a column holds and how its labels are read, in one line."""
    return "; ".join([holds(column), *([column["notation"]] if "notation" in column else [])])

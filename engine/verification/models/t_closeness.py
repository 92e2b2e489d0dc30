"""t-closeness, recounted: the earth mover's distance of each class from all records of the table.

Li, Li, Venkatasubramanian, ICDE 2007. Distances are computed from whole numbers where they are sums of differences:
`p - q` of a value with f of c records in the class and F of N in the table is `(f N - F c) / (c N)`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from engine.errors import InvalidData, InvalidJob
from engine.message import Count, Message
from engine.verification.finding import Finding
from engine.verification.model import Recount
from engine.verification.records.histograms import Histograms, Value, histograms
from engine.verification.records.records import Records
from engine.verification.records.sensitive import SensitiveAttribute
from engine.verification.records.value_order import in_order, order_by_type
from engine.verification.tolerance import at_most


def recount_t_closeness(records: Records, model: Mapping[str, Any]) -> Finding:
    """Recount the distance of each class of the kept records; it may exceed `t` by 1e-12, which is rounding.

    Raises
    ------
    InvalidData
        Values are not of the attribute's type, or have no entry in its hierarchy.
    InvalidJob
        The order of the values is not known, the distance is unknown, or it needs a hierarchy with one root that the
        attribute does not have.
    """
    name = model["attribute"]
    if model["distance"] not in _DISTANCES:
        raise InvalidJob(
            f"distance {model['distance']!r} of t-closeness cannot be verified; use {', '.join(_DISTANCES)}"
        )
    found = histograms(records, name)
    sensitive = records.sensitive
    if model["distance"] == "ordered" and sensitive.order is None:
        order = order_by_type(name, records.table.sensitive[name].kind, found.values)
        sensitive = sensitive.model_copy(update={"order": order})
    distances = list(_DISTANCES[model["distance"]](found, name, sensitive))
    beyond = sum(not at_most(distance, model["t"]) for distance in distances)
    return Finding(
        "t-closeness",
        holds=beyond == 0,
        observed=max(distances, default=None),
        required=model["t"],
        sense="at-most",
        column=name,
        message=Message.of(
            "equivalence classes further than {t:g} from the table: {beyond} of {classes}",
            beyond=Count(beyond),
            classes=Count(len(distances)),
            t=model["t"],
        ),
    )


def _equal(found: Histograms, name: str, sensitive: SensitiveAttribute) -> Iterator[float]:
    """Yield half the sum of the absolute differences of the shares."""
    del name, sensitive
    totals = dict(enumerate(found.totals))
    for counts in found:
        yield _half_difference(counts, totals, found.records)


def _half_difference(counts: Mapping[Any, int], totals: Mapping[Any, int], records: int) -> float:
    """Sum `abs(p - q) / 2` over all keys of the table; those the class lacks add their whole share."""
    size = sum(counts.values())
    there = sum(abs(count * records - totals[key] * size) for key, count in counts.items())
    lacking = records - sum(totals[key] for key in counts)
    return (there + lacking * size) / (2 * size * records)


def _ordered(found: Histograms, name: str, sensitive: SensitiveAttribute) -> Iterator[float]:
    """Yield the mean difference of the cumulative shares, over all values of the table but the last.

    At the last value both are one.
    """
    assert sensitive.order is not None  # noqa: S101 (the caller found it)
    order = np.array(in_order(name, found.values, sensitive.order), np.int64)
    table = np.cumsum(np.array(found.totals, np.int64)[order]) / found.records
    for counts in found:
        dense = np.zeros(order.size, np.int64)
        dense[list(counts)] = list(counts.values())
        share = np.cumsum(dense[order]) / dense.sum()
        yield float(np.abs(share - table)[:-1].mean()) if order.size > 1 else 0.0


def _hierarchical(found: Histograms, name: str, sensitive: SensitiveAttribute) -> Iterator[float]:
    """Yield the mean, over the levels below the root, of the equal distance of the values generalized to them.

    In a tree with one root this is what the inner nodes move between their children, weighted by level: mass that a
    subtree has too much leaves through each of its levels.
    """
    if not found.values:
        return  # an output without a record
    paths = _paths(found.values, name, sensitive)
    height = len(paths[0]) - 1
    levels = [[(path[level], level) for path in paths] for level in range(height)]
    totals = [_merged(nodes, dict(enumerate(found.totals))) for nodes in levels]
    for counts in found:
        moved = (
            _half_difference(_merged(nodes, counts), table, found.records)
            for nodes, table in zip(levels, totals, strict=True)
        )
        yield sum(moved) / height if height else 0.0


def _merged(nodes: list[tuple[Value, int]], counts: Mapping[int, int]) -> dict[tuple[Value, int], int]:
    merged: dict[tuple[Value, int], int] = {}
    for position, count in counts.items():
        merged[nodes[position]] = merged.get(nodes[position], 0) + count
    return merged


def _paths(values: tuple[Value, ...], name: str, sensitive: SensitiveAttribute) -> list[tuple[Value, ...]]:
    """Return the labels of each value from its leaf to the root; a missing value stays missing up to the root."""
    if sensitive.hierarchy is None:
        raise InvalidJob(f"attributes.{name}.hierarchy: t-closeness with hierarchical distance needs one; add it")
    rows = sensitive.hierarchy.rows(sorted(value for value in values if value is not None))
    roots = {row[-1] for row in rows}
    if len(roots) != 1 or (len(rows[0]) == 1 and len(values) > 1):
        # values without a common root would cost nothing to exchange: the distance would be none
        raise InvalidJob(
            f"attributes.{name}.hierarchy: hierarchical distance needs one root that all values share; add a level "
            "with one label, such as '*'"
        )
    paths: dict[Value, tuple[Value, ...]] = {row[0]: row for row in rows}  # of a leaf listed twice the last row counts
    paths[None] = (*(None,) * (len(rows[0]) - 1), *roots)
    unknown = sum(value not in paths for value in values)
    if unknown:
        raise InvalidData(
            Message.of(
                "column {name!r}: its hierarchy has no entry for {unknown} of its distinct values; add them to the "
                "hierarchy, or correct them in the source",
                name=name,
                unknown=Count(unknown),
            )
        )
    return [paths[value] for value in values]


_DISTANCES: Mapping[str, Callable[[Histograms, str, SensitiveAttribute], Iterator[float]]] = {
    "equal": _equal,
    "ordered": _ordered,
    "hierarchical": _hierarchical,
}


RECOUNT = Recount(model="t-closeness", judge=recount_t_closeness)

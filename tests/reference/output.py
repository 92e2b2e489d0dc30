"""The slow, obvious twin of the verification: does an output hold its job and its report, record by record."""

from __future__ import annotations

import math
from collections import defaultdict
from statistics import median

from tests.reference.inference import share_right

STAR = "*"


def classes(rows, quasi_identifiers, sensitive):
    """Group rows, mappings of column to value, by their quasi-identifiers; return the sensitive values of each."""
    found = defaultdict(list)
    for row in rows:
        found[tuple(row[name] for name in quasi_identifiers)].append(row[sensitive])
    return found


def observed(groups, model):
    """Return the figure of the worst class, None without classes."""
    figures = [len(g) if model["model"] == "k-anonymity" else len(set(g) - {None}) for g in groups.values()]
    return min(figures, default=None)


def required(model):
    """Return the bound of a model's figure."""
    return model["k"] if model["model"] == "k-anonymity" else model["l"]


def is_held(groups, model):
    """Whether every class satisfies a model."""
    figure = observed(groups, model)
    return figure is None or figure >= required(model)


def figures(groups):
    """Return the classes and risks of a report."""
    sizes = [len(group) for group in groups.values()]
    if not sizes:
        empty = {"number": 0, "smallest": None, "median": None, "largest": None}
        return empty, {"prosecutor": 0.0, "journalist": 0.0, "marketer": 0.0}
    found = {"number": len(sizes), "smallest": min(sizes), "median": median(sizes), "largest": max(sizes)}
    share = 1 / min(sizes)
    return found, {"prosecutor": share, "journalist": share, "marketer": len(sizes) / sum(sizes)}


def bins(sizes, smallest):
    """Return the size bins of classes: from `smallest` on, doubling, until every class is in one."""
    found, start = [], smallest
    while any(size >= start for size in sizes):
        inside = [size for size in sizes if start <= size <= 2 * start - 1]
        found.append({"from": start, "to": 2 * start - 1, "classes": len(inside), "records": sum(inside)})
        start = 2 * start
    return found


def margin(figure, bound):
    """Return what is left of a least figure that holds."""
    return None if figure is None else 1 - bound / figure


def is_starred(row, quasi_identifiers):
    """Whether a row looks suppressed."""
    return all(row[name] == STAR for name in quasi_identifiers)


def same(left, right):
    """Compare mappings of figures."""
    return all(
        (left[key] is None and value is None)
        or (left[key] is not None and value is not None and math.isclose(left[key], value, rel_tol=1e-9))
        for key, value in right.items()
    )


def holds(rows, hierarchies, models, limit, report, sensitive="s"):
    """Whether rows hold everything; hierarchies is a mapping of quasi-identifier to its rows, records are starred."""
    names = list(hierarchies)
    levels = report["solution"]["levels"]
    suppressed, total = report["suppressed_class"]["records"], report["rows"]
    if any(not 0 <= levels[name] < len(hierarchies[name][0]) for name in names) or suppressed < 0 or total < 0:
        return False
    form = report["suppressed_class"]["form"]
    left_out, marked = (suppressed, 0) if form == "drop" else (0, suppressed)
    labels = {name: {row[levels[name]] for row in hierarchies[name]} for name in names}
    starred = sum(is_starred(row, names) for row in rows)
    reachable = all(STAR in labels[name] for name in names)
    if (form == "none") != (suppressed == 0) or (starred != marked and not (starred > marked and reachable)):
        return False
    if suppressed > math.floor(limit * total) or len(rows) != total - left_out:
        return False
    if suppressed == total:
        kept = []
    elif marked == 0:
        kept = rows
    else:
        kept = [row for row in rows if not is_starred(row, names)]
    if any(row[name] not in labels[name] for row in kept for name in names):
        return False
    groups = classes(kept, names, sensitive)
    found = [observed(groups, model) for model in models]
    # whoever holds the file sees the suppressed records as a class
    file = classes(rows, names, sensitive)
    judged = [groups, file] if form == "star" else [groups]
    if any(not is_held(one, model) for one in judged for model in models):
        return False
    stated, risk = figures(file)
    judgements = [(entry["holds"], entry["observed"]) for entry in report["privacy"]]
    bounds = [(entry["required"], entry["sense"]) for entry in report["privacy"]]
    margins = [margin(figure, required(model)) for figure, model in zip(found, models, strict=True)]
    left = {str(place): value for place, value in enumerate([*margins, min(margins, key=lambda m: (m is None, m))])}
    stated_margins = [*(entry["margin"] for entry in report["privacy"]), report["privacy_margin"]]
    smallest = max(map(required, models))
    of_class = share_right([(tuple(row[name] for name in names), row[sensitive]) for row in rows], smallest)
    of_table = share_right([((), row[sensitive]) for row in rows], smallest)
    return (
        same(report["classes"], stated)
        and report["attribute_inference"] == {sensitive: {"by_class": of_class, "by_table": of_table}}
        and report["classes"]["distribution"] == bins([len(group) for group in file.values()], smallest)
        and same(report["risk"], risk)
        and judgements == [(True, value) for value in found]
        and bounds == [(required(model), "at-least") for model in models]
        and same({str(place): value for place, value in enumerate(stated_margins)}, left)
    )

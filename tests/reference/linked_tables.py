"""The slow, obvious twin of a job with tables: every transformation, every set of persons, in plain Python.

Tables are mappings of a name to records `(person, {column: value})`; a column that a table lacks is in no record of it.
Hierarchies are mappings of a column to `{value: labels}`, level 0 first; columns without one are sensitive. Of an
attacker who knows up to m rows the models of sensitive values are distinct l-diversity.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict

from tests.reference.privacy import holds
from tests.reference.whole_persons import diverse_of, greatest


def rows_of(hierarchy, missing):
    """Return the rows of a hierarchy, with that of a missing value if some record has or lacks one."""
    rows = dict(hierarchy)
    if missing:
        (root,) = {labels[-1] for labels in hierarchy.values()}
        height = len(next(iter(hierarchy.values())))
        rows[None] = (*(None,) * (height - 1), root)
    return rows


def read(tables, hierarchies):
    """Return the rows of each hierarchy, as the records of all tables together need them."""
    found = {}
    for column, hierarchy in hierarchies.items():
        values = [record.get(column) for records in tables.values() for _, record in records]
        found[column] = rows_of(hierarchy, None in values)
    return found


def cell(table, record, rows, levels):
    """Return the cell of a record: its table, and the label of each column that the table has."""
    shown = sorted(item for item in record.items() if item[0] in rows)
    return table, tuple((column, rows[column][value][levels[column]]) for column, value in shown)


def pictures(tables, rows, levels):
    """Return the cells of each person over all tables, each as often as it is there."""
    found = defaultdict(Counter)
    for table, records in tables.items():
        for person, record in records:
            found[person][cell(table, record, rows, levels)] += 1
    return dict(found)


def values_of(records, column):
    """Return the values of distinct pairs of a person and a value, of the records that have the column."""
    return [value for _, value in sorted({(p, one[column]) for p, one in records if column in one}, key=repr)]


def is_good(members, everybody, k, models):
    """Tell whether a class of records has k persons and satisfies the models of the columns that it has."""
    if len({person for person, _ in members}) < k:
        return False
    values = [(values_of(members, m["attribute"]), values_of(everybody, m["attribute"]), m) for m in models]
    return all(holds(own, whole, model) for own, whole, model in values if own)


def is_kept(tables, rows, levels, knows, k, models=()):
    """Return a function that tells whether a record of a table stays."""
    own = pictures(tables, rows, levels)
    everybody = [one for records in tables.values() for one in records]
    if isinstance(knows, dict):
        stay = greatest(own, knows["rows"], k, diverse_of(models, everybody))
        return lambda _, person, __: person in stay

    def class_of(table, person, record):
        return cell(table, record, rows, levels) if knows == "any-row" else frozenset(own[person].items())

    classes = defaultdict(list)
    for table, records in tables.items():
        for person, record in records:
            classes[class_of(table, person, record)].append((person, record))
    good = {key for key, members in classes.items() if is_good(members, everybody, k, models)}
    return lambda *record: class_of(*record) in good


def loss_of(tables, rows, levels, keeps, weights):
    """Return the loss by the definition, each column over the cells that are there."""
    total = 0.0
    for column, weight in weights.items():
        labels = rows[column]
        size = len(labels)
        shares, cells = 0.0, 0
        for table, records in tables.items():
            for person, record in records:
                if column in record:
                    cells += 1
                    label = labels[record[column]][levels[column]]
                    below = sum(one[levels[column]] == label for one in labels.values())
                    shares += below / size if keeps(table, person, record) else 1.0
        if size > 1 and cells:
            total += weight * max(0.0, (shares - cells / size) / (cells - cells / size))
    return total / sum(weights.values())


def solve(tables, hierarchies, weights, knows, k, limit, models=()):
    """Return levels, loss and suppressed records of the best transformation, None if there is none."""
    rows = read(tables, hierarchies)
    names = list(hierarchies)
    number = sum(map(len, tables.values()))
    best = None
    for chosen in itertools.product(*(range(len(next(iter(rows[name].values())))) for name in names)):
        levels = dict(zip(names, chosen, strict=True))
        keeps = is_kept(tables, rows, levels, knows, k, models)
        gone = sum(not keeps(t, person, record) for t, records in tables.items() for person, record in records)
        if gone > math.floor(limit * number):
            continue
        loss = loss_of(tables, rows, levels, keeps, weights)
        key = (float(f"{loss:.12g}"), sum(chosen), chosen)
        if best is None or key < best[0]:
            best = (key, levels, loss, gone)
    return None if best is None else best[1:]

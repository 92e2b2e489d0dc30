"""Local recodings of a few records in plain Python: what one is, and the best of all."""

from __future__ import annotations

import itertools


def matches(source, released):
    """Tell whether each released record can be one of the source, each of these once.

    Parameters
    ----------
    source : list of list of set
        Per record and column the values that it may be shown as.
    released : list of tuple
    """
    of_released = {}

    def find(record, tried):
        for place, values in enumerate(released):
            if place in tried or not all(
                value in allowed for value, allowed in zip(values, source[record], strict=True)
            ):
                continue
            tried.add(place)
            if place not in of_released or find(of_released[place], tried):
                of_released[place] = record
                return True
        return False

    return len(source) == len(released) and all(find(record, set()) for record in range(len(source)))


def partitions(items):
    """Yield all ways to put items into classes."""
    if not items:
        yield []
        return
    first, *others = items
    for found in partitions(others):
        yield [[first], *found]
        for place, one in enumerate(found):
            yield [*found[:place], [first, *one], *found[place + 1 :]]


def least_loss_with_suppression(rows, hierarchies, weights, k, limit, cost):
    """Return the same if up to `limit` records may be suppressed, each of which costs `cost`."""
    found = []
    for number in range(min(limit, len(rows)) + 1):
        for kept in itertools.combinations(rows, len(rows) - number):
            loss = least_loss(kept, hierarchies, weights, k) if kept else 0.0
            if loss is not None:
                found.append((loss * len(kept) + cost * number) / len(rows))
    return min(found, default=None)


def least_loss(rows, hierarchies, weights, k, holds=None, together=None):
    """Return the least mean loss of all local recodings in which each class has k records; None if there is none.

    Parameters
    ----------
    rows : list of tuple of str
        Leaves, a column each.
    hierarchies : list of list of tuple
        Rows of each column's hierarchy: the leaf, then its labels.
    holds : callable or None
        Whether a class, a list of places in `rows`, satisfies the other models.
    together : callable or None
        Whether all classes, a list of such lists, satisfy the models of the table as a whole.
    """
    best = None
    for classes in partitions(list(range(len(rows)))):
        if min(map(len, classes)) < k or (holds is not None and not all(map(holds, classes))):
            continue
        shown = [_shown([rows[r] for r in one], hierarchies) for one in classes]
        if None in shown or (together is not None and not together(_alike(classes, shown))):
            continue
        costs = [_cost(labels, hierarchies, weights) for labels in shown]
        loss = sum(cost * len(one) for cost, one in zip(costs, classes, strict=True)) / len(rows)
        best = loss if best is None else min(best, loss)
    return best


def least_loss_of_cells(rows, hierarchies, weights, holds):
    """Return the least mean loss of all recodings, in which each record has any labels of its values; None without one.

    Parameters
    ----------
    rows, hierarchies, weights
        As of `least_loss`.
    holds : callable
        Whether cells, a list of tuples of labels, one for each record, satisfy the models.
    """
    allowed = []
    for row in rows:
        paths = [
            next(path for path in table if path[0] == value) for value, table in zip(row, hierarchies, strict=True)
        ]
        allowed.append(list(itertools.product(*(list(enumerate(path)) for path in paths))))
    losses = [[_cost(labels, hierarchies, weights) for labels in own] for own in allowed]
    best = None
    for chosen in itertools.product(*(range(len(own)) for own in allowed)):
        loss = sum(of[place] for of, place in zip(losses, chosen, strict=True)) / len(rows)
        if (best is None or loss < best) and holds(
            [tuple(label for _, label in own[place]) for own, place in zip(allowed, chosen, strict=True)]
        ):
            best = loss
    return best


def _shown(rows, hierarchies):
    """Return the lowest labels that the records of a class share; None if they share none."""
    labels = []
    for a, table in enumerate(hierarchies):
        paths = [next(path for path in table if path[0] == row[a]) for row in rows]
        level = next((one for one in range(len(table[0])) if len({path[one] for path in paths}) == 1), None)
        if level is None:
            return None
        labels.append((level, paths[0][level]))
    return tuple(labels)


def _alike(classes, shown):
    """Join the classes that have the same labels, at whatever levels: readers see one."""
    found = {}
    for one, labels in zip(classes, shown, strict=True):
        found.setdefault(tuple(label for _, label in labels), []).extend(one)
    return list(found.values())


def _cost(labels, hierarchies, weights):
    """Return the loss of each record with such labels."""
    total = 0.0
    for a, (table, (level, label)) in enumerate(zip(hierarchies, labels, strict=True)):
        below = sum(path[level] == label for path in table)
        total += weights[a] * (below - 1) / (len(table) - 1) if len(table) > 1 else 0.0
    return total / sum(weights)

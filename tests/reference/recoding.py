"""Local recodings of a few records in plain Python: what one is, and the best of all."""

from __future__ import annotations


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


def least_loss(rows, hierarchies, weights, k, holds=None):
    """Return the least mean loss of all local recodings in which each class has k records; None if there is none.

    Parameters
    ----------
    rows : list of tuple of str
        Leaves, a column each.
    hierarchies : list of list of tuple
        Rows of each column's hierarchy: the leaf, then its labels.
    holds : callable or None
        Whether a class, a list of places in `rows`, satisfies the other models.
    """
    best = None
    for classes in partitions(list(range(len(rows)))):
        if min(map(len, classes)) < k or (holds is not None and not all(map(holds, classes))):
            continue
        costs = [_cost([rows[r] for r in one], hierarchies, weights) for one in classes]
        if None not in costs:
            loss = sum(cost * len(one) for cost, one in zip(costs, classes, strict=True)) / len(rows)
            best = loss if best is None else min(best, loss)
    return best


def _cost(rows, hierarchies, weights):
    """Return the loss of each record of a class under the lowest labels that its records share."""
    total = 0.0
    for a, table in enumerate(hierarchies):
        paths = [next(path for path in table if path[0] == row[a]) for row in rows]
        level = next((one for one in range(len(table[0])) if len({path[one] for path in paths}) == 1), None)
        if level is None:
            return None
        below = sum(path[level] == paths[0][level] for path in table)
        total += weights[a] * (below - 1) / (len(table) - 1) if len(table) > 1 else 0.0
    return total / sum(weights)

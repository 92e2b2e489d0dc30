"""The slow, obvious twin of the trace condition: every person's trace written out, and every group of equal ones.

A night is a mapping of the persons in the file to (cell, sensitive value). Absent is None.
"""

from __future__ import annotations

from collections import Counter, defaultdict


def traces(nights):
    """Return the trace of each person who is in some night."""
    everybody = {person for night in nights for person in night}
    return {person: tuple(night[person][0] if person in night else None for night in nights) for person in everybody}


def with_changes(nights):
    """Return the trace of each person, with whether the value was another one than on the last night before."""
    found = {}
    for person, trace in traces(nights).items():
        before, changed = None, []
        for night in nights:
            now = night.get(person)
            changed.append(now is not None and before is not None and now[1] != before[1])
            before = now or before
        found[person] = (trace, tuple(changed))
    return found


def groups(nights, told=traces):
    """Return for each trace the sensitive values of its persons, each of the last night with the person."""
    found = defaultdict(list)
    for person, trace in told(nights).items():
        found[trace].append(next(night[person][1] for night in reversed(nights) if person in night))
    return dict(found)


def groups_then(nights, told=traces):
    """Return for each trace and each night with its persons the values that they had that night."""
    found = defaultdict(list)
    for person, trace in told(nights).items():
        for number, night in enumerate(nights):
            if person in night:
                found[trace, number].append(night[person][1])
    return dict(found)


def fewest_values_then(nights, told=traces):
    """Return the distinct values of the least diverse group on any night with it."""
    return min((len(Counter(values)) for values in groups_then(nights, told).values()), default=None)


def furthest_then(nights, told=traces):
    """Return the largest distance of a trace from the table of a night with it, all values being as far apart."""
    found = 0.0
    for (_, number), values in groups_then(nights, told).items():
        own, table = shares(values), shares([value for _, value in nights[number].values()])
        found = max(found, sum(abs(own.get(value, 0) - share) for value, share in table.items()) / 2)
    return found


def smallest(nights, told=traces):
    """Return the persons of the smallest group."""
    return min(map(len, groups(nights, told).values()), default=None)


def fewest_values(nights):
    """Return the distinct values of the least diverse group."""
    return min((len(Counter(values)) for values in groups(nights).values()), default=None)


def beside_tables(nights):
    """Return for each trace the shares of values of its persons, and of the last night with them, each a mapping."""
    found = []
    for trace, values in groups(nights).items():
        last = max(night for night, cell in enumerate(trace) if cell is not None)
        found.append((shares(values), shares([value for _, value in nights[last].values()])))
    return found


def shares(values):
    """Return the share of each value."""
    return {value: number / len(values) for value, number in Counter(values).items()}


def furthest(nights):
    """Return the largest distance of a trace from the table, all values being as far from each other."""
    return max(
        (sum(abs(own.get(value, 0) - share) for value, share in table.items()) / 2)
        for own, table in beside_tables(nights)
    )


def largest_gain(nights):
    """Return by how much a value's share in a trace is above that in the table, relative to the latter."""
    return max((own[value] - table[value]) / table[value] for own, table in beside_tables(nights) for value in own)

"""The people behind the cells of a local recoding, in plain Python: person by person, and world by world."""

from __future__ import annotations

from collections import Counter
from itertools import permutations


def covers(cell, person):
    """Tell whether each label of a cell is one of those that the person's values may be shown as."""
    return all(label in allowed for label, allowed in zip(cell, person, strict=True))


def people_of_cells(sizes, people):
    """Return the people of each cell, whether it shares some with another one, and how many people have no cell.

    Parameters
    ----------
    sizes : mapping of cell to its records
    people : list of tuple of set
        Of each person and column, the labels that the value may be shown as.
    """
    of = [[cell for cell in sizes if covers(cell, person)] for person in people]
    covered = Counter(cell for cells in of for cell in cells)
    alone = Counter(cells[0] for cells in of if len(cells) == 1)
    found = {cell: min(covered[cell], max(alone[cell], size)) for cell, size in sizes.items()}
    return found, {cell: alone[cell] < covered[cell] for cell in sizes}, sum(not cells for cells in of)


def worlds(cells, people):
    """Yield every way in which records, a cell each, can be people, each of another one: the person of each record."""
    for chosen in permutations(range(len(people)), len(cells)):
        if all(covers(cell, people[one]) for cell, one in zip(cells, chosen, strict=True)):
            yield chosen

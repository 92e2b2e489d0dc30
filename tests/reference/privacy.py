"""The slow, obvious twins of the privacy models: each class record by record, in fractions, as the definitions say.

A class is a list of sensitive values, None for a missing one; the table is the list of all. Population models read two
numbers, the records of a class and those of the population in it; table-wide ones the sizes of the kept classes.

Limits are read as the decimals they are written as. Exact numbers decide wherever the formula allows; the Shannon
entropy of a class that is exactly that of l equal shares is decided by the same formula in doubles, as the definitions
demand.
"""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from itertools import accumulate

import numpy as np

from engine.risk.population_uniqueness import estimate, kept_fraction
from tests.reference.uniqueness import zayatz

GAMMA = 0.5772156649015329


def shares(values):
    """Return the share of each value, as fractions."""
    return {value: Fraction(count, len(values)) for value, count in Counter(values).items()}


def written(limit):
    """Return a limit as the decimal it is written as."""
    return Fraction(str(limit))


def in_order(values):
    """Sort distinct values by text, a missing one first."""
    return sorted(set(values), key=lambda value: (value is not None, value or ""))


def paths(tree, table):
    """Return the labels of every value of the table, leaf first; a missing one joins the root if there is just one."""
    found = {row[0]: row for row in tree}
    if None in table:
        roots = {row[-1] for row in tree}
        top = roots.pop() if len(roots) == 1 and len(tree[0]) > 1 else None
        found[None] = (*[None] * (len(tree[0]) - 1), top)
    return {value: found[value] for value in set(table)}


def equal_distance(members, table, tree):
    p, q = shares(members), shares(table)
    return sum(abs(p.get(v, 0) - q[v]) for v in q) / 2


def ordered_distance(members, table, tree):
    p, q = shares(members), shares(table)
    differences = [p.get(v, 0) - q[v] for v in in_order(table)]
    return sum(map(abs, accumulate(differences))) / (len(q) - 1) if len(q) > 1 else Fraction(0)


def hierarchical_distance(members, table, tree):
    p, q = shares(members), shares(table)
    path = paths(tree, table)
    height = len(tree[0]) - 1
    total = Fraction(0)
    for level in range(1, height + 1):
        for node in {labels[level] for labels in path.values()}:
            children = {labels[level - 1] for labels in path.values() if labels[level] == node}
            below = [[v for v, labels in path.items() if labels[level - 1] == child] for child in children]
            differences = [sum(p.get(v, 0) - q[v] for v in leaves) for leaves in below]
            surplus = sum(max(Fraction(0), d) for d in differences)
            deficit = sum(max(Fraction(0), -d) for d in differences)
            total += Fraction(level, height) * min(surplus, deficit)
    return total


DISTANCES = {"equal": equal_distance, "ordered": ordered_distance, "hierarchical": hierarchical_distance}


def grassberger(n):
    """Return G(n)."""
    return -GAMMA - math.log(2) + math.fsum(2 / (2 * i - 1) for i in range(1, n // 2 + 1))


def entropy(members, variant):
    """Return the entropy of a class, in nats, as it is estimated."""
    counts, size = Counter(members).values(), len(members)
    weight = math.log if variant == "shannon-entropy" else grassberger
    return weight(size) - math.fsum(f * weight(f) for f in counts) / size


def is_shannon_diverse(members, l):  # noqa: E741 (the model's own name)
    counts = [Counter(members)[value] for value in in_order(members)]
    size = len(members)
    left, right = math.prod(f**f for f in counts) * written(l) ** size, size**size
    if left != right:
        return left < right
    # numpy's logarithm, because rounding alone decides and another library's may round otherwise
    return sum(f * np.log(float(f)) for f in counts) <= size * (np.log(float(size)) - np.log(l))


def counted(members, model):
    """Return the members of a class whose values l-diversity counts."""
    return members if model.get("missing") == "value" else [value for value in members if value is not None]


def holds_diversity(members, model):
    variant, l = model["variant"], model["l"]  # noqa: E741
    members = counted(members, model)
    if not members:
        return False
    counts = sorted(Counter(members).values(), reverse=True)
    if variant == "recursive":
        return counts[0] < written(model["c"]) * sum(counts[l - 1 :])
    if len(counts) < l or variant == "distinct":
        return len(counts) >= l
    if variant == "shannon-entropy":
        return is_shannon_diverse(members, l)
    size = len(members)
    return math.fsum(f * grassberger(f) for f in counts) <= size * (grassberger(size) - math.log(l))


def holds_disclosure(members, table, model):
    p, q = shares(members), shares(table)
    if model.get("strict") and set(p) != set(q):
        return False
    # -delta < log2(p / q) < delta, squared so that half bits are whole powers
    power = 2 ** written(2 * model["delta"])
    return all(1 / power < (p[v] / q[v]) ** 2 < power for v in p)


def holds_likeness(members, table, model):
    p, q = shares(members), shares(table)
    gains = {v: (p[v] - q[v]) / q[v] for v in p}
    if any(gain > written(model["beta"]) for gain in gains.values()):
        return False
    return model["variant"] == "basic" or all(float(gain) <= -math.log(q[v]) for v, gain in gains.items())


def numbers(members):
    """Return the different numbers of a class; a missing value is none."""
    return {Fraction(value) for value in members if value is not None}


def spread(members):
    """Return the range of the numbers of a class, 0 without any."""
    return max(numbers(members)) - min(numbers(members)) if numbers(members) else Fraction(0)


def holds(members, table, model, tree=None):
    """Whether a class satisfies a model."""
    name = model["model"]
    if name == "k-anonymity":
        return len(members) >= model["k"]
    if name == "l-diversity":
        return holds_diversity(members, model)
    if name == "t-closeness":
        return DISTANCES[model["distance"]](members, table, tree) <= written(model["t"])
    if name == "k-e-anonymity":
        return len(numbers(members)) >= model["k"] and spread(members) >= written(model["e"])
    judge = {"delta-disclosure-privacy": holds_disclosure, "beta-likeness": holds_likeness}[name]
    return judge(members, table, model)


def diversity_figure(members, variant, rank):
    counts = sorted(Counter(members).values(), reverse=True)
    if variant == "recursive":
        return Fraction(counts[0], sum(counts[rank - 1 :])), False
    return len(counts) if variant == "distinct" else math.exp(entropy(members, variant)), True


def figure(members, table, model, tree=None):
    """Return what a report gives of a class, in the unit of the model's parameter, and whether more is better."""
    name = model["model"]
    p, q = shares(members), shares(table)
    if name == "k-anonymity":
        return len(members), True
    if name == "l-diversity":
        return diversity_figure(counted(members, model), model["variant"], model["l"])
    if name == "t-closeness":
        return DISTANCES[model["distance"]](members, table, tree), False
    if name == "k-e-anonymity":
        return spread(members), True
    if name == "beta-likeness":
        return max((p[v] - q[v]) / q[v] for v in p), False
    return max(abs(math.log2(p[v] / q[v])) for v in p), False


POPULATION = ("k-map", "delta-presence")
TABLE_WIDE = ("average-risk", "sample-uniqueness", "population-uniqueness")


def holds_in_population(size, people, model):
    """Whether a class of `size` records, and so many people of the population, satisfies a population model."""
    if model["model"] == "k-map":
        return people >= model["k"]
    return written(model["delta_min"]) <= Fraction(size, people) <= written(model["delta_max"])


def population_figures(groups, model):
    """Return what a report gives of (records, people) of the kept classes: the least margin decides, both if equal."""
    if model["model"] == "k-map":
        return [min(people for _, people in groups)]
    found = [Fraction(*group) for group in groups]
    margins = {
        min(found): min(found) - written(model["delta_min"]),
        max(found): written(model["delta_max"]) - max(found),
    }
    return [share for share, margin in margins.items() if margin == min(margins.values())]


def may_not_be_empty(models):
    """Whether people of the population in a class without a record refuse a transformation (delta-presence)."""
    sized = any(model["model"] in {"k-anonymity", "l-diversity", "k-e-anonymity"} for model in models)
    return not sized and any(model["model"] == "delta-presence" and model["delta_min"] > 0 for model in models)


def table_wide_figure(sizes, n, model):
    """Return what a table-wide model compares, of the kept classes of a table of `n` records: at least one."""
    if model["model"] == "average-risk":
        return Fraction(len(sizes), sum(sizes))
    if model["model"] == "sample-uniqueness":
        return Fraction(sizes.count(1), sum(sizes))
    if model["estimator"] == "zayatz":
        return float(zayatz(Counter(sizes), math.floor(n / written(model["sampling_fraction"]) + Fraction(1, 2))))
    # their values have oracles of their own; here they only decide which classes go
    found = sorted(Counter(sizes).items())
    distinct, numbers = (np.array(column, np.int64) for column in zip(*found, strict=True))
    fraction = kept_fraction(sum(sizes), n, model["sampling_fraction"])
    return estimate(model["estimator"], distinct, numbers, fraction)


def holds_table_wide(sizes, n, model):
    """Whether the kept classes satisfy a table-wide model; it holds where none is kept."""
    if not sizes:
        return True
    found, threshold = table_wide_figure(sizes, n, model), model["threshold"]
    return found <= (written(threshold) if isinstance(found, Fraction) else threshold)


def shortest_prefix(kept, n, models):
    """Return the keys that table-wide models suppress.

    `kept` maps the key of each kept class to its size and what else orders it, least first. The classes go one by one
    until all models hold.
    """
    order = sorted(kept, key=kept.get)
    for number in range(len(order) + 1):
        sizes = [kept[key][0] for key in order[number:]]
        if all(holds_table_wide(sizes, n, model) for model in models):
            return set(order[:number])
    raise AssertionError


def failing(classes, models, trees=None, *, people=None, elsewhere=()):
    """Return the keys of the classes that fail a model by themselves.

    Parameters
    ----------
    classes : mapping of key to the sensitive mappings of its records
    trees : rows, or mapping of sensitive attribute to rows
        Hierarchies of the sensitive attributes.
    people : mapping of key to people of the population, where models read it
    elsewhere : sensitive mappings of the records of the table that are in no class
    """
    bad = set()
    for model in models:
        if model["model"] in TABLE_WIDE:
            continue
        if model["model"] in POPULATION:
            bad |= {
                key
                for key, members in classes.items()
                if not holds_in_population(len(members), people.get(key, 0), model)
            }
            continue
        column = model.get("attribute")
        tree = trees.get(column) if isinstance(trees, dict) else trees
        values = {key: [record.get(column) for record in members] for key, members in classes.items()}
        table = [value for members in values.values() for value in members]
        table += [record.get(column) for record in elsewhere]
        bad |= {key for key, members in values.items() if not holds(members, table, model, tree)}
    return bad

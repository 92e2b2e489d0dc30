"""Small linked tables and their jobs: patients, their visits, and the conditions of these visits."""

from __future__ import annotations

import random

import pyarrow as pa

from engine.hierarchy.builders.grouping import Grouping

HIERARCHIES = {
    "sex": {"builder": "flat"},
    "area": {"builder": "grouping", "groups": [{"north": ["n1", "n2"], "south": ["s1", "s2"]}]},
    "ward": {"builder": "grouping", "groups": [{"inner": ["w1", "w2"], "outer": ["w3"]}]},
    "code": {"builder": "grouping", "groups": [{"A": ["a1", "a2"], "B": ["b1"]}]},
}
VALUES = {"sex": ["f", "m"], "area": ["n1", "n2", "s1", "s2"], "ward": ["w1", "w2", "w3"], "code": ["a1", "a2", "b1"]}
COLUMNS = {"patient": ["sex", "area"], "visit": ["ward", "area"], "condition": ["code"]}
"""The quasi-identifiers of each table; the area is in two of them."""
KEYS = {"patient": ["person_id"], "visit": ["person_id", "visit_id"], "condition": ["person_id", "visit_id"]}
PSEUDONYM = {"role": "identifying", "action": "pseudonymize", "accept": "linked-rows"}


SENSITIVE = ["visit", "condition"]
"""Tables that may have the sensitive column `outcome`."""


def job(keys=None, tables=tuple(COLUMNS), sensitive=(), **changes):
    """Return a job of these tables; `keys` is the entry of their identifying columns.

    The tables in `sensitive` have the column `outcome`.
    """
    entry = keys or {"role": "identifying"}
    named = {
        table: {
            "attributes": {
                **dict.fromkeys(KEYS[table], entry),
                **{
                    name: {"role": "quasi-identifying", "hierarchy": HIERARCHIES[name], "weight": weight(name)}
                    for name in COLUMNS[table]
                },
                **({"outcome": {"role": "sensitive", "order": "text"}} if table in sensitive else {}),
            }
        }
        for table in tables
    }
    document = {
        "name": "linked",
        "tables": named,
        "subject": "person_id",
        "knows": "all-rows",
        "privacy": [{"model": "k-anonymity", "k": 2}],
        "suppression_limit": 0.5,
    }
    return {**document, **changes}


def weight(name):
    """Return the weight of a column, another one for each."""
    return 1.0 + list(HIERARCHIES).index(name) / 2


def rows_of_hierarchies():
    """Return the labels of each value by column, with the rows that the builders give."""
    found = {name: Grouping.model_validate(HIERARCHIES[name]).rows(VALUES[name]) for name in ("area", "ward", "code")}
    sex = {"sex": [("f", "*"), ("m", "*")]}
    return {name: {row[0]: row for row in rows} for name, rows in {**sex, **found}.items()}


def tables_of(persons, seed=0, most=2):
    """Make tables in memory: one row per person, up to `most` visits, a condition in most visits."""
    rng = random.Random(seed)
    patients = [(f"p{p}", rng.choice("fm"), rng.choice(["n1", "n2", "s1"])) for p in range(persons)]
    visits = [
        (f"p{p}", f"v{p}.{n}", rng.choice(VALUES["ward"]), rng.choice(["n1", "s1"]))
        for p in range(persons)
        for n in range(rng.randint(1, most))
    ]
    conditions = [(p, v, rng.choice(VALUES["code"])) for p, v, _, _ in visits if rng.random() < 0.7]
    return {
        "patient": table(patients, "person_id", "sex", "area"),
        "visit": table(visits, "person_id", "visit_id", "ward", "area"),
        "condition": table(conditions, "person_id", "visit_id", "code"),
    }


def table(rows, *names):
    """Make a table of text columns."""
    return pa.table({name: pa.array([row[place] for row in rows], pa.string()) for place, name in enumerate(names)})

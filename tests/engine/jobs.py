"""A job as a mapping, and changes of it."""

from __future__ import annotations

import copy

BASE = {
    "name": "people",
    "source": {"path": "people.csv"},
    "attributes": {
        "age": {"role": "quasi-identifying", "hierarchy": "age.csv"},
        "zip": {"role": "quasi-identifying", "hierarchy": {"builder": "redaction", "length": 5}},
        "diagnosis": {"role": "sensitive"},
        "person_id": {"role": "identifying"},
        "note": {"role": "insensitive"},
    },
    "privacy": [{"model": "k-anonymity", "k": 5}],
    "output": {"path": "release"},
}
DIVERSITY = {"model": "l-diversity", "variant": "distinct", "attribute": "diagnosis", "l": 2}


def changed(path, value):
    """Return the job with one entry set, by the keys that lead to it."""
    document = copy.deepcopy(BASE)
    place = document
    for key in path[:-1]:
        place = place.setdefault(key, {}) if isinstance(place, dict) else place[key]
    place[path[-1]] = value
    return document

"""Jobs with a population, and a plain recount of what verification must find, record by record."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from hypothesis import strategies as st

from engine import load_job

AGES = [("31", "30s", "*"), ("32", "30s", "*"), ("41", "40s", "*"), ("42", "40s", "*")]
ZIPS = [("11", "1", "*"), ("12", "1", "*"), ("21", "2", "*")]
TREES = {"age": AGES, "zip": ZIPS}
UNSEEN = "99"


def job(folder, privacy, *, attribute=None, limit=0.0, **changes):
    """Write the hierarchies; age and zip are quasi-identifying, id identifying."""
    for name, rows in TREES.items():
        (folder / f"{name}.csv").write_text("\n".join(";".join(row) for row in rows) + "\n")
    quasi = {
        name: {"role": "quasi-identifying", "hierarchy": str(folder / f"{name}.csv"), **(attribute or {})}
        for name in TREES
    }
    document = {
        "name": "people",
        "attributes": {**quasi, "id": {"role": "identifying"}},
        "privacy": privacy,
        "suppression_limit": limit,
        **changes,
    }
    return load_job(document)


def table(people):
    """Return people, pairs of age and zip, as a table; their places are their ids."""
    return pa.table(
        {
            "age": pa.array([age for age, _ in people], pa.string()),
            "zip": pa.array([zip_ for _, zip_ in people], pa.string()),
            "id": pa.array(list(range(len(people))), pa.int64()),
        }
    )


def write(path, records):
    """Write a table as Parquet, or as CSV, where a missing value becomes an empty field."""
    if path.suffix == ".parquet":
        pyarrow.parquet.write_table(records, path)
        return str(path)
    pa.csv.write_csv(records, path, pa.csv.WriteOptions(quoting_style="none"))
    return str(path)


def generalized(person, levels, attribute):
    """Return the labels of a person, None for one whose record is suppressed because of a value without an entry."""
    labels = []
    for value, (name, rows) in zip(person, TREES.items(), strict=True):
        level = levels[name]
        row = {row[0]: row for row in rows}.get(value)
        if value is None or value in attribute.get("missing", ()):
            labels.append("*" if level == len(rows[0]) - 1 else None)
        elif row is not None:
            labels.append(row[level])
        elif attribute["unseen"] == "suppress":
            return None
        else:
            labels.append("*")
    return tuple(labels)


def counted(people, levels, attribute):
    """Count people by their labels; nobody without labels."""
    found = Counter(generalized(person, levels, attribute) for person in people)
    found.pop(None, None)
    return found


def listed(people, rows, columns):
    """Return the places of the people that a file lists by some columns: of those who read alike, the first ones."""
    wanted = Counter(rows)
    places = []
    for place, person in enumerate(people):
        whole = {"age": person[0] or "", "zip": person[1] or "", "id": str(place)}
        key = tuple(whole[column] for column in columns)
        if wanted[key]:
            wanted[key] -= 1
            places.append(place)
    return places


VALUE_OF = {name: st.sampled_from([row[0] for row in rows] * 2 + [None]) for name, rows in TREES.items()}
PERSON = st.tuples(*VALUE_OF.values())
LEVELS = st.fixed_dictionaries({name: st.integers(0, 2) for name in TREES})
ATTRIBUTES = st.fixed_dictionaries(
    {"unseen": st.sampled_from(["error", "suppress", "root"]), "missing": st.sampled_from([[], ["32"]])}
)
MODELS = st.sampled_from([2, 3]).map(lambda k: {"model": "k-map", "k": k}) | st.tuples(
    st.sampled_from([0.0, 0.2, 0.25, 1 / 3]), st.sampled_from([1 / 3, 0.5, 0.75, 1.0])
).map(lambda ends: {"model": "delta-presence", "delta_min": ends[0], "delta_max": ends[1]})


@st.composite
def worlds(draw):
    """Draw people, how their values are read, and which of them a subset lists, by which columns."""
    attribute = draw(ATTRIBUTES)
    person = PERSON
    if attribute["unseen"] != "error":
        person = st.tuples(*(st.sampled_from([UNSEEN]) | value for value in VALUE_OF.values()))
        person = PERSON | PERSON | person
    people = draw(st.lists(person, min_size=1, max_size=25))
    columns = draw(st.sampled_from([["id"], ["age", "zip"], ["zip"]]))
    chosen = draw(st.lists(st.integers(0, len(people) - 1), min_size=1, max_size=len(people), unique=True))
    whole = [{"age": people[i][0] or "", "zip": people[i][1] or "", "id": str(i)} for i in chosen]
    rows = [tuple(row[column] for column in columns) for row in whole]
    return people, attribute, columns, rows

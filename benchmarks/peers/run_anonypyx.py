"""AnonyPyx: Mondrian, a multidimensional partition of the records; each class gets a range or set of values of its own.

It takes no hierarchies: numbers must be ranges, and text is a set. A class is written once, with its records.
"""

from __future__ import annotations

import json
import time

import anonypyx
import pandas as pd
from tables import hierarchy_of, report, rows_of, task, write_rows

given = task()
names = given["quasi_identifiers"]
data = pd.DataFrame(rows_of(given["table"]))[names]
domains = {name: [row[0] for row in hierarchy_of(given["hierarchies"], name)] for name in names}
numbers = [name for name in names if all(value.isdigit() for value in domains[name])]
for name in names:
    data[name] = data[name].astype(int if name in numbers else "category")
started, before = time.perf_counter(), time.process_time()
anonymiser = anonypyx.Anonymiser(data, k=given["k"], feature_columns=names, generalisation_strategy="machine-readable")
released = anonymiser.anonymise()
report(seconds=time.perf_counter() - started, cpu=time.process_time() - before)

rows = []
for row in released.to_dict("records"):
    covered = {}
    for name in names:
        if name in numbers:
            least, most = int(row[f"{name}_min"]), int(row[f"{name}_max"])
            covered[name] = [value for value in domains[name] if least <= int(value) <= most]
        else:
            covered[name] = [value for value in domains[name] if row.get(f"{name}_{value}")]
    rows.append({name: json.dumps(values) for name, values in covered.items()} | {"records": row["count"]})
write_rows(given["output"], [*names, "records"], rows)

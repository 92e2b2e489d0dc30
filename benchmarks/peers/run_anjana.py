"""ANJANA: full-domain generalization of the attribute with most distinct values, until the rest may be suppressed."""

from __future__ import annotations

import time

import pandas as pd
from anjana.anonymity import k_anonymity
from tables import hierarchy_of, report, rows_of, task, write_rows

given = task()
names = given["quasi_identifiers"]
hierarchies = {}
for name in names:
    levels = zip(*hierarchy_of(given["hierarchies"], name), strict=True)
    hierarchies[name] = {level: list(labels) for level, labels in enumerate(levels)}
data = pd.DataFrame(rows_of(given["table"]))
started, before = time.perf_counter(), time.process_time()
released = k_anonymity(data, [], names, given["k"], 100 * given["limit"], hierarchies)
report(seconds=time.perf_counter() - started, cpu=time.process_time() - before)
write_rows(given["output"], names, released.to_dict("records"))

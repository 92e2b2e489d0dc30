"""OpenMed: every transformation of the lattice, each with every subset of its classes that may be suppressed.

Columns are renamed, since a value of a column named `age` is read as an age whatever its hierarchy says. A label must
be mapped at every higher level too.
"""

from __future__ import annotations

import time

from openmed.risk import kanon
from tables import hierarchy_of, report, rows_of, task, write_rows

given = task()
names = given["quasi_identifiers"]
columns = [f"q{number}" for number in range(len(names))]
rows = [{column: row[name] for column, name in zip(columns, names, strict=True)} for row in rows_of(given["table"])]
hierarchies = {}
for column, name in zip(columns, names, strict=True):
    table = hierarchy_of(given["hierarchies"], name)
    higher = [
        {"values": {row[below]: row[level] for row in table for below in range(level + 1)}}
        for level in range(1, len(table[0]))
    ]
    hierarchies[column] = [{}, *higher]
started, before = time.perf_counter(), time.process_time()
found = kanon.enforce_kanon(
    rows, columns, target_k=given["k"], suppression_rate=given["limit"], hierarchies=hierarchies
)
report(seconds=time.perf_counter() - started, cpu=time.process_time() - before)
released = [{name: row[column] for column, name in zip(columns, names, strict=True)} for row in found["records"]]
write_rows(given["output"], names, released)

"""pyCANON: measures what a table satisfies; it anonymizes nothing. The table here is one the engine released."""

from __future__ import annotations

import time

import pandas as pd
from pycanon import anonymity
from tables import report, rows_of, task

given = task()
data = pd.DataFrame(rows_of(given["table"]))
started, before = time.perf_counter(), time.process_time()
k = anonymity.k_anonymity(data, given["quasi_identifiers"])
report(seconds=time.perf_counter() - started, cpu=time.process_time() - before, k=int(k))

"""pyCANON on many releases: the k, the l and the t of each, counted by code that is not the engine's.

In: one JSON object on the standard input: `releases`, each with `table`, `quasi_identifiers`, `sensitive` and whether
it is `numeric`. Out: a line of JSON with `found`, for each release its `k`, `l` and `t`.
"""

from __future__ import annotations

import json

import pandas as pd
from pycanon import anonymity
from tables import rows_of, task

found = []
for release in task()["releases"]:
    data, sensitive = pd.DataFrame(rows_of(release["table"])), release["sensitive"]
    if release["numeric"]:
        data[sensitive] = data[sensitive].astype(int)
    names = release["quasi_identifiers"]
    found.append(
        {
            "k": int(anonymity.k_anonymity(data, names)),
            "l": int(anonymity.l_diversity(data, names, [sensitive])),
            # of a table with one value there is no distance
            "t": float(anonymity.t_closeness(data, names, [sensitive])) if len(set(data[sensitive])) > 1 else 0.0,
        }
    )
print(json.dumps({"found": found}))

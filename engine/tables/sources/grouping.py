"""Group the rows of an Arrow table within the calling thread.

Arrow's own threads let go of what they grouped after the result is there. Where that is the memory of a numpy array
and Python is ending, they abort the process (exit code -6) although its work was done:
https://github.com/apache/arrow/issues/34314. Grouping in one thread takes no more CPU time.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa


def grouped(table: pa.Table, keys: Sequence[str]) -> pa.TableGroupBy:
    """Return the groups of equal keys, to be aggregated."""
    return table.group_by(list(keys), use_threads=False)

"""`python -m airflow_anon.ledger`, which `airflow-anon ledger` starts."""

from __future__ import annotations

import os
import sys

from airflow_anon.ledger.cli import main
from engine import until_reader_leaves

if __name__ == "__main__":
    # Airflow's own commands do this too: without it, connections in the metadata database are not found.
    os.environ.setdefault("_AIRFLOW_PROCESS_CONTEXT", "server")
    sys.exit(until_reader_leaves(main))

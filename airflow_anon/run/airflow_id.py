"""Which Airflow a run is of: two that share a ledger may have DAGs and runs of the same ids.

In: Airflow's own variables, which all of its tasks read, and no other Airflow has. Out: a random id, made by the first
task that asks. A copy of the metadata database has the same one, until its variable is removed.
"""

from __future__ import annotations

import logging
import uuid

VARIABLE = "deidentification_airflow_id"

log = logging.getLogger(__name__)


def airflow_id() -> str | None:
    """Return the id of this Airflow; None where it keeps none, and nobody can tell it from another one."""
    from airflow.sdk import Variable  # noqa: PLC0415 (heavy imports belong into execute)

    try:
        found = Variable.get(VARIABLE, default=None)
        if not found:
            Variable.set(VARIABLE, str(uuid.uuid4()), description="Tells this Airflow from others in a release ledger")
            found = Variable.get(VARIABLE, default=None)
    except Exception as problem:  # noqa: BLE001 (whatever keeps it away, a release need not wait for it)
        log.debug("This Airflow has no id: %s", type(problem).__name__)
        return None
    return str(found) if found else None

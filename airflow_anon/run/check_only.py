"""The parameter of a run that only checks: it publishes nothing, writes no vault, and is no attempt for the ledger.

By it a run does less than without: it leaves out all that releases.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from airflow.sdk import Context, Param

CHECK_ONLY = "check_only"


def check_parameter() -> dict[str, Param]:
    """Return the parameter of a DAG by which a run checks only."""
    from airflow.sdk import Param  # noqa: PLC0415 (its schema is loaded by DAG files alone)

    says = "Say what is wrong with job and table, and what a release would be. Publish nothing, record nothing."
    return {CHECK_ONLY: Param(default=False, type="boolean", title="Check only", description=says)}


def is_check(context: Context) -> bool:
    """Whether a run is to check only."""
    return context.get("params", {}).get(CHECK_ONLY) is True


def was_check(states: Mapping[str, str | None], context: Context) -> bool:
    """Whether a run was to check only, and none of its tasks after the first has begun.

    Parameters
    ----------
    states : mapping
        Of the tasks of the work, in order.
    """
    _, *after = states.values()
    return is_check(context) and all(state in {"skipped", "upstream_failed"} for state in after)

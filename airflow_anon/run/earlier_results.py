"""What a task takes from the tasks before it: without their results it ends at once, and says so."""

from __future__ import annotations

from typing import Any

from airflow.providers.common.compat.sdk import AirflowFailException


def refuse_missing(**taken: Any) -> None:
    """Refuse to work where a task before left no result.

    Parameters
    ----------
    **taken
        What the task takes from earlier ones, by the name of its argument.

    Raises
    ------
    AirflowFailException
        One of them is None, as Airflow renders what is not there.
    """
    for name, value in taken.items():
        if value is None:
            raise AirflowFailException(
                f"{name}: is missing, because the task before, which gives it, left no result, for example if marked "
                "as successful by hand; clear the whole run"
            )

"""The metrics of a release, as one task hands them on to another: what XCom, manifest and Asset event carry.

In: the result of the task that ran the engine. Out: `Metrics`, plain numbers and text.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_type_hints

from airflow.providers.common.compat.sdk import AirflowFailException
from pydantic import ConfigDict, TypeAdapter, ValidationError

from engine import Metrics


class Deidentified(Metrics):
    """What `DeidentifyTableOperator` returns: the release, its metrics, and each metric by its own name."""

    release: str
    manifest_sha256: str
    metrics: Metrics


def metrics_in(told: Any) -> dict[str, Any]:
    """Return the metrics in a task's result, or the given metrics themselves.

    Raises
    ------
    AirflowFailException
        It is not a mapping, or metrics have a wrong type. They are named, without their values.
    """
    if not isinstance(told, Mapping):
        raise AirflowFailException(
            'metrics: must be a mapping; give deidentify.output["metrics"], not a template that becomes text'
        )
    nested = told.get("metrics")
    figures = nested if isinstance(nested, Mapping) else told
    types = get_type_hints(Metrics)
    wrong = [name for name, kind in types.items() if name in figures and not _is(figures[name], kind)]
    if wrong:
        raise AirflowFailException(f"metrics {', '.join(wrong)}: have a wrong type; give what deidentify returned")
    return {name: figures[name] for name in types if name in figures}


def _is(value: Any, kind: Any) -> bool:
    """Whether a value is of a JSON type: NaN and infinities are not numbers."""
    try:
        TypeAdapter(kind, config=ConfigDict(strict=True, allow_inf_nan=False)).validate_python(value)
    except ValidationError:
        return False
    return True

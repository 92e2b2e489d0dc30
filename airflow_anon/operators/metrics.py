"""The metrics of a release: what XCom, the manifest in the share and the Asset event carry.

In: the report of a run, or the result of the task that ran the engine. Out: `Metrics`, plain numbers and text.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, get_type_hints

from airflow.providers.common.compat.sdk import AirflowFailException
from pydantic import ConfigDict, TypeAdapter, ValidationError
from typing_extensions import TypedDict

if TYPE_CHECKING:
    from engine import PublishedReport


class Metrics(TypedDict):
    """Figures of one release; a figure is None if it has no basis, for example if no record is kept, or is withheld.

    `rows` counts the records to release, `released` those in the file.
    """

    rows: int | None
    released: int
    suppressed: int | None
    suppressed_share: float | None
    information_loss: float | None
    lower_bound: float | None
    optimal: bool
    levels: dict[str, int]
    prosecutor_risk: float
    journalist_risk: float
    marketer_risk: float
    smallest_class: int | None
    privacy_margin: float | None


class Deidentified(Metrics):
    """What `DeidentifyTableOperator` returns: the release, its metrics, and each metric by its own name."""

    release: str
    manifest_sha256: str
    metrics: Metrics


def release_metrics(report: PublishedReport) -> Metrics:
    """Return the metrics of a release from its report."""
    solution, suppressed, risk = report["solution"], report["suppressed_class"]["records"], report["risk"]
    rows = report["rows"]
    return {
        "rows": rows,
        "released": report["released"],
        "suppressed": suppressed,
        "suppressed_share": None if rows is None or suppressed is None else suppressed / rows if rows else 0.0,
        "information_loss": solution["information_loss"],
        "lower_bound": solution["lower_bound"],
        "optimal": solution["optimal"],
        "levels": dict(solution["levels"]),
        "prosecutor_risk": risk["prosecutor"],
        "journalist_risk": risk["journalist"],
        "marketer_risk": risk["marketer"],
        "smallest_class": report["classes"]["smallest"],
        "privacy_margin": report["privacy_margin"],
    }


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

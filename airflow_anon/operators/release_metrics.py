"""The metrics of a release: what XCom, the manifest in the share and the Asset event carry.

In: the report of a run, or the result of the task that ran the engine. Out: `Metrics`, plain numbers and text.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, get_type_hints

from airflow.providers.common.compat.sdk import AirflowFailException
from pydantic import ConfigDict, TypeAdapter, ValidationError
from typing_extensions import NotRequired, TypedDict

if TYPE_CHECKING:
    from engine import PublishedReport


class Metrics(TypedDict):
    """Figures of one release; a figure is None if it has no basis, for example if no record is kept, or is withheld.

    `rows` counts the records to release, `released` those in the file. A local recoding has no `levels`. The last four
    are of a job with a series: `levels_changed` has for each column with another level than in the release before the
    level `before` and `now`, and is None in the first release.
    """

    rows: int | None
    released: int
    suppressed: int | None
    suppressed_share: float | None
    information_loss: float | None
    lower_bound: float | None
    optimal: bool
    levels: dict[str, int] | None
    prosecutor_risk: float
    journalist_risk: float
    marketer_risk: float
    smallest_class: int | None
    privacy_margin: float | None
    smallest_trace: NotRequired[int | None]
    held_back_share: NotRequired[float | None]
    covered_share: NotRequired[float | None]
    levels_changed: NotRequired[dict[str, dict[str, int]] | None]


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
        **_of_series(report),
        "rows": rows,
        "released": report["released"],
        "suppressed": suppressed,
        "suppressed_share": None if rows is None or suppressed is None else suppressed / rows if rows else 0.0,
        "information_loss": solution["information_loss"],
        "lower_bound": solution["lower_bound"],
        "optimal": solution["optimal"],
        "levels": None if solution["levels"] is None else dict(solution["levels"]),
        "prosecutor_risk": risk["prosecutor"],
        "journalist_risk": risk["journalist"],
        "marketer_risk": risk["marketer"],
        "smallest_class": report["classes"]["smallest"],
        "privacy_margin": report["privacy_margin"],
    }


def _of_series(report: PublishedReport) -> dict[str, Any]:
    if "series" not in report:
        return {}
    series = report["series"]
    figures = {name: series.get(name) for name in ("smallest_trace", "held_back_share", "covered_share")}
    changed = series.get("levels_changed")
    return {
        **figures,
        "levels_changed": None if changed is None else {name: dict(one) for name, one in changed.items()},
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

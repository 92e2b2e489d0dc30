"""Sends figures of an attempt as metrics with Airflow's own client: to StatsD, Datadog or OpenTelemetry.

In: an entry of the ledger. Out: gauges, a timer and a counter, none of them about fewer records than the job allows;
nothing if Airflow's metrics are off.
"""

from __future__ import annotations

import datetime as dt
import logging
import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from airflow_anon.ledger import Entry
    from airflow_anon.ledger.form_parts import Series

PREFIX = "deidentification"

_log = logging.getLogger(__name__)


def emit(entry: Entry, smallest: int | None, series: Series | None = None) -> None:
    """Send the metrics of an attempt: once with the job as a tag, and once with the job in the name.

    Parameters
    ----------
    entry : Entry
    smallest : int or None
        The smallest class that its job allows: counts below it are not sent. If None, no count but 0 is sent.
    series : Series, optional
        What the attempt's document says of its series.

    Plain StatsD has no tags. So while `[metrics] legacy_names_on` is set, Airflow sends each metric under a second
    name, as is done here: `deidentification.information_loss` with the tag `job`, and
    `deidentification.information_loss.JOB`. A figure that is withheld or unknown is not sent.

    Errors here are logged and do not fail the task.
    """
    try:
        from airflow.providers.common.compat.sdk import Stats, conf  # noqa: PLC0415 (heavy, and tasks only)

        job = _name_part(entry.job)
        named = conf.getboolean("metrics", "legacy_names_on", fallback=True)
        for method, metric, value in _measurements(entry, smallest, series):
            send: Callable[..., None] = getattr(Stats, method)
            send(f"{PREFIX}.{metric}", *value, tags={"job": job})
            if named:
                send(f"{PREFIX}.{metric}.{job}", *value)
    except Exception as problem:  # noqa: BLE001 (a release must not fail because of its metrics)
        _log.warning("The metrics of entry %d were not sent (%s)", entry.sequence, type(problem).__name__)


def emit_from_command(entry: Entry) -> None:
    """Send the metrics of what was done on the command line, where no task runner has set the client up."""
    try:
        from airflow.providers.common.compat.sdk import conf  # noqa: PLC0415 (heavy, and commands only)
        from airflow.sdk.observability import stats  # noqa: PLC0415
        from airflow.sdk.observability.metrics import stats_utils  # noqa: PLC0415

        stats.initialize(
            factory=stats_utils.get_stats_factory(),
            export_legacy_names=conf.getboolean("metrics", "legacy_names_on", fallback=True),
        )
    except Exception as problem:  # noqa: BLE001 (what was done must not fail because of its metrics)
        _log.warning("The metrics of entry %d were not sent (%s)", entry.sequence, type(problem).__name__)
        return
    emit(entry, None)


def _measurements(
    entry: Entry, smallest: int | None, series: Series | None
) -> Iterator[tuple[str, str, tuple[Any, ...]]]:
    """Yield the client's method, the metric's name, and the value if it has one."""
    from airflow_anon.disclosure.ledger_rows import row_figures  # noqa: PLC0415 (a DAG file imports this module)

    counts = row_figures(entry, smallest)
    gauges = {
        "rows": counts["rows"]["value"],
        "suppressed_share": counts["suppressed_share"]["value"],
        "information_loss": entry.information_loss,
        "privacy_margin": entry.privacy_margin,
        **_of_series(series, smallest),
    }
    for name, figure in gauges.items():
        if figure is not None:
            yield "gauge", name, (figure,)
    if entry.seconds is not None:
        yield "timing", "seconds", (dt.timedelta(seconds=entry.seconds),)
    yield "incr", entry.outcome, ()


def _of_series(series: Series | None, smallest: int | None) -> dict[str, float | None]:
    """Return the figures of a series, as they may be told."""
    from airflow_anon.disclosure.traces import smallest_trace  # noqa: PLC0415 (a DAG file imports this module)

    if series is None:
        return {}
    return {
        "smallest_trace": smallest_trace(series.smallest_trace, smallest),
        "held_back_share": series.held_back_share,
        "covered_share": series.covered_share,
        "levels_changed": None if series.levels_changed is None else len(series.levels_changed),
    }


def _name_part(job: str) -> str:
    """Return the job's name as one part of a metric's name: dots, which separate parts, are replaced."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", job.replace(".", "__"))

"""Figures of an attempt as metrics, sent by Airflow's own client to StatsD, Datadog or OpenTelemetry.

In: an entry of the ledger. Out: gauges, a timer and a counter, none of them about fewer records than the job allows; or
nothing where Airflow's metrics are off.
"""

from __future__ import annotations

import datetime as dt
import logging
import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from airflow_anon.ledger import Entry

PREFIX = "deidentification"

_log = logging.getLogger(__name__)


def emit(entry: Entry, smallest: int | None) -> None:
    """Send the metrics of an attempt: once with the job as a tag, and once with the job in the name.

    Parameters
    ----------
    entry : Entry
    smallest : int or None
        The smallest class that its job allows. Fewer records are not told; where it is not known, none are but 0.

    Plain StatsD knows no tags. So Airflow sends each of its metrics under a second name as long as
    `[metrics] legacy_names_on` says so, and so do these: `deidentification.information_loss` with the tag `job`, and
    `deidentification.information_loss.JOB`. A figure that is withheld or unknown is not sent.

    Nothing that goes wrong here harms the task: it is logged.
    """
    try:
        from airflow.providers.common.compat.sdk import Stats, conf  # noqa: PLC0415 (heavy, and tasks only)

        job = _name_part(entry.job)
        named = conf.getboolean("metrics", "legacy_names_on", fallback=True)
        for method, metric, value in _measurements(entry, smallest):
            send: Callable[..., None] = getattr(Stats, method)
            send(f"{PREFIX}.{metric}", *value, tags={"job": job})
            if named:
                send(f"{PREFIX}.{metric}.{job}", *value)
    except Exception as problem:  # noqa: BLE001 (a release must not fail because of its metrics)
        _log.warning("The metrics of entry %d were not sent (%s)", entry.sequence, type(problem).__name__)


def _measurements(entry: Entry, smallest: int | None) -> Iterator[tuple[str, str, tuple[Any, ...]]]:
    """Yield method of the client, name of the metric, and the value if it has one."""
    from airflow_anon.disclosure.ledger_rows import row_figures  # noqa: PLC0415 (a DAG file imports this module)

    counts = row_figures(entry, smallest)
    gauges = {
        "rows": counts["rows"]["value"],
        "suppressed_share": counts["suppressed_share"]["value"],
        "information_loss": entry.information_loss,
        "privacy_margin": entry.privacy_margin,
    }
    for name, figure in gauges.items():
        if figure is not None:
            yield "gauge", name, (figure,)
    if entry.seconds is not None:
        yield "timing", "seconds", (dt.timedelta(seconds=entry.seconds),)
    yield "incr", entry.outcome, ()


def _name_part(job: str) -> str:
    """Return the job's name as one part of a metric's name, in which a dot would begin the next part."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", job.replace(".", "__"))

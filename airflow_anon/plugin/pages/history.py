"""The history of a DAG's jobs: every attempt, and charts of the releases' figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from airflow_anon.plugin.page_forms.history import HistoryPage, JobHistory
from airflow_anon.plugin.page_forms.parts import Chart
from airflow_anon.plugin.pages.charts import line_chart, values
from airflow_anon.plugin.pages.levels import levels as told_levels
from airflow_anon.plugin.pages.measures import LIMITS, axis_of, risk_of
from airflow_anon.plugin.pages.outline import ENTRY_STATES, chain_state, outline, pending_outline, state_of
from airflow_anon.plugin.schedules import schedules

if TYPE_CHECKING:
    from airflow_anon.ledger import Entry
    from airflow_anon.plugin.reading import Reading

PER_PAGE = 50
DIGITS = 6
"""Most digits of a page number."""
CHARTED = 365
"""Number of newest releases in the charts."""
READ = 60
"""Number of newest releases of whose documents charts are made, each of which is read."""


def history(reading: Reading, parameters: Mapping[str, str]) -> HistoryPage:
    """Return the history of a DAG.

    Parameters
    ----------
    parameters : mapping
        ``dag_id``; ``job``: only this job; ``state``: only attempts with it; ``page``: from 1, newest first.
    """
    dag_id = parameters["dag_id"]
    jobs = sorted({entry.job for entry in reading.latest() if entry.dag_id == dag_id})
    chosen = [job for job in jobs if job == parameters["job"]] if parameters.get("job") else jobs
    state = parameters["state"] if parameters.get("state") in ENTRY_STATES else ""
    return {
        "dag_id": dag_id,
        "jobs": jobs,
        "filters": {"job": parameters.get("job", ""), "state": state},
        "states": dict(ENTRY_STATES),
        "chain": chain_state(reading),
        "next_run": schedules([dag_id]).get(dag_id),
        "pending": [pending_outline(one) for one in reading.pending() if one.dag_id == dag_id],
        "histories": [_history(reading, dag_id, job, state, page_number(parameters)) for job in chosen],
    }


def _history(reading: Reading, dag_id: str, job: str, state: str, page: int) -> JobHistory:
    entries = [entry for entry in reading.ledger.of_job(job) if entry.dag_id == dag_id]
    listed = [entry for entry in entries if not state or state_of(entry) == state]
    pages = max(1, -(-len(listed) // PER_PAGE))
    page = min(page, pages)
    released = [entry for entry in entries if entry.outcome == "released"][:CHARTED][::-1]
    return {
        "job": job,
        "counts": {name: sum(state_of(entry) == name for entry in entries) for name in ENTRY_STATES},
        "total": len(listed),
        "charted": len(released),
        "page": page,
        "pages": pages,
        "attempts": [outline(reading, entry) for entry in listed[(page - 1) * PER_PAGE : page * PER_PAGE]],
        "charts": _charts(reading, released, _refused(entries, released)) if len(released) > 1 else [],
    }


def _refused(entries: Sequence[Entry], released: Sequence[Entry]) -> list[str]:
    """Return the moments of the attempts that were refused since the first of these releases, ascending."""
    since = released[0].recorded_at if released else ""
    return sorted(one.recorded_at for one in entries if one.outcome == "refused" and one.recorded_at >= since)


def _charts(reading: Reading, released: Sequence[Entry], refused: Sequence[str]) -> list[Chart]:
    times = [entry.recorded_at for entry in released]
    counts = [reading.counts_of(entry) for entry in released]
    suppressed = values([one["suppressed_share"] for one in counts])
    losses = [one.information_loss for one in released]
    # some measures have no scale that ends at 1
    form: Literal["percent", "number"] = (
        "percent" if all(0 <= one <= 1 for one in losses if one is not None) else "number"
    )
    gap = "A gap is a share of fewer records than the smallest class allowed; it is not shown."
    return [
        line_chart("Information loss", times, _losses(reading, released), form=form, refused=refused),
        line_chart(
            "Suppressed share",
            times,
            {"Suppressed share": suppressed},
            form="percent",
            below=gap if None in suppressed else "",
            refused=refused,
        ),
        line_chart(
            "Privacy margin",
            times,
            {"Privacy margin": [one.privacy_margin for one in released]},
            form="percent",
            refused=refused,
        ),
        line_chart(
            "Records of the source",
            times,
            {"Records": values([one["rows"] for one in counts])},
            form="number",
            refused=refused,
        ),
        *_of_documents(reading, released[-READ:], refused),
    ]


def _of_documents(reading: Reading, released: Sequence[Entry], refused: Sequence[str]) -> list[Chart]:
    """Return charts of what stands in the documents of the newest releases alone: the highest risk, and the levels."""
    documents = [reading.document(one.sequence) for one in released]
    times = [one.recorded_at for one in released]
    later = [moment for moment in refused if moment >= times[0]]
    risks = [None if one is None else risk_of(one, "prosecutor")["value"] for one in documents]
    found = [[] if one is None else told_levels(one) or [] for one in documents]
    levels = [{one["attribute"]: one["level"] for one in of} for of in found]
    names = list(dict.fromkeys(name for one in levels for name in one))
    newest = f"The newest {len(released)} releases. " if len(released) == READ else ""
    return [
        line_chart(
            "Highest risk",
            times,
            {"Prosecutor risk": risks},
            form="percent",
            below=f"{newest}The lines are usual bounds: 0.05 (a class of 20), and 0.09 (public data).",
            refused=later,
            limits=LIMITS,
            ends=axis_of(risks),
        ),
        line_chart(
            "Generalization levels",
            times,
            {name: [one.get(name) for one in levels] for name in names},
            form="number",
            below=f"{newest}A release of mixed levels has none for all records: a gap.",
            refused=later,
            steps=True,
        ),
    ]


def _losses(reading: Reading, released: Sequence[Entry]) -> dict[str, Sequence[float | None]]:
    """Return the information losses, a line per measure: losses of two measures do not compare."""
    measures = [reading.measure_of(entry) for entry in released]
    several = len(set(measures)) > 1
    return {
        f"Information loss ({name or 'of an unknown measure'})" if several else "Information loss": [
            entry.information_loss if own == name else None for entry, own in zip(released, measures, strict=True)
        ]
        for name in dict.fromkeys(measures)
    }


def page_number(parameters: Mapping[str, str]) -> int:
    """Return the page that the address asks for, from 1."""
    text = parameters.get("page", "1")
    sensible = text.isascii() and text.isdecimal() and len(text) <= DIGITS
    return max(1, int(text)) if sensible else 1

"""Charts as data: the drawing, and the table behind it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from airflow_anon.disclosure.counts import Figure
from airflow_anon.plugin.page_forms.parts import Chart, Column


def line_chart(
    title: str, times: Sequence[str], series: dict[str, Sequence[float | None]], *, form: str, below: str = ""
) -> Chart:
    """Return a chart of figures over time.

    Parameters
    ----------
    times : sequence of str
        Moments, ISO 8601, ascending; T of them.
    series : mapping
        Name to T values; None is a gap.
    form : {"percent", "number"}
        Format of the values.
    below : str
        Text that explains gaps.
    """
    return {
        "kind": "lines",
        "title": title,
        "x_title": "",
        "y_title": title,
        "form": form,
        "note": below,
        "series": [{"name": name, "x": list(times), "y": list(values)} for name, values in series.items()],
        "table": {
            "columns": _columns("Recorded (UTC)", "time", series, form),
            "rows": [list(row) for row in zip(times, *series.values(), strict=True)],
        },
    }


def bar_chart(
    title: str,
    labels: Sequence[str],
    columns: dict[str, Sequence[Any]],
    *,
    form: str,
    x: str,
    y: str,
    lying: bool = False,
    note: str = "",
) -> Chart:
    """Return a bar chart of the first of `columns`; the table has all columns.

    Parameters
    ----------
    labels : sequence of str
        One per bar.
    columns : mapping
        Name to values, as many as labels.
    x, y : str
        Titles of the axes.
    lying : bool
        Whether the bars are horizontal, for long labels.
    note : str
        Text that explains missing bars.
    """
    drawn = next(iter(columns))
    return {
        "kind": "bars",
        "title": title,
        "x_title": x,
        "y_title": y,
        "form": form,
        "lying": lying,
        "note": note,
        "series": [{"name": drawn, "x": list(labels), "y": list(columns[drawn])}],
        "table": {
            "columns": _columns(x, "text", columns, form),
            "rows": [list(row) for row in zip(labels, *columns.values(), strict=True)],
        },
    }


def _columns(first: str, first_form: str, others: Iterable[str], form: str) -> list[Column]:
    return [{"name": first, "form": first_form}, *(Column(name=name, form=form) for name in others)]


def values(figures: Sequence[Figure]) -> list[float | None]:
    """Return the figures that can be drawn."""
    return [figure["value"] for figure in figures]

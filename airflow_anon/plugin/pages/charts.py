"""Charts as data: the drawing, and the table behind it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from airflow_anon.disclosure.counts import Figure
from airflow_anon.plugin.page_forms.parts import Chart, Column, Limit

NOTHING = "Nothing is drawn: none of its figures may be shown, or none was recorded."
REFUSED = "A cross on the axis is an attempt that was refused."


def line_chart(
    title: str,
    times: Sequence[str],
    series: dict[str, Sequence[float | None]],
    *,
    form: str,
    below: str = "",
    refused: Sequence[str] = (),
    limits: Sequence[Limit] = (),
    ends: tuple[float, float] | None = None,
    steps: bool = False,
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
    refused : sequence of str
        Moments of attempts that were refused, ISO 8601; they are marked on the axis, and rows of the table.
    limits : sequence of Limit
        Usual bounds of the figures.
    ends : pair of float, optional
        Of the axis of the figures; else it begins at 0.
    steps : bool
        Whether a value stays until the next one.
    """
    empty = not any(value is not None for values in series.values() for value in values)
    rows: list[list[Any]] = [list(row) for row in zip(times, *series.values(), strict=True)]
    columns = _columns("Recorded (UTC)", "time", series, form)
    if refused:
        columns.append({"name": "Attempt", "form": "text"})
        gone = [[moment, *[None] * len(series), "refused"] for moment in refused]
        rows = sorted([*([*row, ""] for row in rows), *gone], key=lambda row: str(row[0]))
    chart: Chart = {
        "kind": "lines",
        "title": title,
        "x_title": "",
        "y_title": title,
        "form": form,
        "note": " ".join(filter(None, [NOTHING if empty else below, REFUSED if refused else ""])),
        "series": [{"name": name, "x": list(times), "y": list(values)} for name, values in series.items()],
        "table": {"columns": columns, "rows": rows},
        "refused": list(refused),
        "limits": list(limits),
        "steps": steps,
    }
    if ends is not None:
        chart["ends"] = ends
    return chart


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
    limits: Sequence[Limit] = (),
    ends: tuple[float, float] | None = None,
    drawn: int = 1,
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
    limits : sequence of Limit
        Usual bounds.
    ends : pair of float, optional
        Of the axis of the figures; else it begins at 0.
    drawn : int
        How many of the columns are drawn, beside each other.
    """
    shown = list(columns)[:drawn]
    empty = not any(value is not None for name in shown for value in columns[name])
    chart: Chart = {
        "kind": "bars",
        "title": title,
        "x_title": x,
        "y_title": y,
        "form": form,
        "lying": lying,
        "note": f"{NOTHING} {note}".strip() if empty else note,
        "limits": list(limits),
        "series": [{"name": name, "x": list(labels), "y": list(columns[name])} for name in shown],
        "table": {
            "columns": _columns(x, "text", columns, form),
            "rows": [list(row) for row in zip(labels, *columns.values(), strict=True)],
        },
    }
    if ends is not None:
        chart["ends"] = ends
    return chart


def _columns(first: str, first_form: str, others: Iterable[str], form: str) -> list[Column]:
    return [{"name": first, "form": first_form}, *(Column(name=name, form=form) for name in others)]


def values(figures: Sequence[Figure]) -> list[float | None]:
    """Return the figures that can be drawn."""
    return [figure["value"] for figure in figures]

"""A small chart within a line of text, as an SVG path without script or style."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

WIDTH, HEIGHT, MARGIN = 96, 24, 3


def sparkline(values: Sequence[Any]) -> dict[str, Any] | None:
    """Return `path`, and `x` and `y` of the last value; None for fewer than two values.

    Values that are None are gaps. The scale begins at 0, so that small changes of a large value look small; if all are
    0 they lie at its bottom.
    """
    known = [value for value in values if isinstance(value, (int, float))]
    if len(known) < 2:  # noqa: PLR2004 (one value shows no course)
        return None
    low, high = min(0, *known), max(0, *known)
    step = (WIDTH - 2 * MARGIN) / (len(values) - 1)

    def place(index: int, value: float) -> tuple[float, float]:
        share = (value - low) / (high - low) if high > low else 0.0
        return round(MARGIN + index * step, 1), round(HEIGHT - MARGIN - share * (HEIGHT - 2 * MARGIN), 1)

    path, pen = [], "M"
    last = (0.0, 0.0)
    for index, value in enumerate(values):
        if not isinstance(value, (int, float)):
            pen = "M"
            continue
        last = place(index, value)
        path.append(f"{pen}{last[0]} {last[1]}")
        pen = "L"
    return {"path": " ".join(path), "x": last[0], "y": last[1], "width": WIDTH, "height": HEIGHT}

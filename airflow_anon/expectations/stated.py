"""What a report states, as far as it can be compared: numbers, and the parameters of privacy models."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from typing import Any, TypeGuard

FILES = {"population", "subset"}
"""Keys of privacy models that name files."""


def is_number(stated: Any) -> TypeGuard[int | float]:
    """Tell whether something is a number that doubles can be compared with; true is none, and JSON has larger ones."""
    is_plain = isinstance(stated, int | float) and not isinstance(stated, bool)
    return is_plain and abs(stated) <= sys.float_info.max


def is_figure(stated: Any, counted: float | None) -> bool:
    """Compare a figure of a privacy model; the rounding error of a sum counts as a distance of zero."""
    if not is_number(stated) or counted is None:
        return stated is None and counted is None
    return math.isclose(stated, counted, rel_tol=1e-9, abs_tol=1e-12)


def is_least_margin(stated: Any, entries: Sequence[Any]) -> bool:
    """Compare the least margin of a report with those of its entries."""
    margins = [entry.get("margin") for entry in entries if isinstance(entry, Mapping)]
    return is_figure(stated, min((left for left in margins if is_number(left)), default=None))


def names_model(stated: Mapping[str, Any], model: Mapping[str, Any]) -> bool:
    """Tell whether an entry of a report is of a model with these parameters; earlier versions left out some."""
    written = {key: stated[key] for key in model if key in stated and key not in FILES}
    return "model" in written and all(
        isinstance(value, bool) == isinstance(model[key], bool) and bool(value == model[key])
        for key, value in written.items()
    )

"""Formats figures for people. A value that a tampered ledger may hold never fails here: it is written as it is."""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Mapping
from typing import Any, TypeGuard

from markupsafe import Markup, escape

from engine import glossary

NONE = "–"  # noqa: RUF001 (the sign for no figure)
MINUS = "−"  # noqa: RUF001 (the minus sign)
_BACKTICKS = re.compile("`([^`]+)`")


def percent(value: Any) -> str:
    """Write a share: `0.0213` is `2.13%`; two significant digits below one percent."""
    if not _is_number(value):
        return _other(value)
    points = 100 * value
    if points == 0 or abs(points) >= 1:
        return _sign(f"{points:.2f}".rstrip("0").rstrip(".") + "%", value)
    return _sign(f"{points:.2g}%" if abs(points) >= 1e-4 else f"{points:.1e}%", value)  # noqa: PLR2004


def loss(value: Any, measure: Any = None) -> str:
    """Write an information loss: a share as percent; that of a measure without a scale, or above 1, as a number."""
    known = glossary()["utility"].get(measure) if isinstance(measure, str) else None
    is_share = known is None or known["is_share"]
    return percent(value) if not _is_number(value) or (is_share and 0 <= value <= 1) else number(value)


def number(value: Any) -> str:
    """Write a count, or a measure to four significant digits."""
    if not _is_number(value):
        return _other(value)
    if float(value).is_integer() and abs(value) < 1e15:  # noqa: PLR2004 (whole numbers are exact up to there)
        return _sign(f"{int(value):,}", value)
    return _sign(f"{value:,.4g}" if abs(value) < 1e4 else f"{value:,.0f}", value)  # noqa: PLR2004


def figure(found: Any, form: str = "number") -> str:
    """Write a figure that may be withheld."""
    if not isinstance(found, Mapping):
        return cell(found, form)
    if found["below"] is not None:
        return _few(found)
    return cell(found["value"], form)


def _few(found: Mapping[str, Any]) -> str:
    bound = number(found["below"])
    return f"those of fewer than {bound} persons" if found.get("persons") else f"fewer than {bound} records"


def signed(found: Any, form: str = "number") -> str:
    """Write a difference, with its sign."""
    value = found["value"] if isinstance(found, Mapping) else found
    if isinstance(found, Mapping) and found["below"] is not None:
        return f"by {_few(found)}"
    if not _is_number(value):
        return _other(value)
    if value == 0:
        return "no change"
    text = f"{100 * value:.3g} points" if form == "percent" else number(value)
    return text.replace("-", MINUS) if value < 0 else f"+{text}"


def moment(value: Any) -> str:
    """Write a moment in UTC: `2026-03-01 02:15:00`."""
    if value is None or value == "":
        return NONE
    try:
        found = dt.datetime.fromisoformat(str(value).replace("Z", "+00:00"))
    except ValueError:
        return str(value)
    if found.tzinfo is not None:
        found = found.astimezone(dt.timezone.utc)
    return f"{found:%Y-%m-%d %H:%M:%S}"


def coded(text: Any) -> Markup:
    """Write a sentence for a page: what stands between backticks, such as a command, as code."""
    return Markup(_BACKTICKS.sub(r"<code>\1</code>", str(escape(text))))  # noqa: S704 (escaped)


def duration(value: Any) -> str:
    """Write seconds: `0.042 s`, `12.3 s`, `3 min 20 s`."""
    if not _is_number(value):
        return _other(value)
    if value < 60:  # noqa: PLR2004 (seconds of a minute)
        return f"{value:.3g} s"
    minutes, seconds = divmod(round(value), 60)
    return f"{minutes:,} min {seconds} s"


def size(value: Any) -> str:
    """Write bytes: `812 bytes`, `4.1 MB`."""
    if not _is_number(value):
        return _other(value)
    for unit in ("bytes", "kB", "MB", "GB"):
        if abs(value) < 1000 or unit == "GB":  # noqa: PLR2004 (decimal units)
            return f"{value:,.0f} {unit}" if unit == "bytes" else f"{value:,.1f} {unit}"
        value /= 1000
    return NONE


def written(value: Any) -> str:
    """Write any plain value of a document: numbers, texts, short lists."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if _is_number(value):
        return number(value)
    if isinstance(value, Mapping):
        return "; ".join(f"{name}: {written(one)}" for name, one in value.items()) or NONE
    if isinstance(value, (list, tuple)):
        return ", ".join(written(one) for one in value) or NONE
    return NONE if value is None else str(value)


def cell(value: Any, form: str) -> str:
    """Write a table cell in the form of its column."""
    forms = {"percent": percent, "number": number, "figure": number, "time": moment, "seconds": duration}
    return forms.get(form, written)(value)


def _is_number(value: Any) -> TypeGuard[float]:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _other(value: Any) -> str:
    return NONE if value is None else str(value)


def _sign(text: str, value: float) -> str:
    return text.replace("-", MINUS, 1) if value < 0 else text

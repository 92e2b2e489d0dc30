"""JSON as everybody reads it the same: what two programs could read in two ways is refused.

A key that occurs twice has another value for each reader, and NaN, Infinity and numbers that no double holds are
numbers to Python alone. Whoever checks a document that others read must not take one of several readings.
"""

from __future__ import annotations

import json
import math
from typing import Any, NoReturn


def strict_json(content: str | bytes) -> Any:
    """Read a JSON document.

    Parameters
    ----------
    content : str or bytes
        Bytes are UTF-8.

    Raises
    ------
    ValueError
        It is no JSON, or nested too deeply to be read, or has a key twice, a number that is not finite, or half of a
        surrogate pair, which no file and no terminal takes. The text holds nothing of the document.
    """
    try:
        text = content if isinstance(content, str) else content.decode("utf-8")
        found = json.loads(text, object_pairs_hook=_unique, parse_float=_finite, parse_constant=_no_number)
        json.dumps(found, ensure_ascii=False).encode("utf-8")
    except RecursionError:
        raise ValueError("is nested too deeply") from None
    except (json.JSONDecodeError, UnicodeError):
        raise ValueError("is no JSON, or no Unicode") from None
    return found


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("has a key twice")
    return found


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError("has a number that is not finite")
    return number


def _no_number(_: str) -> NoReturn:
    raise ValueError("has a number that is not finite")

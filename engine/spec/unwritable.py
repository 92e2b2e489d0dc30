"""What no file, array or database can hold: numbers beyond 64 bits, and halves of surrogate pairs.

In: a document. Out: the places, and why.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from engine.spec.one_line import on_a_line

_LEAST, _MOST = -(2**63), 2**63 - 1
"""Ends of the whole numbers that arrays and databases hold."""


def is_unicode(value: str) -> bool:
    """Tell whether a text can be written as UTF-8: half of a surrogate pair cannot."""
    # a policy names a hundred thousand values
    if value.isascii():
        return True
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def is_writable(part: Any) -> bool:
    """Tell whether files, arrays and databases can hold a document: `unwritable` yields nothing, and takes longer."""
    if isinstance(part, str):
        return is_unicode(part)
    if isinstance(part, int):
        return _LEAST <= part <= _MOST
    if isinstance(part, Mapping):
        return all(not isinstance(key, str) or is_unicode(key) for key in part) and all(map(is_writable, part.values()))
    return not isinstance(part, list | tuple) or all(map(is_writable, part))


def unwritable(part: Any, place: tuple[object, ...]) -> Iterator[tuple[str, str]]:
    """Yield the places of what no file, array or database can hold, and why."""
    if isinstance(part, int) and not _LEAST <= part <= _MOST:
        yield _joined(place), "a whole number must be from -2^63 to 2^63 - 1"
    if isinstance(part, str) and not is_unicode(part):
        yield _joined(place), "has half of a surrogate pair, which is no character; leave it out"
    pairs = part.items() if isinstance(part, Mapping) else enumerate(part) if isinstance(part, list | tuple) else ()
    for key, inner in pairs:
        if isinstance(key, str) and not is_unicode(key):
            yield _joined(place), "has a key with half of a surrogate pair, which is no character; leave it out"
        else:
            yield from unwritable(inner, (*place, key))


def _joined(place: tuple[object, ...]) -> str:
    return ".".join(on_a_line(str(key)) for key in place)

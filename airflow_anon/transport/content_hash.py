"""The hash of what a table holds: its columns and its records, in whatever order and by whatever driver they are read.

Each distinct record is expanded to 1,024 numbers of 32 bits, which are added up modulo 2**32, as often as the record
occurs; the hash is HMAC-SHA-256 of the columns and the sums. Tables with the same sums and other records are as hard to
find as short vectors in a lattice. The sums do not grow with the table. The key is the salt of the release: it stands
beside the table, not in the ledger, so that the ledger alone confirms no guess about what was released.

M. Bellare, D. Micciancio: A new paradigm for collision-free hashing: incrementality at reduced cost. EUROCRYPT 1997,
163-192. K. Lewi, W. Kim, I. Maykov, S. Weis: Securing update propagation with homomorphic hashing. IACR ePrint
2019/227 (LtHash).
"""

from __future__ import annotations

import datetime as dt
import functools
import hashlib
import hmac
import json
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

LANES = 1_024
CACHED = 1 << 16
"""Distinct values of a column whose text is remembered."""


def kinds_of(schema: pa.Schema) -> dict[str, str]:
    """Return the kind of each column of a release's plain schema, by name, in their order."""
    return {field.name: _kind(field.type) for field in schema}


class ContentHash:
    """The hash of a table's content, to which records are added batch by batch.

    Parameters
    ----------
    kinds : mapping
        Kind of each column by name, as of `kinds_of`; cells come in this order.
    salt : str
        That of the release.
    keeps_nan : bool
        Whether the database keeps "not a number"; SQLite takes it for a missing value.
    """

    def __init__(self, kinds: Mapping[str, str], salt: str, *, keeps_nan: bool = True) -> None:
        import numpy as np  # noqa: PLC0415 (heavy imports belong into execute)

        self.kinds = dict(kinds)
        self._salt = salt
        self._texts = [_cached(kind, keeps_nan) for kind in kinds.values()]
        self._sums = np.zeros(LANES, np.uint32)

    def add(self, columns: Sequence[Sequence[Any]]) -> None:
        """Add a batch of records: the cells of each column, shape (columns, records), as a driver gives them."""
        import numpy as np  # noqa: PLC0415 (heavy imports belong into execute)

        texts = [[text(cell) for cell in column] for text, column in zip(self._texts, columns, strict=True)]
        for record, times in Counter(zip(*texts, strict=True)).items():
            wide = hashlib.shake_128(",".join(record).encode()).digest(4 * LANES)
            self._sums += np.frombuffer(wide, "<u4") * np.uint32(times)

    def hexdigest(self) -> str:
        """Return the hash of all records added so far: 64 hexadecimal digits."""
        columns = json.dumps(list(self.kinds.items())).encode()
        told = columns + b"\n" + self._sums.astype("<u4").tobytes()
        return hmac.new(self._salt.encode(), told, "sha256").hexdigest()


def _kind(kind: pa.DataType) -> str:
    import pyarrow as pa  # noqa: PLC0415 (heavy imports belong into execute)

    types = pa.types
    rules = (
        (types.is_integer, "integer"),
        (types.is_floating, "number"),
        (types.is_boolean, "boolean"),
        (types.is_decimal, "decimal"),
        (types.is_date, "date"),
        (types.is_time, "time"),
        (types.is_timestamp, "moment"),
        (types.is_binary, "bytes"),
    )
    return next((name for matches, name in rules if matches(kind)), "text")


def _cached(kind: str, keeps_nan: bool) -> Callable[[Any], str]:
    """Return a function that writes cells of a kind as JSON, the same for equal values, and no other value alike."""
    write = _KINDS.get(kind, _other)

    @functools.lru_cache(maxsize=CACHED, typed=True)
    def text(cell: Any) -> str:
        if cell is None or (not keeps_nan and isinstance(cell, float) and math.isnan(cell)):
            return "null"
        try:
            return write(cell)
        except (ValueError, ArithmeticError):
            return _other(cell)

    def of_any(cell: Any) -> str:
        if isinstance(cell, bytearray | memoryview):
            cell = bytes(cell)
        try:
            return text(cell)
        except TypeError:  # a kind of cell that no release has, such as a list
            return _other(cell)

    return of_any


def _other(cell: Any) -> str:
    """Write a cell of another kind than its column had at the release: equal to no cell of a release."""
    return json.dumps([type(cell).__name__, str(cell)])


def _text(cell: Any) -> str:
    return json.dumps(cell) if isinstance(cell, str) else _other(cell)


def _integer(cell: Any) -> str:
    return str(cell) if type(cell) is int else _other(cell)


def _number(cell: Any) -> str:
    # SQLite and equality take 0.0 and -0.0 for one
    return repr(cell + 0.0) if type(cell) is float else _other(cell)


def _boolean(cell: Any) -> str:
    return json.dumps(bool(cell)) if isinstance(cell, int) and cell in (0, 1) else _other(cell)


def _decimal(cell: Any) -> str:
    if not isinstance(cell, Decimal | str):
        return _other(cell)
    try:
        number = Decimal(cell)
    except InvalidOperation:
        return _other(cell)
    if not number.is_finite():
        return _other(cell)
    written = format(number, "f")
    written = written.rstrip("0").rstrip(".") if "." in written else written
    return "0" if written in {"", "-0"} else written


def _date(cell: Any) -> str:
    found = dt.date.fromisoformat(cell) if isinstance(cell, str) else cell
    return found.isoformat() if type(found) is dt.date else _other(cell)


def _time(cell: Any) -> str:
    found = dt.time.fromisoformat(cell) if isinstance(cell, str) else cell
    return found.isoformat() if isinstance(found, dt.time) else _other(cell)


def _moment(cell: Any) -> str:
    found = dt.datetime.fromisoformat(cell) if isinstance(cell, str) else cell
    if not isinstance(found, dt.datetime):
        return _other(cell)
    # SQLite keeps moments in UTC without saying so
    return (found if found.tzinfo is None else found.astimezone(dt.timezone.utc).replace(tzinfo=None)).isoformat()


def _bytes(cell: Any) -> str:
    return cell.hex() if isinstance(cell, bytes) else _other(cell)


_KINDS: dict[str, Callable[[Any], str]] = {
    "text": _text,
    "integer": _integer,
    "number": _number,
    "boolean": _boolean,
    "decimal": _decimal,
    "date": _date,
    "time": _time,
    "moment": _moment,
    "bytes": _bytes,
}

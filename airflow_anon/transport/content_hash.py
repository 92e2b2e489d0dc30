"""The hash of what a table holds: its columns and its records, in whatever order and by whatever driver they are read.

The hash is HMAC-SHA-256 of the columns and of the digests of all records in ascending order (`RecordDigests`). The key
is the salt of the release: it stands beside the table, not in the ledger, so that the ledger alone confirms no guess
about what was released.
"""

from __future__ import annotations

import datetime as dt
import hmac
import json
import math
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict

from typing_extensions import NotRequired

from airflow_anon.transport.record_digests import RecordDigests
from airflow_anon.transport.record_sums import RecordSums

if TYPE_CHECKING:
    import pyarrow as pa

Coded: TypeAlias = "tuple[Sequence[Any], pa.Array]"
"""Different cells of a column, as a driver gives them, and which of them each record has; null for a missing one."""
Method: TypeAlias = Literal["sorted"] | None
"""How records are hashed: sorted digests; None is that of earlier versions, which wrote no method: sums."""
CACHED = 1 << 16
"""Distinct values of a column whose texts are remembered at a time."""

_MISSING = type(None)


class KindOfColumn(TypedDict):
    """A column, and its kind as of `kinds_of`."""

    name: str
    kind: str


class ContentDocument(TypedDict):
    """What is written of a content.

    Attributes
    ----------
    sha256 : str
        Its hash, 64 hexadecimal digits.
    method : Method
        How its records are hashed; missing in what an earlier version wrote.
    columns : list of KindOfColumn
        In their order.
    """

    sha256: str
    method: NotRequired[Method]
    columns: list[KindOfColumn]


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
    method : Method
        How records are hashed.
    """

    def __init__(
        self, kinds: Mapping[str, str], salt: str, *, keeps_nan: bool = True, method: Method = "sorted"
    ) -> None:
        self.kinds = dict(kinds)
        self.salt = salt
        self.method = method
        self._columns = [_Texts(kind, keeps_nan) for kind in kinds.values()]
        self._records = RecordSums() if method is None else RecordDigests()

    def add(self, columns: Sequence[Sequence[Any]]) -> None:
        """Add a batch of records: the cells of each column, shape (columns, records), as a driver gives them.

        Raises
        ------
        OSError
            The disk of temporary files is full.
        """
        import pyarrow as pa  # noqa: PLC0415 (heavy imports belong into execute)

        texts = [texts.of(cells) for texts, cells in zip(self._columns, columns, strict=True)]
        self._records.add(pa.array(map(",".join, zip(*texts, strict=True)), pa.large_string()))

    def add_coded(self, columns: Sequence[Coded]) -> None:
        """Add a batch of records: of each column its different cells, as a driver gives them, and whose they are.

        Parameters
        ----------
        columns : sequence of pairs of cells and a whole-number array of shape (records,)
            Which of the cells each record has; null for a missing one.

        Raises
        ------
        OSError
            See `add`.
        """
        import pyarrow as pa  # noqa: PLC0415 (heavy imports belong into execute)
        import pyarrow.compute as pc  # noqa: PLC0415 (heavy imports belong into execute)

        texts = [
            pa.array([*known.of(cells), "null"], pa.large_string()).take(places.fill_null(len(cells)))
            for known, (cells, places) in zip(self._columns, columns, strict=True)
        ]
        self._records.add(pc.binary_join_element_wise(*texts, pa.scalar(",", pa.large_string())))

    def hexdigest(self) -> str:
        """Return the hash of all records: 64 hexadecimal digits; none is added afterwards.

        Raises
        ------
        OSError
            See `add`.
        """
        return self._hexdigest

    def document(self) -> ContentDocument:
        """Return what is written of the content, by which a table is compared later; see `hexdigest`."""
        columns: list[KindOfColumn] = [{"name": name, "kind": kind} for name, kind in self.kinds.items()]
        return {"sha256": self.hexdigest(), "method": self.method, "columns": columns}

    @cached_property
    def _hexdigest(self) -> str:
        digest = hmac.new(self.salt.encode(), json.dumps(list(self.kinds.items())).encode() + b"\n", "sha256")
        for part in self._records.parts():
            digest.update(part)
        return digest.hexdigest()


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


class _Texts:
    """Cells of a column as JSON, the same for equal values, and no other value alike."""

    def __init__(self, kind: str, keeps_nan: bool) -> None:
        self._write = _KINDS.get(kind, _other)
        self._keeps_nan = keeps_nan
        self._known: dict[type, _Known] = {}

    def of(self, cells: Sequence[Any]) -> list[str]:
        """Return the text of each cell, cells of one type at once; equal values of different types are told apart."""
        kinds = set(map(type, cells)) - {_MISSING}
        if len(kinds) <= 1:
            return self._of_type(kinds.pop() if kinds else _MISSING, cells)
        return [self._of_type(type(cell), [cell])[0] for cell in cells]

    def _of_type(self, kind: type, cells: Sequence[Any]) -> list[str]:
        """Return the text of each cell of one type, or missing, which equals none of any type."""
        if kind in {bytearray, memoryview}:
            return self._of_type(bytes, [None if cell is None else bytes(cell) for cell in cells])
        known = self._known.get(kind)
        if known is None:
            known = self._known[kind] = _Known(self._text)
        try:
            return list(map(known.__getitem__, cells))
        except TypeError:  # a kind of cell that no release has, such as a list
            return list(map(_other, cells))

    def _text(self, cell: Any) -> str:
        if cell is None or (not self._keeps_nan and isinstance(cell, float) and math.isnan(cell)):
            return "null"
        try:
            return self._write(cell)
        except (ValueError, ArithmeticError):
            return _other(cell)


class _Known(dict[Any, str]):
    """Texts of cells of one type and of missing ones, worked out once each; not more than `CACHED` are kept."""

    def __init__(self, text: Callable[[Any], str]) -> None:
        super().__init__()
        self._text = text

    def __missing__(self, cell: Any) -> str:
        if len(self) >= CACHED:
            self.clear()
        text = self[cell] = self._text(cell)
        return text


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

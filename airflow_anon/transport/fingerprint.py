"""The fingerprint of a source: one number for its columns and records, independent of the order of the records.

HMAC-SHA-256 over column names, column types and the sorted 64-bit hashes of the records, under a secret key (RFC 2104):
without the key nobody can tell whether a guessed record fits a fingerprint. A record's hash starts from a secret number
and mixes those of its cells column by column, with the finalizer of SplitMix64 (Steele, Lea, Flood, Fast splittable
pseudorandom number generators. OOPSLA 2014); text and bytes are hashed by keyed BLAKE2b instead, and so is the text of
decimals of more than 18 digits; shorter ones count as the whole numbers that they are without their point. Two
different tables practically never have the same fingerprint, and without the key nobody can look for such tables.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow.providers.common.compat.sdk import AirflowFailException

from airflow_anon.transport.address import is_local
from airflow_anon.transport.sorted_hashes import SortedHashes

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from airflow.sdk import ObjectStoragePath
    from numpy.typing import NDArray

    from engine import FingerprintKey

_STEP = 0x9E3779B97F4A7C15
_FIRST = 0xBF58476D1CE4E5B9
_SECOND = 0x94D049BB133111EB
_NULL = 0xA0761D6478BD642F
"""The hash of a missing cell."""
_DIGITS = 18
"""Digits of a decimal that fits into 64 bits, at most."""
_REMEMBERED = 1 << 17
"""Distinct texts of a column whose hashes are remembered, at most: a few tens of megabytes."""


def fingerprint(path: str | Path | ObjectStoragePath, key: FingerprintKey) -> str:
    """Return the fingerprint of a Parquet file, local or in object storage, under a key.

    The file is read in batches; memory does not grow with it (`SortedHashes`). A missing value differs from an empty
    text and from 0. Numbers are compared by their bits, so 0.0 and -0.0 differ.

    Returns
    -------
    str
        64 hexadecimal digits.

    Raises
    ------
    AirflowFailException
        A column has lists, structures or other values that are not plain. The message names the column and its type.
    OSError, pyarrow.ArrowException
        The file cannot be read as Parquet.
    """
    with closing(SortedHashes(folder_of(path))) as hashes:
        schema = _hash_file(path, key, hashes.add)
        return digest_of(schema, hashes.ascending(), key)


def folder_of(path: str | Path | ObjectStoragePath) -> Path | None:
    """Return the folder of a local file, None of one in object storage."""
    from airflow.sdk import ObjectStoragePath  # noqa: PLC0415 (heavy imports belong into execute)

    if isinstance(path, ObjectStoragePath):
        return Path(path.path).parent if is_local(path) else None
    return Path(path).parent


def hashes_of(path: str | Path | ObjectStoragePath, key: FingerprintKey) -> tuple[pa.Schema, NDArray[np.uint64]]:
    """Return the schema of a file and the hash of each record, shape (records,), in their order.

    Raises
    ------
    AirflowFailException, OSError, pyarrow.ArrowException
        See `fingerprint`.
    """
    import numpy as np  # noqa: PLC0415 (heavy imports belong into execute)

    found: list[NDArray[np.uint64]] = []
    schema = _hash_file(path, key, found.append)
    return schema, np.concatenate([np.empty(0, "<u8"), *found])


def _hash_file(
    path: str | Path | ObjectStoragePath, key: FingerprintKey, add: Callable[[NDArray[np.uint64]], None]
) -> pa.Schema:
    """Give the hashes of the records of a file in their order; return its schema."""
    import pyarrow.parquet as pq  # noqa: PLC0415 (heavy imports belong into execute)
    from airflow.sdk import ObjectStoragePath  # noqa: PLC0415

    place = path if isinstance(path, ObjectStoragePath) else ObjectStoragePath(str(path))
    with place.fs.open(place.path, "rb") as file, pq.ParquetFile(file) as parquet:
        for batch in parquet.iter_batches():
            add(record_hashes(batch, key))
        return parquet.schema_arrow


def digest_of(schema: pa.Schema, records: Iterable[NDArray[np.uint64]], key: FingerprintKey) -> str:
    """Return the fingerprint of records by their hashes, which come in ascending order, in arrays."""
    # JSON, so that no name can look like two names
    columns = json.dumps([[field.name, str(field.type)] for field in schema]).encode()
    digest = hmac.new(key.derived("table"), columns, "sha256")
    digest.update(b"\n")
    for some in records:
        digest.update(some.data)
    return digest.hexdigest()


class RecordHashes:
    """The hashes of records that are being written, so that their file is not read again for its fingerprint.

    Parameters
    ----------
    folder : Path or None
        Where hashes wait that memory does not hold; see `SortedHashes`.
    """

    def __init__(self, key: FingerprintKey, folder: Path | None) -> None:
        self._key = key
        self._schema: pa.Schema | None = None
        self._is_one_schema = True
        self._found = SortedHashes(folder)
        self._texts: list[dict[bytes, bytes]] = []

    def add(self, batch: pa.RecordBatch) -> None:
        """Hash a batch as it is written.

        Raises
        ------
        AirflowFailException
            See `fingerprint`.
        """
        if self._schema is None:
            self._schema = batch.schema
            self._texts = [{} for _ in batch.schema]
        if batch.schema != self._schema:
            # what was hashed before is stored as another type
            self._is_one_schema = False
            self.close()
        if self._is_one_schema:
            self._found.add(record_hashes(batch, self._key, self._texts))

    def fingerprint(self, stored: pa.Schema) -> str | None:
        """Return the fingerprint of the file, whose schema is `stored`; None if it must be read for that."""
        if not self._is_one_schema or self._schema is None or not self._schema.equals(stored):
            return None
        return digest_of(stored, self._found.ascending(), self._key)

    def close(self) -> None:
        """Forget all hashes."""
        self._found.close()


def record_hashes(
    batch: pa.RecordBatch, key: FingerprintKey, texts: Sequence[dict[bytes, bytes]] | None = None
) -> NDArray[np.uint64]:
    """Return the hash of each record under a key, shape (records,): of its cells in the order of the columns.

    These hashes are not as secret as the key: they are kept where the records are, and nowhere else.

    Parameters
    ----------
    texts : sequence of dict, one per column, optional
        Hashes of texts under the same key from earlier batches; those of this one are added.

    Raises
    ------
    AirflowFailException
        See `fingerprint`.
    """
    import numpy as np  # noqa: PLC0415 (heavy imports belong into execute)

    records = np.full(batch.num_rows, np.frombuffer(key.derived("record")[:8], "<u8")[0], np.uint64)
    secret = key.derived("text")
    known = [{} for _ in batch.schema] if texts is None else texts
    for field, column, of_texts in zip(batch.schema, batch.columns, known, strict=True):
        # each column is mixed with the hash of the columns before it: the same cells in other columns give another hash
        records = _mixed(records ^ _cell_hashes(field.name, column, secret, of_texts))
    return records


def _cell_hashes(name: str, column: pa.Array, secret: bytes, texts: dict[bytes, bytes]) -> NDArray[np.uint64]:
    import numpy as np  # noqa: PLC0415 (heavy imports belong into execute)
    import pyarrow as pa  # noqa: PLC0415

    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_null(column.type):
        return np.full(len(column), _NULL, np.uint64)
    bits = _bits(column)
    hashes = _mixed(bits) if bits is not None else _hashes_of_bytes(name, column, secret, texts)
    if column.null_count:
        hashes[column.is_null().to_numpy(zero_copy_only=False)] = _NULL
    return hashes


def _bits(column: pa.Array) -> NDArray[np.uint64] | None:
    """Return numbers, booleans, days and times as 64 bits (arbitrary for missing ones); None for other types.

    Decimals are whole numbers of their last digit: the type says where the point is.
    """
    import numpy as np  # noqa: PLC0415 (heavy imports belong into execute)
    import pyarrow as pa  # noqa: PLC0415

    types = pa.types
    if types.is_floating(column.type):
        return _filled(column.cast(pa.float64())).view(np.uint64)
    if types.is_decimal128(column.type) and column.type.precision <= _DIGITS:
        return _lower_words(column)
    if types.is_boolean(column.type):
        return _filled(column.cast(pa.uint8())).astype(np.uint64)
    if types.is_date32(column.type) or types.is_time32(column.type):
        column = column.view(pa.int32())
    elif types.is_temporal(column.type) and not types.is_interval(column.type):
        column = column.view(pa.int64())
    if not types.is_integer(column.type):
        return None
    numbers = _filled(column)
    wide = np.uint64 if types.is_unsigned_integer(column.type) else np.int64
    return numbers.astype(wide).view(np.uint64)


def _lower_words(column: pa.Array) -> NDArray[np.uint64]:
    """Return the lower half of each number of 128 bits, which is all of a decimal of few digits, shape (records,)."""
    import numpy as np  # noqa: PLC0415 (heavy imports belong into execute)

    numbers = column.buffers()[1]
    if numbers is None:
        return np.zeros(len(column), np.uint64)
    words = np.frombuffer(numbers, "<u8")[2 * column.offset : 2 * (column.offset + len(column))]
    return words[::2].astype(np.uint64)


def _filled(column: pa.Array) -> NDArray[Any]:
    filled: NDArray[Any] = (column.fill_null(0) if column.null_count else column).to_numpy(zero_copy_only=False)
    return filled


def _hashes_of_bytes(name: str, column: pa.Array, secret: bytes, texts: dict[bytes, bytes]) -> NDArray[np.uint64]:
    """Hash text, bytes and long decimals, each distinct value of the column once; arbitrary for missing ones."""
    import numpy as np  # noqa: PLC0415 (heavy imports belong into execute)
    import pyarrow as pa  # noqa: PLC0415

    types = pa.types
    if types.is_decimal(column.type):
        # the text has all digits of the scale
        column = column.cast(pa.string())
    try:
        plain = column.cast(pa.large_binary())
    except pa.ArrowException:
        raise AirflowFailException(
            f"column {name!r}: has the type {column.type}, which is no plain value; cast it to text in a query"
        ) from None
    encoded = plain.dictionary_encode()
    if len(texts) + len(encoded.dictionary) > _REMEMBERED:
        texts.clear()
    digests = [texts.get(value) or _digest(value, secret, texts) for value in encoded.dictionary.to_pylist()]
    # a column without any value still needs something at index 0
    hashes = np.frombuffer(b"".join(digests) or bytes(8), "<u8").astype(np.uint64)
    return hashes[_filled(encoded.indices)]


def _digest(value: bytes, secret: bytes, texts: dict[bytes, bytes]) -> bytes:
    digest = hashlib.blake2b(value, digest_size=8, key=secret).digest()
    if len(texts) < _REMEMBERED:
        texts[value] = digest
    return digest


def _mixed(bits: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Spread 64 bits over 64 bits, one to one; arithmetic is modulo 2**64."""
    import numpy as np  # noqa: PLC0415 (heavy imports belong into execute)

    mixed = bits + np.uint64(_STEP)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(_FIRST)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(_SECOND)
    return mixed ^ (mixed >> np.uint64(31))

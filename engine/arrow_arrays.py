"""Arrays of Arrow from those of NumPy and from texts, without pandas.

`pyarrow.array`, `pyarrow.scalar` and functions that are given values of Python ask whether these are of pandas, and
import it for that: as long as it takes to de-identify a small table. What a run does with every table goes by these.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray


def of_numbers(
    values: NDArray[np.signedinteger] | NDArray[np.unsignedinteger], missing: NDArray[np.bool_] | None = None
) -> pa.Array:
    """Return whole numbers, shape (n,), as an array of the same type, which shares their memory.

    Parameters
    ----------
    missing : bool, shape (n,), optional
        Which of them are none.
    """
    known = None
    if missing is not None and missing.any():
        known = pa.py_buffer(np.packbits(~missing, bitorder="little"))
    kind = pa.from_numpy_dtype(values.dtype)
    return pa.Array.from_buffers(kind, values.size, [known, pa.py_buffer(np.ascontiguousarray(values))])


def of_flags(flags: NDArray[np.bool_]) -> pa.BooleanArray:
    """Return flags, shape (n,), as an array."""
    bits = pa.py_buffer(np.packbits(flags, bitorder="little"))
    return pa.Array.from_buffers(pa.bool_(), flags.size, [None, bits])


def numbers_of(array: pa.Array) -> NDArray[Any]:
    """Return an array of whole numbers without a missing one, shape (n,), which shares its memory; not writable."""
    kind = np.dtype(array.type.to_pandas_dtype())
    if not len(array):
        return np.empty(0, kind)
    # a buffer may be longer
    return np.frombuffer(array.buffers()[1], kind, array.offset + len(array))[array.offset :]


def flags_of(array: pa.BooleanArray) -> NDArray[np.bool_]:
    """Return flags without a missing one, shape (n,)."""
    bits = np.frombuffer(array.buffers()[1] or b"", np.uint8)
    end = array.offset + len(array)
    return np.unpackbits(bits, count=end, bitorder="little")[array.offset :].view(np.bool_)


def of_texts(texts: Iterable[str | None]) -> pa.StringArray:
    """Return texts as an array; None is a missing one."""
    builder = pa.lib.StringBuilder()
    builder.append_values(texts)
    return builder.finish()


def filled(numbers: pa.Array, number: int) -> pa.Array:
    """Return an array of whole numbers with a number of its type for the missing ones."""
    if not numbers.null_count:
        return numbers
    (one,) = of_numbers(np.array([number], numbers.type.to_pandas_dtype()))
    return pc.coalesce(numbers, one)


def filled_texts(texts: pa.Array, text: str) -> pa.Array:
    """Return an array of texts with a text for the missing ones."""
    if not texts.null_count:
        return texts
    (one,) = of_texts([text]).cast(texts.type)
    return pc.coalesce(texts, one)

"""Quotes of a CSV file that are not closed: what follows them would be read as one cell, whole records among it.

In: the last cell that was read of a file. Out: whether the file ends as that cell is written.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from engine.tables.sources.csv_form import CsvForm


def ends_with(path: Path, form: CsvForm, cell: str | bytes) -> bool:
    """Return whether a file ends with a cell, in quotes that are closed, or without any.

    Of a quote that is not closed all that follows is one cell, up to the end of the file.

    Parameters
    ----------
    cell : str or bytes
        Text, or its bytes in UTF-8, which may be wrong ones.
    """
    cell = cell.decode("utf-8", "surrogateescape") if isinstance(cell, bytes) else cell
    # a cell with line breaks stands in quotes alone
    forms = ['"' + cell.replace('"', '""') + '"', *([] if "\n" in cell or "\r" in cell else [cell])]
    *breaks, delimiter = _written(path, form, "\n", "\r", form.delimiter)
    ends = _written(path, form, *forms)
    tail = _tail(path, max(map(len, ends)) + 64)
    while line_break := next((one for one in breaks if tail.endswith(one)), b""):
        tail = tail.removesuffix(line_break)
    return any(tail.endswith(end) and tail.removesuffix(end).endswith((delimiter, *breaks)) for end in ends)


def _written(path: Path, form: CsvForm, *texts: str) -> list[bytes]:
    """Write texts in the encoding of a file, without the mark that begins it."""
    name = form.encoding
    if name in {"utf-16", "utf-32"}:
        with path.open("rb") as file:
            first = file.read(4)
        is_big = first.startswith((b"\xfe\xff", b"\x00\x00\xfe\xff"))
        name += "-be" if is_big else "-le"
    mark = len("".encode(name))
    return [text.encode(name, "surrogateescape")[mark:] for text in texts]


def _tail(path: Path, length: int) -> bytes:
    """Return the last bytes of a file, of what it holds if it is compressed."""
    if path.suffix.lower() != ".gz":
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - length))
            return file.read()
    tail = b""
    with pa.input_stream(path, compression="gzip") as stream:
        while block := stream.read(max(length, 1 << 24)):
            tail = (tail + block)[-length:]
    return tail

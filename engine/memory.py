"""The memory of this process, against the `memory_limit` of a job.

In: the limit, and what the next step will take beyond what the process holds. Out: nothing, or what both would be if
that is more. What it holds is what the kernel says; where the kernel does not tell (other systems than Linux), it is
taken for what a process holds that counts nothing.
"""

from __future__ import annotations

import os
from pathlib import Path

from engine.errors import InvalidJob
from engine.message import Message

PROCESS = 400 * 10**6
"""Bytes of a process that counts nothing: the interpreter, libraries, compiled kernels, a batch."""
MEGABYTE = 10**6
_STATUS = Path("/proc/self/statm")


def resident() -> int:
    """Return the bytes of memory that this process holds."""
    try:
        pages = _STATUS.read_text(encoding="ascii").split()[1]
    except OSError:
        return PROCESS
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def needed_beyond(limit: int | None, growth: int) -> int | None:
    """Return the bytes that the process would hold after it grows, if they are more than the limit; else None."""
    if limit is None or resident() + growth <= limit:
        return None
    import pyarrow as pa  # noqa: PLC0415 (job files parse without it)

    # what Arrow keeps of batches that are gone
    pa.default_memory_pool().release_unused()
    needed = resident() + growth
    return needed if needed > limit else None


def too_little(limit: int, why: Message, needed: int, fix: Message) -> InvalidJob:
    """Say that the limit is too small, why, and what to do."""
    return InvalidJob(
        Message.of(
            "memory_limit: {limit} MB are too few: {why}, for which a run needs {needed} MB; {fix}",
            limit=limit // MEGABYTE,
            why=why,
            needed=-(-needed // MEGABYTE),
            fix=fix,
        )
    )


def refuse_beyond(limit: int | None, growth: int, why: Message, fix: Message) -> None:
    """Raise InvalidJob if the process would hold more than the limit after it grows."""
    needed = needed_beyond(limit, growth)
    if limit is not None and needed is not None:
        raise too_little(limit, why, needed, fix)

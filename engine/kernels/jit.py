"""How kernels are compiled: cached on disk if possible, without the interpreter's lock."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

Kernel = TypeVar("Kernel", bound=Callable[..., Any])


_uncached: list[str] = []


def kernels_are_kept() -> bool:
    """Return whether compiled kernels are kept on disk; if not, every process compiles them again."""
    return not _uncached


def kernel(function: Kernel) -> Kernel:
    """Compile `function` on first call; without a writable cache folder it is compiled in every process."""
    try:
        return cast("Kernel", numba.njit(cache=True, nogil=True)(function))
    except RuntimeError:
        _uncached.append(function.__name__)
        return cast("Kernel", numba.njit(nogil=True)(function))


def inlined(function: Kernel) -> Kernel:
    """Compile a helper that only kernels call."""
    return cast("Kernel", numba.njit(inline="always")(function))

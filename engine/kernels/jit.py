"""How kernels are compiled: cached on disk if possible, without the interpreter's lock.

Hot loops look up by unsigned numbers. A negative one counts from the end, as in Python, and numba looks at each number
that has a sign whether it is one, which takes up to a third of such a loop.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

Kernel = TypeVar("Kernel", bound=Callable[..., Any])


def _load_arrays_without_scipy() -> None:
    """Load numba's functions on arrays, which ask scipy for its BLAS: no kernel multiplies matrices.

    Loading scipy takes about as long as loading numba. Code of others that compiles `np.dot` asks again, and gets it.
    """
    blas = "scipy.linalg.cython_blas"
    if blas in sys.modules:
        return
    sys.modules[blas] = cast("Any", None)  # an import that finds None there ends with ImportError
    try:
        importlib.import_module("numba.np.arraymath")
    finally:
        del sys.modules[blas]


_load_arrays_without_scipy()

_uncached: list[str] = []


def kernels_are_kept() -> bool:
    """Return whether compiled kernels are kept on disk; if not, every process compiles them again."""
    return not _uncached


def kernel(function: Kernel) -> Kernel:
    """Compile `function` on first call; without a writable cache folder it is compiled in every process."""
    try:
        compiled = numba.njit(cache=True, nogil=True)(function)
    except RuntimeError:
        _uncached.append(function.__name__)
        return cast("Kernel", numba.njit(nogil=True)(function))
    cache: Any = vars(compiled)["_cache"]  # numba has no public way to it
    _forgets_what_it_cannot_read(cache)
    return cast("Kernel", compiled)


def _forgets_what_it_cannot_read(cache: Any) -> None:
    """Let a cache be empty if it names a type that the code no longer has.

    Numba reads a whole index before it compares its age with the code, so an upgrade that renames the type of an
    argument would end every later run with an AttributeError.
    """
    read = cache.load_overload

    def load_overload(signature: Any, target: Any) -> Any:
        try:
            return read(signature, target)
        except AttributeError:
            cache.flush()
            return None

    cache.load_overload = load_overload


def inlined(function: Kernel) -> Kernel:
    """Compile a helper that only kernels call."""
    return cast("Kernel", numba.njit(inline="always")(function))

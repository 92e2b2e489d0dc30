"""The search algorithms a job can name. Importing this imports none of them: job files are read in schedulers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engine.search.algorithm import Algorithm


def _optimal() -> Algorithm:
    from engine.search.optimal import optimal  # noqa: PLC0415 (compiles kernels)

    return optimal


ALGORITHMS: Mapping[str, Callable[[], Algorithm]] = {"optimal": _optimal}

"""Which tests share a process, and in which order the processes of `make test` take them.

In: the collected tests. Out: the same ones, slow files first, so that the last ones to end are short and both processes
end together. The tests of a file stay together, as they share what its fixtures make; so do those of all files with the
mark `xdist_group` of one name.
"""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from xdist.scheduler import LoadGroupScheduling

SLOW = ("browser/test_audit.py",)
"""Files below `tests/`, the slowest first: what takes about ten seconds of two quiet cores or more."""


class Scheduling(LoadGroupScheduling):
    """Gives a process the next group of tests, or the next file, in the order of the collection."""

    def _split_scope(self, nodeid: str) -> str:
        group = super()._split_scope(nodeid)
        return nodeid.split("::", maxsplit=1)[0] if group == nodeid else group


def slow_first(items: Iterable[pytest.Item]) -> list[pytest.Item]:
    """Order tests by their group's slowest file; what is not listed follows as it was collected."""
    items = list(items)
    first: dict[str, int] = {}
    for item in items:
        group = _group(item)
        first[group] = min(first.get(group, len(SLOW)), _rank(item))
    return sorted(items, key=lambda item: first[_group(item)])


def _group(item: pytest.Item) -> str:
    mark = item.get_closest_marker("xdist_group")
    return item.location[0] if mark is None else f"@{mark.args[0]}"


def _rank(item: pytest.Item) -> int:
    path = item.path.as_posix()
    return next((rank for rank, file in enumerate(SLOW) if path.endswith(f"/tests/{file}")), len(SLOW))

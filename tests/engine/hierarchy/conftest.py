"""What every builder must hold, and a way to build one as a job does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from engine.hierarchy.builder import HierarchyBuilder, Row
from engine.hierarchy.hierarchy import Hierarchy
from engine.hierarchy.policy_groups import AnyHierarchy
from engine.spec import Spec, parse

Build = Callable[..., HierarchyBuilder]
Rows = Callable[[HierarchyBuilder, Sequence[str]], list[Row]]


class _Holder(Spec):
    hierarchy: AnyHierarchy


@pytest.fixture(scope="session")
def build() -> Build:
    """Parse a builder from its keys as a job would; it survives being written to the release and read again."""

    def make(**keys: Any) -> HierarchyBuilder:
        holder = parse(_Holder, {"hierarchy": keys}, "job")
        again = parse(_Holder, holder.model_dump(mode="json", exclude_none=True), "job")
        assert again == holder
        return again.hierarchy

    return make


@pytest.fixture(scope="session")
def rows_of() -> Rows:
    """Give the rows of a builder after checking its contract on them."""

    def check(builder: HierarchyBuilder, values: Sequence[str]) -> list[Row]:
        rows = builder.rows(values)
        assert {len(row) for row in rows} <= {builder.level_count}
        assert len({row[0] for row in rows}) == len(rows), "one row for each leaf"
        assert all(row[-1] == "*" for row in rows)
        assert all(builder.is_label(label, level) for row in rows for level, label in enumerate(row))
        if rows:
            Hierarchy("column", rows)  # refuses a level that is no function of the one below
        return rows

    return check

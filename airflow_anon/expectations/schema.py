"""The schema of a release: names, order and types."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

import pyarrow as pa

from airflow_anon.expectations.base import ReleaseExpectation
from engine import Finding

if TYPE_CHECKING:
    from collections.abc import Mapping

    from airflow_anon.expectations.class_table import ClassTable


class ExpectDeclaredSchema(ReleaseExpectation):
    """The columns are in the declared order; quasi-identifiers are text, the others have the type of the source.

    Parameters
    ----------
    columns : list of str
        All columns, in order.
    quasi_identifiers : list of str
    source_types : dict of str to str
        Arrow type, as text, of the columns whose source is known; the types of others are not compared.
    """

    columns: list[str]
    quasi_identifiers: list[str]
    source_types: dict[str, str]

    success_keys: ClassVar[tuple[str, ...]] = ("columns", "quasi_identifiers", "source_types")
    template: ClassVar[str] = (
        "The columns must be, in this order: $columns. Text must be: $quasi_identifiers. Types as in the source: "
        "$source_types."
    )

    def judge(self, release: ClassTable) -> Finding:
        """Compare names and types."""
        problems = [
            *self._order(release.schema.names),
            *self._types(dict(zip(release.schema.names, release.schema.types, strict=True))),
        ]
        return Finding(
            self.expectation_type,
            holds=not problems,
            observed=len(problems),
            required=0,
            column=None,
            message="; ".join(problems) or "names, order and types are as declared",
        )

    def _order(self, names: list[str]) -> Iterator[str]:
        there = set(names)
        missing = [name for name in self.columns if name not in there]
        if missing:
            yield f"missing columns: {', '.join(missing)}"
        elif names != self.columns:
            yield f"the columns are not in the declared order, {', '.join(self.columns)}, or there are others"

    def _types(self, types: Mapping[str, pa.DataType]) -> Iterator[str]:
        for name in self.columns:
            kind = types.get(name)
            if kind is None:
                continue
            if name in self.quasi_identifiers:
                if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
                    yield f"column {name!r} is {kind}, quasi-identifiers are text"
            elif str(kind) != self.source_types.get(name, str(kind)):
                yield f"column {name!r} is {kind}, in the source it is {self.source_types[name]}"

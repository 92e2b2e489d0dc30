"""The columns of a release: those the job releases, and never an identifying one."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from airflow_anon.expectations.base import ReleaseExpectation
from engine import Finding

if TYPE_CHECKING:
    from airflow_anon.expectations.class_table import ClassTable


class ExpectOnlyReleasedColumns(ReleaseExpectation):
    """There is no identifying column, in upper or lower case, and no column that the job does not release.

    Parameters
    ----------
    identifying : list of str
        Columns that must not leave.
    released : list of str
        Columns that may.
    """

    identifying: list[str]
    released: list[str]

    success_keys: ClassVar[tuple[str, ...]] = ("identifying", "released")
    template: ClassVar[str] = "No column but $released may be present, and none of: $identifying."

    def judge(self, release: ClassTable) -> Finding:
        """Compare the names."""
        forbidden = {name.casefold() for name in self.identifying}
        identifying = [name for name in release.schema.names if name.casefold() in forbidden]
        allowed = {*self.released, *identifying}
        foreign = [name for name in release.schema.names if name not in allowed]
        problems = [f"identifying: {', '.join(identifying)}"] if identifying else []
        if foreign:
            # no names: a file may hold anything there
            problems.append(f"columns that the job does not release: {len(foreign)}")
        return Finding(
            self.expectation_type,
            holds=not problems,
            observed=len(identifying) + len(foreign),
            required=0,
            column=None,
            message="; ".join(problems) or "no other column is present",
        )

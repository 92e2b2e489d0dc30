"""The columns that a check looks at: those of the table that the job names, and what is wrong with the others.

In: a job and the columns of its table. Out: roles for the reading, and problems by the names of columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from airflow_anon.transport.relation import Relation, one_select, split_table, unnamed_columns
from engine import Message

if TYPE_CHECKING:
    from engine import Job


def relation_to_check(table: str | None, query: str | None) -> Relation:
    """Return a table or query whose templates are rendered.

    Raises
    ------
    AirflowFailException
        It is no name of a table, or not one SELECT statement.
    """
    relation = Relation(table=table, query=query)
    if relation.table is not None:
        split_table(relation.table)
    else:
        one_select(relation.query or "")
    return relation


def present_roles(
    job: Job, present: Sequence[str], *, with_persons: bool = True
) -> tuple[dict[str, str], list[Message]]:
    """Return the roles of the columns that are there, for the reading, and what is wrong with the job's columns.

    Parameters
    ----------
    with_persons : bool
        Whether columns that identify are read where the job needs them; else a warehouse knows them by itself.
    """
    read: set[str | None] = set()
    if with_persons:
        read = {job.subject, *(job.pseudonymized if job.subset is None else job.identifying)}
    declared = {name: one.role for name, one in job.attributes.items() if name in present}
    roles: dict[str, str] = {name: "insensitive" if name in read else role for name, role in declared.items()}
    unnamed = sorted(set(present) - set(declared))
    problems = []
    if unnamed:
        gone = [name for name in job.attributes if name not in present]
        problems.append(Message(f"source: {unnamed_columns(unnamed, gone)}"))
    missing = [name for name in job.released if name not in present]
    if missing and not declared:
        problems.append(Message(f"source: has none of the job's columns, such as {missing[0]!r}"))
    return {**roles, **dict.fromkeys(unnamed, "identifying")}, problems


def repeats_to_ask(job: Job) -> list[str]:
    """Return the identifying columns that are asked whether they repeat; none if the job says what it counts."""
    return [] if job.unit is not None or job.subject is not None else list(job.identifying)

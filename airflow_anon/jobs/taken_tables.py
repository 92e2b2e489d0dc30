"""Which SQL tables the jobs read so far release into: a table holds the releases of one job."""

from __future__ import annotations

from airflow_anon.transport.relation import table_key
from engine import InvalidJob, Job


class TakenTables:
    """The tables of jobs, and whose they are.

    The schema that a database takes by default, and names that it takes for the same, are only known there.
    """

    def __init__(self) -> None:
        self._owners: dict[tuple[str, ...], str] = {}

    def refuse(self, job: Job) -> None:
        """Refuse a checked job whose table is taken.

        Raises
        ------
        InvalidJob
            It is the table of another one.
        """
        key = _key(job)
        if key in self._owners:
            raise InvalidJob(
                f"output.table: {job.output and job.output.table} is the table of {self._owners[key]} too, and a table "
                "holds the releases of one job; name another table in one of the two"
            )

    def take(self, job: Job, owner: str) -> None:
        """Remember the table of a job, unless it has none.

        Parameters
        ----------
        owner : str
            What the error calls it.

        Raises
        ------
        InvalidJob
            As `refuse`.
        """
        self.refuse(job)
        key = _key(job)
        if key is not None:
            self._owners[key] = owner


def _key(job: Job) -> tuple[str, ...] | None:
    output = job.output
    return None if output is None or output.table is None else table_key(str(output.conn_id), output.table)

"""What a run is given beside its job, its source and its folder; each step takes of it what it needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from engine.pipeline.secrets_of_run import Secrets
from engine.search.problem import Progress


@dataclass(frozen=True)
class Given:
    """See `engine.run`.

    Attributes
    ----------
    secrets : Secrets
        All keys of the run.
    repeats : mapping of column to bool or None, or None
        Of identifying columns that stay in the warehouse: whether several records have the same value.
    progress : callable or None
        Receives plain figures of the running search.
    release_id : str or None
        The id of the release in its share.
    keep_facts : bool
        Whether tonight's table is remembered, of a job that looks for drift.
    """

    secrets: Secrets
    repeats: Mapping[str, bool | None] | None
    progress: Progress | None
    release_id: str | None
    keep_facts: bool

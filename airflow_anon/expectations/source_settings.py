"""Where the population and the source of a job are, and how their values are read: what expectations are given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from airflow_anon.expectations.lacked_columns import having_tables
from airflow_anon.expectations.transformed import coding_settings

if TYPE_CHECKING:
    from engine import Job

READ = ("role", "hierarchy", "missing", "unseen")


def population_of(
    job: Job,
    attributes: Mapping[str, Mapping[str, Any]],
    levels: Mapping[str, int],
    source: str | None,
    allowed: Mapping[str, Sequence[int]] | None = None,
) -> dict[str, Any]:
    """Return where the population of a job is and how its values are read; empty for a job without one.

    Parameters
    ----------
    attributes : mapping of quasi-identifier to its entry of the job file
    levels : mapping of quasi-identifier to int
        Those of the release; empty of a local recoding.
    source : str, optional
        Path of the extracted table, which is the population if a subset of it is released.
    allowed : mapping of quasi-identifier to its levels, optional
        Of a local recoding, whose labels are of any of them.
    """
    if job.subset is None and job.population is None:
        return {}
    found = _read_as(job, attributes, levels, source if job.subset is not None else job.population)
    own_levels = None if allowed is None else {name: list(own) for name, own in allowed.items()}
    return {**found, "allowed": own_levels, "weighted": job.subset is None}


def source_of(
    job: Job,
    attributes: Mapping[str, Mapping[str, Any]],
    levels: Mapping[str, int],
    source: str | None,
    shift: Mapping[str, Any] | None = None,
    sample: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return where the source of a job is and how its values are read, in the form of `population_of`.

    Parameters
    ----------
    shift : mapping, optional
        As of `shift_settings`: `read_table` then gives the dates as they were shifted.
    sample : mapping, optional
        `fraction` and `key` (hexadecimal): `people_by_labels` then counts the records that the key draws.
    """
    found = _read_as(job, attributes, levels, source)
    changed = {} if shift is None else {"shift": dict(shift)}
    changed |= {"coding": coding_settings(job)} if job.coded else {}
    changed |= {} if sample is None else {"sample": dict(sample)}
    return {**found, "people": {**found["people"], **changed}}


def _read_as(
    job: Job, attributes: Mapping[str, Mapping[str, Any]], levels: Mapping[str, int], path: str | None
) -> dict[str, Any]:
    form = job.csv_form._asdict()
    return {
        "people": {"path": path, **form},
        "subset": {} if job.subset is None else {"path": job.subset, **form},
        "attributes": {name: {key: entry[key] for key in READ if key in entry} for name, entry in attributes.items()},
        "levels": dict(levels),
        "having": having_tables(job),
    }


def public_population(population: Mapping[str, Any]) -> dict[str, Any]:
    """Return its published part: names of files, without folders and hierarchies."""
    if not population:
        return {}
    if population["subset"]:
        return {"people": "source", "subset": PurePath(population["subset"]["path"]).name}
    return {"people": PurePath(population["people"]["path"]).name}

"""Jobs with the number of a policy's groups in their place: groups may name values that a release hides."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from airflow_anon.ledger.form_parts import WrittenJob


def without_groups(before: WrittenJob, after: WrittenJob) -> tuple[Any, Any]:
    """Return two jobs with the number of a policy's groups per attribute in place of the groups.

    If the groups differ, the two texts do too: `12 groups` and `12 other groups`.
    """
    then, now = _groups(before), _groups(after)
    counted = {name: _text(groups) for name, groups in then.items()}
    compared = {
        name: _text(groups, "other " if groups != then.get(name, groups) else "") for name, groups in now.items()
    }
    return _with(before.document, counted), _with(after.document, compared)


def _text(groups: list[Any], other: str = "") -> str:
    return f"{len(groups)} {other}{'group' if len(groups) == 1 else 'groups'}"


def _groups(job: WrittenJob) -> dict[str, list[Any]]:
    hierarchies = {name: one.hierarchy for name, one in job.attributes.items()}
    return {
        name: list(found["groups"])
        for name, found in hierarchies.items()
        if isinstance(found, Mapping) and found.get("builder") == "policy"
    }


def _with(job: Any, texts: Mapping[str, str]) -> Any:
    if not texts:
        return job
    told = {
        name: {**one, "hierarchy": {**one["hierarchy"], "groups": texts[name]}} if name in texts else one
        for name, one in job["attributes"].items()
    }
    return {**job, "attributes": told}

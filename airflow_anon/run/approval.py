"""The answer of a person to a release that waits: what is recorded of it, and whether it counts.

In: the section `approval` of a job, and what Airflow recorded of an answer. Out: the decision, plain JSON, which the
task that asks leaves in its XCom `approval` and the ledger keeps (docs/ledger.md), or why the answer does not count.

Both the task that asks and the one that publishes judge the answer by what was recorded of it: that a page offers a
button to some users only proves nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, TypedDict

if TYPE_CHECKING:
    from engine import Job

XCOM_KEY = "approval"
CANDIDATE_KEY = "candidate"
"""XCom of the task that asks: the document of the release that waits."""
ROLES_KEY = "roles"
"""XCom of the task that asks: roles of who answered on the page of the release, which no task could look up."""
APPROVE, REFUSE = "Approve", "Refuse"
ROLE = "role:"
"""What stands before the name of a role among those who may approve."""
LONGEST_COMMENT = 1000
"""Characters of a comment that are kept."""

Answer = Literal["approved", "refused", "expired", "not-needed"]


class Disregarded(TypedDict):
    """An answer that did not count: whose, when, and why not."""

    user: str
    at: str | None
    why: str


class Decision(TypedDict):
    """What is recorded of an approval; `answer` is None while the release waits, and if the run was ended meanwhile.

    `why` says why it waits or need not. `user` and `user_id` are of who answered, as Airflow knows them; `role` is the
    one by which they may. Moments are ISO 8601, in UTC. `manifest_sha256` is of the staged release that was judged.
    """

    when: str
    why: str
    answer: Answer | None
    user: str | None
    user_id: str | None
    role: str | None
    comment: str | None
    asked_at: str | None
    expires_at: str | None
    answered_at: str | None
    manifest_sha256: str
    disregarded: list[Disregarded]


def objection(
    job: Job, user: Mapping[str, Any] | None, started_by: str | None, *, roles: tuple[str, ...] = ()
) -> str | None:
    """Return why an answer of this user does not count; None if it does.

    Parameters
    ----------
    job : Job
        With a section `approval`.
    user : mapping or None
        `id` and `name`, as Airflow recorded them.
    started_by : str or None
        The user who started the run; None if nobody did, as on a schedule.
    roles : tuple of str
        Roles of the user, where they are known.
    """
    if user is None or not user.get("id"):
        return "Airflow did not record who answered"
    names = {str(user["id"]), str(user.get("name") or user["id"])}
    if started_by is not None and started_by.casefold() in {name.casefold() for name in names}:
        return "whoever started a run may not answer for its release"
    if names.isdisjoint(_users(job)) and role_of(job, roles) is None:
        return f"only {' or '.join(approvers(job))} may answer"
    return None


def refused_without(job: Job, approval: Any, started_by: str | None, manifest_sha256: str) -> str | None:
    """Return why a release may not be published with this decision; None if it may, also for a job that asks nobody.

    Parameters
    ----------
    job : Job
    approval : Any
        What the task that asks returned.
    started_by : str or None
        The user who started the run.
    manifest_sha256 : str
        Hash of the manifest of the release that would be published.
    """
    if job.approval is None:
        return None
    if not isinstance(approval, Mapping):
        return (
            "the job's releases need an approval, and this one has none, for example because the task that asks was "
            "marked as successful by hand; clear the whole run"
        )
    if approval.get("manifest_sha256") != manifest_sha256:
        return "another release than this one was approved; clear the whole run"
    if approval.get("answer") == "not-needed" and job.approval.when != "always":
        return None
    if approval.get("answer") != "approved":
        return "the job's releases need an approval, and nobody gave it; clear the whole run"
    roles = (str(approval["role"]),) if approval.get("role") else ()
    user = {"id": approval.get("user_id"), "name": approval.get("user")}
    why = objection(job, user, started_by, roles=roles)
    return why and f"the approval does not count: {why}; clear the whole run"


def approvers(job: Job) -> tuple[str, ...]:
    """Return who may answer, in words."""
    settings = job.approval
    assert settings is not None  # noqa: S101 (the caller's job has one)
    return tuple(
        f"users with the role {one.removeprefix(ROLE)}" if one.startswith(ROLE) else one for one in settings.by
    )


def role_of(job: Job, roles: tuple[str, ...]) -> str | None:
    """Return the first of the job's roles that a user has; None if there is none."""
    settings = job.approval
    assert settings is not None  # noqa: S101 (the caller's job has one)
    named = (one.removeprefix(ROLE) for one in settings.by if one.startswith(ROLE))
    return next((role for role in named if role in roles), None)


def comment_of(given: Any) -> str | None:
    """Return a comment as it is kept: one line per line, of printable characters, not too long; None if it is empty."""
    if not isinstance(given, str):
        return None
    lines = ("".join(letter if letter.isprintable() else " " for letter in line) for line in given.splitlines())
    return "\n".join(lines).strip()[:LONGEST_COMMENT] or None


def _users(job: Job) -> set[str]:
    settings = job.approval
    assert settings is not None  # noqa: S101 (the caller's job has one)
    return {one for one in settings.by if not one.startswith(ROLE)}

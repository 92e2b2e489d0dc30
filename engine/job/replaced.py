"""A job whose identifiers become pseudonyms, or whose dates are shifted: what must not go with them.

In: a job. Out: nothing, or why it is refused. A pseudonym joins the rows that share it, and a shifted date keeps its
distance to others: what no criterion of the job covers must be accepted by name.
"""

from __future__ import annotations

from typing import Any

LINKED_ROWS = "linked-rows"
"""The value of `accept` of a pseudonymized column whose values join rows of the release."""
ALL_ROWS = "all-rows"
"""The value of `knows` by which the criteria cover an attacker who can join the rows of a person."""


def check_replaced(job: Any) -> None:
    """Refuse what a `Job` must not say of pseudonyms and shifted dates.

    Raises
    ------
    ValueError
        Names the keys and the fix.
    """
    _check_shift(job)
    _check_linked_rows(job)


def _check_shift(job: Any) -> None:
    if not job.shifted:
        if job.shift is not None:
            raise ValueError("shift: no column has action: shift; give it to the columns of dates, or remove shift")
        return
    named = ", ".join(map(repr, job.shifted))
    if job.shift is None:
        raise ValueError(
            f"shift: is missing, and the action of {named} is shift; say how far dates move: shift: {{days: 365}}"
        )
    if job.subject is None:
        raise ValueError(
            f"shift: the dates of a person move by the same days, and the job does not say whose {named} are; name the "
            "identifying column of persons as subject"
        )
    strict = [name for name in job.shifted if job.attributes[name].nulls == "error"]
    if strict and job.shift.ages_over_89 == "leave-out":
        raise ValueError(
            f"attributes: nulls: error of {', '.join(map(repr, strict))} does not go with action: shift, by which "
            "dates that tell an age over 89 are missing; remove nulls, or set shift.ages_over_89: keep"
        )
    lasting = [name for name in job.pseudonymized if job.attributes[name].is_persistent]
    if lasting and not job.shift.is_persistent:
        raise ValueError(
            f"shift: has another key for each release, and the pseudonyms of {', '.join(map(repr, lasting))} stay: the "
            "middle of the dates that a record has over releases is near its true one; name a key of shift as well"
        )


def _check_linked_rows(job: Any) -> None:
    accepted = {name for name in job.pseudonymized if job.attributes[name].accept == LINKED_ROWS}
    if job.subject in job.pseudonymized and job.subject not in accepted and job.knows != ALL_ROWS:
        raise ValueError(
            f"attributes.{job.subject}.action: a pseudonym of the subject joins all released rows of a person, and the "
            f"criteria protect who is known by some of them; set knows: {ALL_ROWS}, leave action out, or say accept: "
            f"{LINKED_ROWS} there if that is meant"
        )
    families = [job.family(name) for name in job.pseudonymized]
    places = {(job.family(name), *_key_of(job.attributes[name])) for name in job.pseudonymized}
    if len(places) > len(set(families)):
        raise ValueError(
            "attributes: columns of one family have different keys, so that their pseudonyms would differ; give all of "
            "a family the same key_conn_id or key_file and key_id, or none"
        )
    shared = [name for name in job.pseudonymized if families.count(job.family(name)) > 1 and name not in accepted]
    if shared:
        raise ValueError(
            f"attributes: {', '.join(map(repr, shared))} share the family of another column, so that their pseudonyms "
            f"join rows; give each a family of its own, or say accept: {LINKED_ROWS} there if that is meant"
        )


def _key_of(attribute: Any) -> tuple[str | None, ...]:
    return attribute.key_conn_id, attribute.key_file, attribute.key_id

"""What is recorded of an approval, for pages and the certificate."""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow_anon.plugin.page_forms.content import Approval
from airflow_anon.plugin.words import moment

if TYPE_CHECKING:
    from airflow_anon.ledger import form_parts as parts


def approval_told(found: parts.Approval) -> Approval:
    """Return an approval with one sentence of what came of it."""
    return {
        "answer": found.answer,
        "words": _words(found),
        "why": found.why,
        "user": found.user,
        "role": found.role,
        "comment": found.comment,
        "asked_at": found.asked_at,
        "expires_at": found.expires_at,
        "answered_at": found.answered_at,
        "disregarded": [{"user": one.user, "at": one.at, "why": one.why} for one in found.disregarded or ()],
    }


def _words(found: parts.Approval) -> str:
    at = f"at {moment(found.answered_at)} UTC"
    who = f"{found.user}, with the role {found.role}," if found.role else str(found.user)
    if found.answer == "approved":
        return f"Approved by {who} {at}."
    if found.answer == "refused":
        return f"Refused by {who} {at}."
    if found.answer == "expired":
        return "Expired: nobody who may approve answered in time."
    if found.answer == "not-needed":
        return f"No approval was needed: {found.why}."
    return "Nobody has answered."

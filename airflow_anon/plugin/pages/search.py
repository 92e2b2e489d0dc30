"""The search for the transformation, and whether a better one can exist."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from airflow_anon.ledger.form_parts import Solution
from airflow_anon.plugin.page_forms.content import Search

if TYPE_CHECKING:
    from airflow_anon.ledger.form import Document

LOCAL = "local-recoding"
"""The transformation of a job whose records have levels of their own."""
POLICY = "policy"
"""The algorithm of a release by a policy."""
PROOFS = {
    "exhaustion": "every transformation was checked, or ruled out by one that was checked",
    "bounds": "by lower bounds, no unchecked transformation has less information loss",
}


def search(document: Document) -> Search | None:
    """Return the search and its verdict; None if there was no search."""
    found, solution = document.search, document.solution or Solution()
    if found is None:
        return None
    return {
        "algorithm": found.algorithm,
        "local": _is_local(document),
        "space": found.space,
        "checked": found.checked,
        "checked_share": _share(found.checked, found.space),
        "seconds": found.seconds,
        "warm_up_seconds": found.warm_up_seconds,
        "optimal": False if found.algorithm == POLICY else solution.optimal,
        "gap": solution.gap,
        "lower_bound": solution.lower_bound,
        "information_loss": solution.information_loss,
        "proof": found.proof,
        "verdict": _of_policy(document) if found.algorithm == POLICY else _verdict(document, found.proof),
    }


def _of_policy(document: Document) -> str:
    """Return what can be said of a policy: it is one transformation, of which entries of earlier versions say more."""
    if document.solution is None:
        return "No transformation was found."
    if isinstance(document.choice, Mapping):
        return "The best policy of the frontier by the rule of the job; not proven optimal."
    return "By the policy that the job names: no other transformation was searched for."


def _is_local(document: Document) -> bool:
    return (document.job.document or {}).get("transformation") == LOCAL


def _verdict(document: Document, proof: str | None) -> str:
    solution = document.solution
    if solution is None:
        return "No transformation was found."
    if solution.optimal:
        why = f": {PROOFS[proof]}" if proof in PROOFS else ""
        return f"Proven optimal{why}."
    if solution.gap is None or not 0 <= solution.gap <= 1:
        return "Not proven optimal; how much better another transformation could be is not known."
    better = "local recoding" if _is_local(document) else "transformation"
    return f"Not proven optimal: a better {better} has at most {solution.gap:.2%} less information loss."


def _share(part: float | None, total: float | None) -> float | None:
    """Return the checks as a share of the transformations; none where some were checked several times."""
    return part / total if part is not None and total and part <= total else None

"""What leaves with a release and what does not: removed identifiers, values that stay, suppressed records."""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow_anon.plugin.page_forms.release import Leaves
from airflow_anon.plugin.pages.replaced import pseudonyms_in_words, shift_in_words
from airflow_anon.plugin.pages.transformed import transformed_in_words

if TYPE_CHECKING:
    from airflow_anon.ledger.form import Document


def leaves(document: Document) -> Leaves:
    """Return the columns of a job by what becomes of them, and what suppressed records still show, in words."""
    attributes = document.job.attributes

    def of(role: str) -> list[str]:
        as_they_are = {
            name: one
            for name, one in attributes.items()
            if not (one.is_pseudonymized or one.is_shifted or one.is_transformed)
        }
        return [name for name, one in as_they_are.items() if one.role == role]

    transformed = {name: one for name, one in attributes.items() if one.is_transformed}
    quasi = [name for name, one in attributes.items() if one.role == "quasi-identifying" and name not in transformed]
    dates = [name for name, one in attributes.items() if one.is_shifted]
    kept = [*of("sensitive"), *of("insensitive"), *(name for name in dates if name not in quasi)]
    kept += [name for name, one in transformed.items() if one.microaggregation is None]
    return {
        "removed": of("identifying"),
        "pseudonymized": [
            f"{name}: {pseudonyms_in_words(name, one)}" for name, one in attributes.items() if one.is_pseudonymized
        ],
        "shifted": [f"{', '.join(dates)}: {shift_in_words(document.job.shift)}"] if dates else [],
        "transformed": [f"{name}: {transformed_in_words(one)}" for name, one in transformed.items()],
        "generalized": quasi,
        "sensitive": of("sensitive"),
        "insensitive": of("insensitive"),
        "suppressed": _suppressed(document, kept),
    }


def _suppressed(document: Document, kept: list[str]) -> str:
    form = None if document.records is None else document.records.suppressed_form
    shown = f"Each still shows its {', '.join(kept)}" if kept else "Nothing else of them is shown"
    starred = f"in the release with * in every generalized column. {shown}."
    out = "left out of the release. Who knows that a record was in the source learns that its class failed a criterion."
    if form == "none":
        return "None: no record was suppressed."
    known = None if document.records is None else document.records.knows
    if form == "drop" and known not in {None, "any-row"}:
        return (
            "They are left out of the release, all that a person has. Who knows that a person was in the source learns "
            "that too few others had what may be known of this one, or failed a criterion together."
        )
    if form == "drop":
        return f"They are {out}"
    if form == "star":
        return f"They are {starred}"
    return f"Not recorded in this entry. They are either {starred} Or they are {out}"

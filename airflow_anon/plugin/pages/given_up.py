"""That a share was given up as gone for good: of a release that was in it, and of the entry that says so."""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow_anon.plugin.page_forms.release import GivenUp

if TYPE_CHECKING:
    from airflow_anon.ledger import Entry
    from airflow_anon.ledger.form import Document
    from airflow_anon.plugin.reading import Reading


def given_up(reading: Reading, entry: Entry, document: Document) -> list[GivenUp]:
    """Return the shares of a release that were given up, or the one that an entry gives up."""
    from airflow_anon.ledger.given_up import gone_from  # noqa: PLC0415 (only where there are releases)

    places = gone_from(reading.given_up(entry.job), document.stored().get("publication"))
    gone = {one.entry.sequence for one in places.values()}
    found: list[GivenUp] = []
    for one in reading.given_up(entry.job):
        number = len(one.told.releases)
        if entry.sequence == one.entry.sequence and one.was_made_anew:
            words = (
                f"{number} releases that {one.share} had lost were {one.words}: they may still lie where it was before."
            )
        elif entry.sequence == one.entry.sequence:
            words = (
                f"{one.share} was {one.words}: it had {number} releases, which may still lie there. Found there: "
                f"{one.told.found}."
            )
        elif one.entry.sequence in gone and one.was_made_anew:
            words = (
                f"{one.share} has newer releases and had lost this one, which was {one.words}: it may still lie where "
                "the share was before."
            )
        elif one.entry.sequence in gone:
            words = f"{one.share} was {one.words}: the release may still lie there, and nobody can look."
        else:
            continue
        found.append(
            {
                "share": one.share,
                "sequence": one.entry.sequence,
                "run_id": one.entry.run_id,
                "why": one.told.why,
                "words": words,
            }
        )
    return found

"""Coded, aggregated and perturbed columns in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from airflow_anon.ledger import form_parts as parts

_CODED = {"round_to": "rounded to {:.15g}", "bottom": "{:.15g} or less joined", "top": "{:.15g} or more joined"}


def transformed_in_words(column: parts.Attribute) -> str:
    """Say what was done to the values of a column before and after its classes were formed."""
    coding = column.coding or {}
    done = [words.format(coding[key]) for key, words in _CODED.items() if key in coding]
    if column.noise is not None:
        done.append(f"random noise of {column.noise['percent']:.15g}% of its standard deviation")
    if column.pram is not None:
        done.append("some categories changed at random (PRAM, pd {pd:.15g}, alpha {alpha:.15g})".format(**column.pram))
    if column.microaggregation == "mdav":
        done.append("the mean of a group of alike records of its equivalence class for each record")
    elif column.microaggregation is not None:
        done.append(f"the {column.microaggregation} of its equivalence class for each record")
    return ", ".join(done)

"""What a release is still good for: models, confidence intervals, and each column before and after."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from airflow_anon.disclosure.counts import is_few
from airflow_anon.ledger.form_usefulness import Scores
from airflow_anon.plugin.page_forms.content import Compared, NotTold, Predicted, Usefulness
from airflow_anon.plugin.page_forms.parts import Chart
from airflow_anon.plugin.pages.charts import bar_chart

if TYPE_CHECKING:
    from airflow_anon.ledger import form_usefulness
    from airflow_anon.ledger.form import Document

MODELS = {"logistic-regression": "Logistic regression", "random-forest": "Random forest"}
MISSING, OTHER, UNSHOWN = "(missing)", "(all others)", "(suppressed)"
NO_LABELS = "no distribution, since each record has a level of its own, or no label has enough records."
FIGURES = {
    "labels": "the distribution",
    "before": "the distribution before",
    "mean_overlap": "the overlap of means",
    "proportion_overlap": "the overlap of shares",
}
"""Figures of a column that are left out where persons are counted, by their keys."""
LONG = 16
"""Letters of a label from which on bars lie."""


def usefulness(document: Document) -> Usefulness | None:
    """Return what was measured; None of a job that did not ask for it."""
    found = document.usefulness
    if found is None:
        return None
    return {
        "folds": found.folds,
        "persons": found.persons,
        "restricted": bool(found.restricted),
        "predicted": [row for target in found.targets or () for row in _predicted(target)],
        "columns": [_compared(one, document.smallest) for one in found.columns or ()],
        "not_told": _not_told(found.columns or ()),
    }


def _not_told(columns: Sequence[form_usefulness.ComparedColumn]) -> list[NotTold]:
    """Return the figures that are left out, each with its reason once."""
    lacking: dict[tuple[str, str], list[str]] = {}
    for column in columns:
        for figure, why in (column.not_told or {}).items():
            lacking.setdefault((figure, why), []).append(column.column)
    return [
        {"figure": FIGURES.get(figure, figure), "columns": names, "why": why}
        for (figure, why), names in lacking.items()
    ]


def _predicted(target: form_usefulness.PredictedTarget) -> Iterator[Predicted]:
    for one in target.models or ():
        source, release = one.source or Scores(), one.release or Scores()
        yield {
            "target": target.target,
            "classes": target.classes,
            "model": MODELS.get(one.model or "", one.model or ""),
            "baseline": target.baseline,
            "source_accuracy": source.accuracy,
            "release_accuracy": release.accuracy,
            "source_auc": source.auc,
            "release_auc": release.auc,
        }


def _compared(found: form_usefulness.ComparedColumn, smallest: int) -> Compared:
    chart = _chart(found, smallest)
    return {
        "column": found.column,
        "mean_overlap": found.mean_overlap,
        "proportion_overlap": found.proportion_overlap,
        "least_proportion_overlap": found.least_proportion_overlap,
        "chart": chart,
        "words": "" if chart or "labels" in (found.not_told or {}) else NO_LABELS,
    }


def _chart(found: form_usefulness.ComparedColumn, smallest: int) -> Chart | None:
    """Return the distribution as shares of all records; a label of few records, or few suppressed ones, has no bar."""
    total = found.records
    labels = [one for one in found.labels or () if not is_few(one.after, smallest)]
    if not labels or not total:
        return None
    before = [None if is_few(one.before - one.after, smallest) else one.before / total for one in labels]
    after: list[float | None] = [one.after / total for one in labels]
    names = [OTHER if one.other else MISSING if one.label is None else one.label for one in labels]
    if found.suppressed and found.untold is not None and not is_few(found.suppressed, smallest):
        names.append(UNSHOWN)
        before.append(found.untold / total)
        after.append(found.suppressed / total)
    one_sided = "before" in (found.not_told or {})
    return bar_chart(
        f"{found.column}: in the file" if one_sided else f"{found.column}: before and after",
        names,
        {"In the file": after} if one_sided else {"Before": before, "After": after},
        form="percent",
        x=found.column,
        y="Share of the records",
        lying=max(map(len, names)) > LONG,
        note=_note(found),
        drawn=1 if one_sided else 2,
    )


def _note(found: form_usefulness.ComparedColumn) -> str:
    if "before" in (found.not_told or {}):
        return "Records that the file shows."
    if not found.suppressed:
        return "Every record shows its value."
    if found.step is None:
        return f"{UNSHOWN}: too few records to tell what they were before."
    return (
        f"{UNSHOWN}: before, the records whose label is not told. Suppressed records are counted with their label in "
        f"whole steps of {found.step} alone, so that nobody can work out what few of them were."
    )

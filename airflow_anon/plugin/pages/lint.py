"""What the linter measured: how columns vary, and homogeneous classes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow_anon.ledger.form_lint import LintedClasses
from airflow_anon.plugin.page_forms.content import Lint, LintedColumn

if TYPE_CHECKING:
    from airflow_anon.ledger import form_lint
    from airflow_anon.ledger.form import Document


def lint(document: Document) -> Lint | None:
    """Return one row per released column; None for an entry of a version without a linter."""
    found = document.lint
    if found is None:
        return None
    classes = {one.column: one for one in found.classes or ()}
    return {
        "unit": found.unit,
        "columns": [_column(one, classes.get(one.column)) for one in found.columns or ()],
    }


def _column(found: form_lint.LintedColumn, classes: LintedClasses | None) -> LintedColumn:
    return {
        "column": found.column,
        "role": found.role,
        "distinction": found.distinction,
        "separation": found.separation,
        "accept": found.accept,
        "homogeneous": None if classes is None else classes.homogeneous,
        "records_share": None if classes is None else classes.records_share,
    }

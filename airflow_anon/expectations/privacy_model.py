"""A privacy model of the job, recounted on the release."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from airflow_anon.expectations.base import ReleaseExpectation
from airflow_anon.expectations.covered import people_beside
from airflow_anon.expectations.records import Marked, kept_classes, kept_rows
from airflow_anon.expectations.source_settings import public_population
from engine import Finding, Message, recount

if TYPE_CHECKING:
    import pyarrow as pa

    from airflow_anon.expectations.class_table import ClassTable


class ExpectPrivacyModelToHold(ReleaseExpectation):
    """Every equivalence class satisfies a privacy model: those that are kept, and that of the suppressed records.

    Parameters
    ----------
    model : dict
        The model and its parameters, as in the job file; of files the names.
    attribute : dict
        `order` and `hierarchy` of the model's sensitive attribute, as far as the job gives them; empty for a model
        without one. The hierarchy is not published, because it may list values.
    quasi_identifiers : list of str
    marked : {"none", "some", "all"}
        How many records of the release are suppressed ones, by its report.
    root_is_mark : bool
        Whether kept records may show `*` in every quasi-identifier as well.
    reported_rows, reported_suppressed : int
        Rows of the release, and suppressed records among them, by the report.
    minimum_class_size : int
        Records that all models of the job together demand of a class.
    population : dict
        See `population_of`; empty for a model without a population. Only names of files are published.
    """

    model: dict[str, Any]
    attribute: dict[str, Any]
    quasi_identifiers: list[str]
    marked: Marked
    root_is_mark: bool
    reported_rows: int
    reported_suppressed: int
    minimum_class_size: int
    population: dict[str, Any]

    success_keys: ClassVar[tuple[str, ...]] = (
        "model",
        "attribute",
        "quasi_identifiers",
        "marked",
        "root_is_mark",
        "reported_rows",
        "reported_suppressed",
        "minimum_class_size",
        "population",
    )
    template: ClassVar[str] = "Every equivalence class over $quasi_identifiers must satisfy: $model."

    def public_kwargs(self) -> dict[str, Any]:
        """Leave the hierarchy out, except the name of its builder."""
        settings = {key: value for key, value in self.attribute.items() if key == "order"}
        hierarchy = self.attribute.get("hierarchy")
        builder = {"builder": hierarchy["builder"]} if hierarchy else {}
        shown = {"attribute": {**settings, **builder}, "population": public_population(self.population)}
        return {**super().public_kwargs(), **shown}

    def read_columns(self) -> list[str]:
        """Quasi-identifiers and the sensitive attribute."""
        attribute = self.model.get("attribute")
        return [*self.quasi_identifiers, *([attribute] if attribute else [])]

    def judge(self, release: ClassTable) -> Finding:
        """Recount the model."""
        number = kept_rows(release, self.marked, self.reported_suppressed, root_is_mark=self.root_is_mark)
        people = people_beside(self.population, release, self.marked, number, as_file=False)
        found = self._recount(release, people, kept_rows=number)
        if self.marked == "none":
            return found
        people = people_beside(self.population, release, self.marked, number, as_file=True)
        whole = self._recount(release, people, as_file=True)
        return found if whole.holds else replace(whole, message=Message("with the suppressed records: ", whole.message))

    def _recount(self, release: ClassTable, people: pa.Table | None, **how: Any) -> Finding:
        return recount_on(
            release,
            self.quasi_identifiers,
            self.model,
            self.marked,
            attribute=self.attribute,
            rows=max(self.reported_rows, release.rows),
            population=people,
            minimum_class_size=self.minimum_class_size,
            **how,
        )


def recount_on(
    release: ClassTable, quasi_identifiers: Sequence[str], model: Mapping[str, Any], marked: Marked, **how: Any
) -> Finding:
    """Recount a privacy model on the classes of a release; the engine weighs them by their counts."""
    attribute = model.get("attribute")
    table = release.counted(attribute)
    starred = not kept_classes(release, marked).all()
    kept = release.counted(attribute, starred=False) if starred else table
    return recount(table, quasi_identifiers, model, kept=kept, counts=release.count, **how)

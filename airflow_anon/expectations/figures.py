"""The figures of a release's report: classes, risk, and the observed figure and margin of each privacy model."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import zip_longest
from statistics import median
from typing import TYPE_CHECKING, Any, ClassVar

from airflow_anon.expectations.attribute_inference import inference_shares
from airflow_anon.expectations.base import ReleaseExpectation
from airflow_anon.expectations.class_sizes import size_bins
from airflow_anon.expectations.classes import classes_beside
from airflow_anon.expectations.covered import people_beside
from airflow_anon.expectations.margin import margin
from airflow_anon.expectations.privacy_model import recount_on
from airflow_anon.expectations.records import Marked, kept_classes, kept_rows
from airflow_anon.expectations.risk import LATER, risk_figures
from airflow_anon.expectations.source_settings import public_population
from airflow_anon.expectations.stated import is_figure, is_least_margin, is_number, names_model
from engine import Finding

if TYPE_CHECKING:
    import pyarrow as pa

    from airflow_anon.expectations.class_table import ClassTable

PARTS = ("classes", "risk", "privacy", "privacy_margin", "attribute_inference")


class ExpectReportedFigures(ReleaseExpectation):
    """Classes, risk, and the figures and margins of the privacy models in the report are those of the release.

    Parameters
    ----------
    figures : dict
        The parts `classes`, `risk`, `privacy`, `privacy_margin` and `attribute_inference` of the report; reports of
        earlier versions lack the last.
    models : list of dict
        The privacy models of the job, in its order; of files the names.
    attributes : dict
        `order` and `hierarchy` of each sensitive attribute that a model names, as far as the job gives them.
    risk : dict
        The job's `threshold`, and its `sampling_fraction` if it has one.
    reported_rows, reported_suppressed : int
        Rows of the release, and suppressed records among them, by the report. If the release does not
        distinguish these from kept records, because `*` is also a label, the figures of models of sensitive values are
        not compared.
    quasi_identifiers : list of str
    sensitive : list of str
        All sensitive columns.
    marked : {"none", "some", "all"}
        How many records of the release are suppressed ones, by its report.
    root_is_mark : bool
        Whether kept records may show `*` in every quasi-identifier as well.
    minimum_class_size : int
        Records that all models of the job together demand of a class.
    population : dict
        See `population_of`; empty for a job without one. Only names of files are published.
    """

    figures: dict[str, Any]
    models: list[dict[str, Any]]
    attributes: dict[str, Any]
    risk: dict[str, Any]
    reported_rows: int
    reported_suppressed: int
    quasi_identifiers: list[str]
    sensitive: list[str]
    marked: Marked
    root_is_mark: bool
    minimum_class_size: int
    population: dict[str, Any]

    success_keys: ClassVar[tuple[str, ...]] = (
        "figures",
        "models",
        "attributes",
        "risk",
        "reported_rows",
        "reported_suppressed",
        "quasi_identifiers",
        "sensitive",
        "marked",
        "root_is_mark",
        "minimum_class_size",
        "population",
    )
    template: ClassVar[str] = "Classes, risk and privacy figures of the report must be those of the release."

    def public_kwargs(self) -> dict[str, Any]:
        """Leave out parameters that are in the report and in the job anyway."""
        hidden = {"figures", "models", "attributes"}
        shown = {key: value for key, value in super().public_kwargs().items() if key not in hidden}
        return {**shown, "population": public_population(self.population)}

    def read_columns(self) -> list[str]:
        """Quasi-identifiers and sensitive attributes."""
        attributes = dict.fromkeys(model["attribute"] for model in self.models if "attribute" in model)
        return [*self.quasi_identifiers, *dict.fromkeys([*attributes, *self.sensitive])]

    def judge(self, release: ClassTable) -> Finding:
        """Recount every figure."""
        number = kept_rows(release, self.marked, self.reported_suppressed, root_is_mark=self.root_is_mark)
        comparable = number == self.reported_rows - self.reported_suppressed
        wrong = list(self._disagreements(self._beside_people(release, number))) if comparable else []
        message = f"not as in the release: {', '.join(wrong)}" if wrong else "figures are those of the release"
        return Finding(
            self.expectation_type,
            holds=not wrong,
            observed=len(wrong),
            required=0,
            column=None,
            message=message if comparable else "the release has another number of records, no figure is compared",
        )

    def _beside_people(self, release: ClassTable, number: int) -> _Release:
        people = people_beside(self.population, release, self.marked, number, as_file=False)
        of_file = people
        if self.marked != "none":
            of_file = people_beside(self.population, release, self.marked, number, as_file=True)
        return _Release(release, number, people, of_file)

    def _disagreements(self, release: _Release) -> Iterator[str]:
        starred = self.marked != "none"
        classes = classes_beside(release.classes, release.people_of_file, starred=starred)
        sizes: list[int] = classes["records"].tolist()
        people = classes["people"].tolist() if release.people_of_file is not None else None
        risk = risk_figures(sizes, people, self.risk["threshold"])
        given = self.figures.get("risk")
        if isinstance(given, Mapping) and not LATER & set(given):
            risk = {key: figure for key, figure in risk.items() if key not in LATER}
        if "sampling_fraction" in self.risk:
            risk["estimated_population_uniqueness"] = self._estimated(release)
        classes = {**_classes(sizes), "distribution": size_bins(sizes, self.minimum_class_size)}
        for part, counted in (("classes", classes), ("risk", risk)):
            stated = self.figures.get(part)
            if not isinstance(stated, Mapping):
                yield part
                continue
            yield from (f"{part}.{key}" for key, value in counted.items() if not _equal(stated.get(key, part), value))
            # a figure that is not recounted is not published
            yield from (f"{part}.{key}" for key in stated if key not in counted)
        if not self._infers(release.classes):
            yield "attribute_inference"
        yield from self._other_judgements(release)

    def _infers(self, release: ClassTable) -> bool:
        """Tell whether the shares of attribute inference are those of the release, if the report states any."""
        stated = self.figures.get("attribute_inference")
        if stated is None:
            return True
        if not isinstance(stated, Mapping) or set(stated) != set(self.sensitive):
            return False
        for name in self.sensitive:
            found = inference_shares(release, name, self.minimum_class_size)
            entry = stated[name]
            if not isinstance(entry, Mapping) or set(entry) != set(found):
                return False
            if not all(_equal(entry[key], figure) for key, figure in found.items()):
                return False
        return True

    def _other_judgements(self, release: _Release) -> Iterator[str]:
        stated = self.figures.get("privacy")
        stated = stated if isinstance(stated, list) else []
        for position, (model, entry) in enumerate(zip_longest(self.models, stated)):
            if model is None or not isinstance(entry, Mapping) or not self._as_found(release, model, entry):
                yield f"privacy.{position}"
        if not is_least_margin(self.figures.get("privacy_margin"), stated):
            yield "privacy_margin"

    def _as_found(self, release: _Release, model: Mapping[str, Any], stated: Mapping[str, Any]) -> bool:
        if not names_model(stated, model):
            return False
        found = self._recount(release, model)
        unknown = "attribute" in model and release.kept_rows != self._kept(release.classes)
        observed = stated.get("observed")
        # if it cannot be compared with the recount, it must still be a figure
        if stated.get("holds") is not found.holds or not is_figure(observed, observed if unknown else found.observed):
            return False
        required, sense = found.required, found.sense
        if required is None or sense is None:
            return False
        # of the stated figure: it is the one that was found, or the only one that is known
        left = margin(required, sense, observed, holds=found.holds)
        same_bound = is_figure(stated.get("required"), required) and stated.get("sense") == sense
        return same_bound and is_figure(stated.get("margin"), left)

    def _estimated(self, release: _Release) -> float | None:
        if not release.classes.rows:
            return 0.0
        estimate = {"model": "population-uniqueness", "estimator": "dankar", "threshold": 1.0}
        model = {**estimate, "sampling_fraction": self.risk["sampling_fraction"]}
        return self._recount(release, model, as_file=self.marked != "none").observed

    def _recount(self, release: _Release, model: Mapping[str, Any], *, as_file: bool = False) -> Finding:
        return recount_on(
            release.classes,
            self.quasi_identifiers,
            model,
            self.marked,
            attribute=self.attributes.get(model.get("attribute", "")),
            kept_rows=release.kept_rows,
            rows=max(self.reported_rows, release.classes.rows),
            population=release.people,
            minimum_class_size=self.minimum_class_size,
            as_file=as_file,
        )

    def _kept(self, release: ClassTable) -> int:
        return int(release.sizes[kept_classes(release, self.marked)].sum())


@dataclass(frozen=True)
class _Release:
    """The classes of a release, the number of its kept records, and the people of these and of all that it shows."""

    classes: ClassTable
    kept_rows: int
    people: pa.Table | None
    people_of_file: pa.Table | None


def _classes(sizes: list[int]) -> dict[str, float | None]:
    if not sizes:
        return {"number": 0, "smallest": None, "median": None, "largest": None}
    return {"number": len(sizes), "smallest": min(sizes), "median": median(sizes), "largest": max(sizes)}


def _equal(stated: Any, counted: Any) -> bool:
    if isinstance(counted, list):
        # as text neither true nor 1.0 is 1
        return json.dumps(stated, sort_keys=True) == json.dumps(counted, sort_keys=True)
    if not is_number(stated) or counted is None:
        return stated is None and counted is None
    return math.isclose(stated, counted, rel_tol=1e-12)

"""The base of the expectations on a release: figures instead of records, and a failure if a check cannot be made."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from great_expectations.expectations.expectation import BatchExpectation

from airflow_anon.expectations.records import CLASSES
from engine import Count, EngineError, Finding, Message

if TYPE_CHECKING:
    from great_expectations.render.renderer_configuration import RendererConfiguration

    from airflow_anon.expectations.class_table import ClassTable


class ReleaseExpectation(BatchExpectation):
    """An expectation on a whole release.

    Its result holds an observed and a required figure and a sentence, never a value of a record. Every parameter of a
    subclass is required: Great Expectations leaves defaults out of its JSON.
    """

    metric_dependencies: ClassVar[tuple[str, ...]] = (CLASSES,)
    template: ClassVar[str]
    """What is expected, in words, with the names of parameters as `$name`."""
    template_withheld: ClassVar[str] = ""
    """The same where the expectation has a bound `below` and tells no other count."""
    counts: ClassVar[tuple[str, ...]] = ()
    """Parameters that count records."""

    @abstractmethod
    def judge(self, release: ClassTable) -> Finding:
        """Judge the release, which has each of `read_columns` once.

        Parameters
        ----------
        release : ClassTable
            The classes of all its records.
        """

    def read_columns(self) -> list[str]:
        """Return the columns that the check needs."""
        return []

    def public_kwargs(self) -> dict[str, Any]:
        """Return the parameters for publication: only names, figures and settings of the job."""
        kwargs = {key: getattr(self, key) for key in self.success_keys}
        if not kwargs.get("below"):
            return kwargs
        # of the counts, only what is in the file can be told
        return {**kwargs, **{key: None for key in self.counts if key != "released_rows"}}

    def prescription(self) -> Message:
        """Return in words what is expected."""
        values = self.public_kwargs()
        counted = {key for key in self.counts if values.get(key) is not None}
        said = {key: Count(value) if key in counted else _words(value) for key, value in values.items()}
        # words and names of parameters take turns
        turns = re.split(r"\$(\w+)", self.template_withheld if values.get("below") else self.template)
        return Message(*(said[turn] if place % 2 else turn for place, turn in enumerate(turns)))

    def _validate(
        self, metrics: dict[str, Any], runtime_configuration: Any = None, execution_engine: Any = None
    ) -> dict[str, Any]:
        del runtime_configuration, execution_engine
        finding = self._finding(metrics[CLASSES])
        result = {
            "observed_value": finding.observed,
            "required_value": finding.required,
            "column": finding.column,
            "message": str(finding.message),
            "message_parts": finding.message.parts,
        }
        return {"success": finding.holds, "result": result}

    def _finding(self, release: ClassTable) -> Finding:
        names = release.schema.names
        unreadable = [name for name in self.read_columns() if names.count(name) != 1]
        if unreadable:
            return self._unproven(f"columns missing, or there more than once: {', '.join(unreadable)}")
        keys = set(self.read_columns()) & set(getattr(self, "quasi_identifiers", ()))
        if keys - set(release.labels):
            return self._unproven(
                f"columns whose type has no text form: {', '.join(sorted(keys - set(release.labels)))}"
            )
        try:
            return self.judge(release)
        except EngineError as problem:
            return self._unproven(problem.message)
        except Exception as problem:  # noqa: BLE001 (Great Expectations would keep the text, which may hold a value)
            return self._unproven(f"the check ended with {type(problem).__name__}")

    def _unproven(self, message: str) -> Finding:
        return Finding(self.expectation_type, holds=False, observed=None, required=None, column=None, message=message)

    @classmethod
    def _prescriptive_template(cls, renderer_configuration: RendererConfiguration) -> RendererConfiguration:
        for key in cls.success_keys:
            if f"${key}" in cls.template:
                renderer_configuration.add_param(name=key)
        renderer_configuration.template_str = cls.template
        return renderer_configuration


def _words(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {_words(part)}" for key, part in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(_words, value)) or "none"
    return str(value)

"""The form of an entry's document (docs/ledger.md): for writing and for reading.

In: plain JSON from the ledger, which somebody may have tampered with. Out: a `Document`, or None if it has another
form.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pydantic import ValidationError

from airflow_anon.ledger.errors import LedgerError
from airflow_anon.ledger.form_lint import Lint
from airflow_anon.ledger.form_part import Number, Part
from airflow_anon.ledger.form_parts import (
    Approval,
    Classes,
    Criterion,
    Drift,
    Hierarchies,
    Inference,
    Level,
    Population,
    Reason,
    Records,
    Run,
    Search,
    Series,
    Solution,
    Source,
    Validation,
    WrittenJob,
)
from airflow_anon.ledger.form_publication import Delivered, GivenUpShare, Publication, Withdrawal
from airflow_anon.ledger.form_usefulness import Usefulness


class Document(Part):
    """Everything the ledger keeps of an attempt."""

    format: int | None = None
    outcome: str | None = None
    name: str
    reason: Reason | None = None
    run: Run
    job: WrittenJob
    source: Source | None = None
    population: Population | None = None
    smallest_class_allowed: int | None = None
    records: Records | None = None
    levels: dict[str, Level] | None = None
    solution: Solution | None = None
    search: Search | None = None
    privacy: list[Criterion] | None = None
    privacy_margin: Number | None = None
    risk: dict[str, Number | None] | None = None
    attribute_inference: dict[str, Inference] | None = None
    utility: dict[str, Number | None] | None = None
    timings: dict[str, Number | None] | None = None
    versions: dict[str, str | None] | None = None
    warnings: list[Any] | None = None
    hierarchies: Hierarchies | None = None
    series: Series | None = None
    drift: Drift | None = None
    usefulness: Usefulness | None = None
    classes: Classes | None = None
    lint: Lint | None = None
    choice: Any = None
    policy: Any = None
    validation: Validation | None = None
    approval: Approval | None = None
    publication: Publication | None = None
    delivered: Delivered | None = None
    withdrawal: Withdrawal | None = None
    given_up: GivenUpShare | None = None

    @property
    def smallest(self) -> int:
        """The smallest class that the job allows, at least 1."""
        return max(1, self.smallest_class_allowed or 1)

    @property
    def counts_persons(self) -> bool:
        """Whether criteria, classes and risks count persons; else they count records."""
        return self.lint is not None and self.lint.unit == "person"

    def stored(self) -> dict[str, Any]:
        """Return it as plain JSON, with the keys that were given."""
        return self.model_dump(by_alias=True, exclude_unset=True)


def read(document: Any) -> Document | None:
    """Return the document of an entry; None if it has another form."""
    try:
        # Keys outside the form may hold anything but NaN and infinities, which JSON pages could not send.
        json.dumps(document, allow_nan=False)
        return Document.model_validate(document)
    except (TypeError, ValueError, RecursionError):
        return None


@contextmanager
def writing() -> Iterator[None]:
    """Turn a part of another form into an error of the ledger.

    Raises
    ------
    LedgerError
        Names the first such part, without its value.
    """
    try:
        yield
    except ValidationError as problem:
        first = problem.errors(include_url=False, include_context=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise LedgerError(f"the document's {problem.title}, {place}: {first['msg']}") from None

"""Privacy models recounted on an output table; one function a model, by Arrow group-by."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from engine.errors import InvalidJob
from engine.verification.finding import Finding
from engine.verification.k_anonymity import recount_k_anonymity
from engine.verification.kept import kept_records
from engine.verification.l_diversity import recount_l_diversity

Recount = Callable[[pa.Table, Sequence[str], Mapping[str, Any]], Finding]

_RECOUNTS: Mapping[str, Recount] = {
    "k-anonymity": recount_k_anonymity,
    "l-diversity": recount_l_diversity,
}


def recount(table: pa.Table, quasi_identifiers: Sequence[str], model: Any) -> Finding:
    """Recount one privacy model on the kept records of an output.

    Parameters
    ----------
    table : pyarrow Table
        The output; suppressed records are those all of whose quasi-identifiers are `*`.
    model : privacy model of a job, or the same as a mapping

    Raises
    ------
    InvalidJob
        No verification is known for the model: it is not released unproven.
    """
    return recount_kept(kept_records(table, quasi_identifiers), quasi_identifiers, model)


def recount_kept(kept: pa.Table, quasi_identifiers: Sequence[str], model: Any) -> Finding:
    """Recount one privacy model where the kept records are known; see `recount`."""
    parameters: Mapping[str, Any] = model if isinstance(model, Mapping) else model.model_dump()
    name = parameters["model"]
    if name not in _RECOUNTS:
        raise InvalidJob(f"privacy model {name!r} cannot be verified; verified are {', '.join(_RECOUNTS)}")
    return _RECOUNTS[name](kept, quasi_identifiers, parameters)

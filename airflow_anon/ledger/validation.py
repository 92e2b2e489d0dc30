"""The result of the validation in the document of an attempt: `validation.json`, without figures about few records."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from airflow_anon.disclosure.results import result_figures
from airflow_anon.ledger import form_parts as parts


def validation_of(path: Path | None, smallest: int, suppressed: int | None) -> parts.Validation | None:
    """Return the result of a validation as the document keeps it, None where there is none.

    Parameters
    ----------
    path : Path or None
        `validation.json`.
    smallest : int
        The smallest class that the job allows, in records.
    suppressed : int or None
        Suppressed records, None where it is not known.
    """
    if path is None or not path.is_file():
        return None
    content = path.read_bytes()
    document = json.loads(content)
    return parts.Validation(
        success=document["success"],
        suite=document["suite"],
        great_expectations_version=document["great_expectations_version"],
        validated_at=document["validated_at"],
        expectations=document["expectations"],
        sha256=hashlib.sha256(content).hexdigest(),
        results=[_result(result, smallest, suppressed) for result in document["results"]],
    )


def _result(result: Mapping[str, Any], smallest: int, suppressed: int | None) -> parts.Result:
    told = result_figures(result, smallest, suppressed)
    kind, success, column = result["expectation_type"], result["success"], result["column"]
    return parts.Result(expectation_type=kind, success=success, column=column, **told)

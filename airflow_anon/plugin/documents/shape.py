"""The form that an entry's document must have for a page to show it.

A ledger that was tampered with may hold anything. A document of another form is told to be unreadable as a whole; what
has the right form is shown, however wrong it is. Every key may be missing, or null: attempts end where they end.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

Check = Callable[[Any], bool]


def _anything(found: Any) -> bool:
    return not isinstance(found, float) or math.isfinite(found)


def _text(found: Any) -> bool:
    return isinstance(found, str)


def _flag(found: Any) -> bool:
    return isinstance(found, bool)


def _number(found: Any) -> bool:
    return isinstance(found, (int, float)) and not isinstance(found, bool) and math.isfinite(found)


def _whole(found: Any) -> bool:
    return isinstance(found, int) and not isinstance(found, bool)


def _all(check: Check) -> Check:
    return lambda found: isinstance(found, (list, tuple)) and all(one is None or check(one) for one in found)


def _mapping(check: Check) -> Check:
    return lambda found: isinstance(found, Mapping) and all(one is None or check(one) for one in found.values())


def _keys(**known: Check) -> Check:
    return lambda found: (
        isinstance(found, Mapping)
        and all(found.get(name) is None or check(found[name]) for name, check in known.items())
    )


_texts = _keys(task=_text, error=_text, message=_text)
_sizes = _keys(**dict.fromkeys(("from", "to", "classes", "records"), _whole))
_result = _keys(expectation_type=_text, description=_text, success=_flag, column=_anything, message=_text, below=_whole)
_finding = _keys(
    model=_text,
    parameters=_mapping(_anything),
    description=_text,
    required=_number,
    sense=_text,
    observed=_number,
    holds=_flag,
    margin=_number,
)
_document = _keys(
    name=_text,
    outcome=_text,
    reason=_texts,
    run=_keys(triggered_by=_text, run_type=_text, logical_date=_text),
    job=_keys(sha256=_text, document=_keys(attributes=_mapping(_keys(role=_text)))),
    source=_keys(conn_id=_text, table=_text, query=_flag, rows=_whole, columns=_anything, fingerprint=_text),
    smallest_class_allowed=_whole,
    records=_keys(
        **dict.fromkeys(("source", "released", "suppressed", "below"), _whole),
        **dict.fromkeys(("suppressed_share", "suppression_limit"), _number),
    ),
    levels=_mapping(_keys(**dict.fromkeys(("level", "highest", "minimum", "maximum"), _whole), examples=_all(_text))),
    solution=_keys(
        **dict.fromkeys(("information_loss", "lower_bound", "gap"), _number),
        **dict.fromkeys(("measure", "aggregate"), _text),
        optimal=_flag,
    ),
    search=_keys(
        **dict.fromkeys(("algorithm", "proof"), _text),
        **dict.fromkeys(("space", "checked", "seconds", "warm_up_seconds"), _number),
    ),
    privacy=_all(_finding),
    privacy_margin=_number,
    risk=_mapping(_number),
    utility=_mapping(_number),
    timings=_mapping(_number),
    versions=_mapping(_text),
    warnings=_all(_anything),
    classes=_keys(**dict.fromkeys(("number", "smallest", "median", "largest"), _number), distribution=_all(_sizes)),
    validation=_keys(
        success=_flag,
        suite=_text,
        great_expectations_version=_text,
        validated_at=_text,
        expectations=_whole,
        sha256=_text,
        results=_all(_result),
    ),
    publication=_keys(release_id=_text, folder=_text, table=_mapping(_text), manifest_sha256=_text),
)


def has_form(document: Any) -> bool:
    """Tell whether a document has the form that pages rely on."""
    return bool(_document(document))

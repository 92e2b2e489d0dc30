"""The de-identification engine: everything a caller needs stands in `__all__`.

Names are imported when they are first used, so that reading a job file in a scheduler costs no numpy, numba or pyarrow.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from engine.errors import EngineError, InvalidData, InvalidJob, NoSolution, VerificationFailed
    from engine.frontier_run import Frontier, frontier
    from engine.frontiers.chart import html as frontier_html
    from engine.frontiers.chart import picture as frontier_picture
    from engine.job import Job, load_job
    from engine.levels import describe_levels
    from engine.pipeline import Result, run
    from engine.release import check_manifest, write_manifest
    from engine.schema import job_schema
    from engine.verification import Finding, recount, verify

__version__ = "0.1.0"

# a name is that of its home, unless another one stands after a colon
_HOMES = {
    "EngineError": "errors",
    "Finding": "verification",
    "Frontier": "frontier_run",
    "InvalidData": "errors",
    "InvalidJob": "errors",
    "Job": "job",
    "NoSolution": "errors",
    "Result": "pipeline",
    "VerificationFailed": "errors",
    "check_manifest": "release",
    "describe_levels": "levels",
    "frontier": "frontier_run",
    "frontier_html": "frontiers.chart:html",
    "frontier_picture": "frontiers.chart:picture",
    "job_schema": "schema",
    "load_job": "job",
    "recount": "verification",
    "run": "pipeline",
    "verify": "verification",
    "write_manifest": "release",
}

__all__ = [
    "EngineError",
    "Finding",
    "Frontier",
    "InvalidData",
    "InvalidJob",
    "Job",
    "NoSolution",
    "Result",
    "VerificationFailed",
    "__version__",
    "check_manifest",
    "describe_levels",
    "frontier",
    "frontier_html",
    "frontier_picture",
    "job_schema",
    "load_job",
    "recount",
    "run",
    "verify",
    "write_manifest",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'engine' has no attribute {name!r}")
    home, _, original = _HOMES[name].partition(":")
    return getattr(importlib.import_module(f"engine.{home}"), original or name)

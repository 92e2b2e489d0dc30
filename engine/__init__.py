"""The de-identification engine: everything a caller needs stands in `__all__`.

Names are imported when they are first used, so that reading a job file in a scheduler costs no numpy, numba or pyarrow.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from engine.errors import EngineError, InvalidData, InvalidJob, NoSolution, VerificationFailed
    from engine.frontiers.page.chart import html as frontier_html
    from engine.frontiers.page.chart import picture as frontier_picture
    from engine.frontiers.run import Frontier, frontier
    from engine.job.job import Job, load_job
    from engine.job.levels import describe_levels
    from engine.job.schema import job_schema
    from engine.message import Count, Message
    from engine.pipeline.release import MANIFEST, check_manifest, write_manifest
    from engine.pipeline.run import Result, run
    from engine.verification import Finding, recount, verify

__version__ = "0.1.0"

# a name is that of its home, unless another one stands after a colon
_HOMES = {
    "Count": "message",
    "EngineError": "errors",
    "Finding": "verification",
    "Frontier": "frontiers.run",
    "InvalidData": "errors",
    "InvalidJob": "errors",
    "Job": "job.job",
    "MANIFEST": "pipeline.release",
    "Message": "message",
    "NoSolution": "errors",
    "Result": "pipeline.run",
    "VerificationFailed": "errors",
    "check_manifest": "pipeline.release",
    "describe_levels": "job.levels",
    "frontier": "frontiers.run",
    "frontier_html": "frontiers.page.chart:html",
    "frontier_picture": "frontiers.page.chart:picture",
    "job_schema": "job.schema",
    "load_job": "job.job",
    "recount": "verification",
    "run": "pipeline.run",
    "verify": "verification",
    "write_manifest": "pipeline.release",
}

__all__ = [
    "MANIFEST",
    "Count",
    "EngineError",
    "Finding",
    "Frontier",
    "InvalidData",
    "InvalidJob",
    "Job",
    "Message",
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

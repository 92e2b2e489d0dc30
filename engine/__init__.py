"""The de-identification engine; `__all__` lists everything a caller needs.

Names are imported on first use, so that a scheduler reads job files without loading numpy, numba or pyarrow.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from engine.backends.warehouse import ColumnFigures, ReleaseRules, Warehouse
    from engine.errors import EngineError, InvalidData, InvalidJob, NoSolution, VerificationFailed
    from engine.frontiers.document import FrontierReport
    from engine.frontiers.page.chart import html as frontier_html
    from engine.frontiers.page.chart import picture as frontier_picture
    from engine.frontiers.run import Frontier, frontier
    from engine.frontiers.space.stored import frontier_policies
    from engine.job.glossary import glossary
    from engine.job.job import Job, load_job
    from engine.job.json_schema import job_schema
    from engine.job.level_examples import describe_levels
    from engine.message import Count, Message
    from engine.pipeline.document import PublishedReport, Report
    from engine.pipeline.release import MANIFEST, check_manifest, write_manifest
    from engine.pipeline.run import Result, run
    from engine.verification import Finding, recount, verify

__version__ = "0.1.0"

# the name in the module is the same unless another name follows a colon
_HOMES = {
    "ColumnFigures": "backends.warehouse",
    "Count": "message",
    "EngineError": "errors",
    "Finding": "verification",
    "Frontier": "frontiers.run",
    "FrontierReport": "frontiers.document",
    "InvalidData": "errors",
    "InvalidJob": "errors",
    "Job": "job.job",
    "MANIFEST": "pipeline.release",
    "Message": "message",
    "NoSolution": "errors",
    "PublishedReport": "pipeline.document",
    "ReleaseRules": "backends.warehouse",
    "Report": "pipeline.document",
    "Result": "pipeline.run",
    "VerificationFailed": "errors",
    "Warehouse": "backends.warehouse",
    "check_manifest": "pipeline.release",
    "describe_levels": "job.level_examples",
    "frontier": "frontiers.run",
    "frontier_html": "frontiers.page.chart:html",
    "frontier_picture": "frontiers.page.chart:picture",
    "frontier_policies": "frontiers.space.stored",
    "glossary": "job.glossary",
    "job_schema": "job.json_schema",
    "load_job": "job.job",
    "recount": "verification",
    "run": "pipeline.run",
    "verify": "verification",
    "write_manifest": "pipeline.release",
}

__all__ = [
    "MANIFEST",
    "ColumnFigures",
    "Count",
    "EngineError",
    "Finding",
    "Frontier",
    "FrontierReport",
    "InvalidData",
    "InvalidJob",
    "Job",
    "Message",
    "NoSolution",
    "PublishedReport",
    "ReleaseRules",
    "Report",
    "Result",
    "VerificationFailed",
    "Warehouse",
    "__version__",
    "check_manifest",
    "describe_levels",
    "frontier",
    "frontier_html",
    "frontier_picture",
    "frontier_policies",
    "glossary",
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

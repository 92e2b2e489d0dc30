"""The de-identification engine: everything a caller needs stands in `__all__`.

Names are imported when they are first used, so that reading a job file in a scheduler costs no numpy, numba or pyarrow.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from engine.errors import EngineError, InvalidData, InvalidJob, NoSolution, VerificationFailed
    from engine.frontier.chart import html as frontier_html
    from engine.frontier.chart import picture as frontier_picture
    from engine.frontier_run import Frontier
    from engine.job import Job, load_job
    from engine.pipeline import Result, run
    from engine.release import check_manifest, write_manifest
    from engine.schema import job_schema
    from engine.verification import Finding, recount, verify

__version__ = "0.1.0"

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


_RENAMED = {"frontier_html": ("frontier.chart", "html"), "frontier_picture": ("frontier.chart", "picture")}


class _Frontier(ModuleType):
    """The package of frontiers, which by the contract is also the function that computes one."""

    def __call__(self, *arguments: Any, **settings: Any) -> Any:
        return importlib.import_module("engine.frontier_run").frontier(*arguments, **settings)


class _Engine(ModuleType):
    """Makes the package `engine.frontier` callable when it is imported, by whatever way."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "frontier" and type(value) is ModuleType:
            value.__class__ = _Frontier
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Engine


def __getattr__(name: str) -> Any:
    if name == "frontier":
        return importlib.import_module("engine.frontier")
    if name in _RENAMED:
        home, original = _RENAMED[name]
        return getattr(importlib.import_module(f"engine.{home}"), original)
    if name not in _HOMES:
        raise AttributeError(f"module 'engine' has no attribute {name!r}")
    return getattr(importlib.import_module(f"engine.{_HOMES[name]}"), name)

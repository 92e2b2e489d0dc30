"""The de-identification engine; `__all__` lists everything a caller needs.

Names are imported on first use, so that a scheduler reads job files without loading numpy, numba or pyarrow.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from engine.version import VERSION

if TYPE_CHECKING:
    from engine.backends.spark_access import CountedApart, SparkAccess
    from engine.backends.spark_apart import CountApart
    from engine.backends.warehouse import ColumnFigures, PersonCounts, PersonsRead, ReleaseRules, Warehouse
    from engine.closed_output import until_reader_leaves
    from engine.codebook.markdown_text import markdown_text
    from engine.draft.draft import Draft, check_target, draft_job, job_name
    from engine.draft.linked import draft_linked_job
    from engine.errors import (
        DriftRefused,
        EngineError,
        InvalidData,
        InvalidJob,
        NoSolution,
        SparkLost,
        VaultBusy,
        VaultRefused,
        VerificationFailed,
    )
    from engine.fingerprint_key import FingerprintKey
    from engine.frontiers.document import FrontierReport
    from engine.frontiers.page.chart import html as frontier_html
    from engine.frontiers.page.chart import picture as frontier_picture
    from engine.frontiers.run import Frontier, frontier
    from engine.frontiers.space.stored import frontier_policies
    from engine.job.count_apart import count_apart
    from engine.job.counted_columns import counted_columns, why_counted_in_full
    from engine.job.glossary import glossary
    from engine.job.hierarchies_stated import hierarchies_problem
    from engine.job.job import Job
    from engine.job.json_schema import job_schema
    from engine.job.key_place import KeyPlace
    from engine.job.keys import RELEASE_KEY_BYTES, key_places, open_key
    from engine.job.level_examples import describe_levels
    from engine.job.load import job_document, load_job
    from engine.job.open_series import SeriesRun, open_series, series_evidence
    from engine.json_document import strict_json
    from engine.key_file import FINGERPRINTS, MAKE_ONE, KeyFile, sound_key
    from engine.key_file import SHORTEST as SHORTEST_KEY
    from engine.memory import refuse_beyond
    from engine.message import Count, Message
    from engine.pipeline.check import Check, check
    from engine.pipeline.check_text import check_lines
    from engine.pipeline.document import PublishedReport, Report
    from engine.pipeline.drift_file import keep_drift_facts, keeping_refused_drift
    from engine.pipeline.formats import compared_formats
    from engine.pipeline.notes import column_notes
    from engine.pipeline.read_release import read_release
    from engine.pipeline.release import MOST_OF_A_MANIFEST, check_manifest, write_manifest
    from engine.pipeline.release_metrics import Metrics, release_metrics
    from engine.pipeline.result import Result
    from engine.pipeline.run import run
    from engine.regular_file import open_regular
    from engine.series.evidence import SeriesEvidence, evidence_in
    from engine.tables.altered.row_cap import RowsBeyond
    from engine.tables.release_files import CURRENT as CURRENT_LINK
    from engine.tables.release_files import DATA as DATA_FILE
    from engine.tables.release_files import JOB as JOB_FILE
    from engine.tables.release_files import MANIFEST
    from engine.tables.release_files import REPORT as REPORT_FILE
    from engine.tables.release_files import VALIDATION as VALIDATION_FILE
    from engine.tables.sources.counted_table import CountedTable
    from engine.tables.sources.linked_name import TABLE as TABLE_COLUMN
    from engine.verification import Finding, recount, verify

__version__ = VERSION

# the name in the module is the same unless another name follows a colon
_HOMES = {
    "Check": "pipeline.check",
    "ColumnFigures": "backends.warehouse",
    "Count": "message",
    "CountedTable": "tables.sources.counted_table",
    "CountApart": "backends.spark_apart",
    "CountedApart": "backends.spark_access",
    "Draft": "draft.draft",
    "CURRENT_LINK": "tables.release_files:CURRENT",
    "DATA_FILE": "tables.release_files:DATA",
    "DriftRefused": "errors",
    "EngineError": "errors",
    "Finding": "verification",
    "FingerprintKey": "fingerprint_key",
    "Frontier": "frontiers.run",
    "FrontierReport": "frontiers.document",
    "InvalidData": "errors",
    "InvalidJob": "errors",
    "JOB_FILE": "tables.release_files:JOB",
    "Job": "job.job",
    "KeyFile": "key_file",
    "KeyPlace": "job.key_place",
    "FINGERPRINTS": "key_file",
    "MAKE_ONE": "key_file",
    "MANIFEST": "tables.release_files",
    "Message": "message",
    "MOST_OF_A_MANIFEST": "pipeline.release",
    "Metrics": "pipeline.release_metrics",
    "NoSolution": "errors",
    "PersonCounts": "backends.warehouse",
    "PersonsRead": "backends.warehouse",
    "PublishedReport": "pipeline.document",
    "ReleaseRules": "backends.warehouse",
    "RELEASE_KEY_BYTES": "job.keys",
    "REPORT_FILE": "tables.release_files:REPORT",
    "Report": "pipeline.document",
    "Result": "pipeline.result",
    "RowsBeyond": "tables.altered.row_cap",
    "SHORTEST_KEY": "key_file:SHORTEST",
    "SeriesEvidence": "series.evidence",
    "SparkAccess": "backends.spark_access",
    "SparkLost": "errors",
    "SeriesRun": "job.open_series",
    "TABLE_COLUMN": "tables.sources.linked_name:TABLE",
    "VALIDATION_FILE": "tables.release_files:VALIDATION",
    "VaultBusy": "errors",
    "VaultRefused": "errors",
    "VerificationFailed": "errors",
    "check": "pipeline.check",
    "check_lines": "pipeline.check_text",
    "Warehouse": "backends.warehouse",
    "check_manifest": "pipeline.release",
    "check_target": "draft.draft",
    "column_notes": "pipeline.notes",
    "compared_formats": "pipeline.formats",
    "counted_columns": "job.counted_columns",
    "count_apart": "job.count_apart",
    "describe_levels": "job.level_examples",
    "draft_job": "draft.draft",
    "draft_linked_job": "draft.linked",
    "evidence_in": "series.evidence",
    "frontier": "frontiers.run",
    "frontier_html": "frontiers.page.chart:html",
    "frontier_picture": "frontiers.page.chart:picture",
    "frontier_policies": "frontiers.space.stored",
    "glossary": "job.glossary",
    "hierarchies_problem": "job.hierarchies_stated",
    "job_document": "job.load",
    "job_name": "draft.draft",
    "job_schema": "job.json_schema",
    "key_places": "job.keys",
    "load_job": "job.load",
    "markdown_text": "codebook.markdown_text",
    "open_key": "job.keys",
    "open_regular": "regular_file",
    "open_series": "job.open_series",
    "keep_drift_facts": "pipeline.drift_file",
    "keeping_refused_drift": "pipeline.drift_file",
    "read_release": "pipeline.read_release",
    "refuse_beyond": "memory",
    "release_metrics": "pipeline.release_metrics",
    "recount": "verification",
    "run": "pipeline.run",
    "series_evidence": "job.open_series",
    "sound_key": "key_file",
    "strict_json": "json_document",
    "until_reader_leaves": "closed_output",
    "verify": "verification",
    "why_counted_in_full": "job.counted_columns",
    "write_manifest": "pipeline.release",
}

__all__ = [
    "CURRENT_LINK",
    "DATA_FILE",
    "FINGERPRINTS",
    "JOB_FILE",
    "MAKE_ONE",
    "MANIFEST",
    "MOST_OF_A_MANIFEST",
    "RELEASE_KEY_BYTES",
    "REPORT_FILE",
    "SHORTEST_KEY",
    "TABLE_COLUMN",
    "VALIDATION_FILE",
    "Check",
    "ColumnFigures",
    "Count",
    "CountApart",
    "CountedApart",
    "CountedTable",
    "Draft",
    "DriftRefused",
    "EngineError",
    "Finding",
    "FingerprintKey",
    "Frontier",
    "FrontierReport",
    "InvalidData",
    "InvalidJob",
    "Job",
    "KeyFile",
    "KeyPlace",
    "Message",
    "Metrics",
    "NoSolution",
    "PersonCounts",
    "PersonsRead",
    "PublishedReport",
    "ReleaseRules",
    "Report",
    "Result",
    "RowsBeyond",
    "SeriesEvidence",
    "SeriesRun",
    "SparkAccess",
    "SparkLost",
    "VaultBusy",
    "VaultRefused",
    "VerificationFailed",
    "Warehouse",
    "__version__",
    "check",
    "check_lines",
    "check_manifest",
    "check_target",
    "column_notes",
    "compared_formats",
    "count_apart",
    "counted_columns",
    "describe_levels",
    "draft_job",
    "draft_linked_job",
    "evidence_in",
    "frontier",
    "frontier_html",
    "frontier_picture",
    "frontier_policies",
    "glossary",
    "hierarchies_problem",
    "job_document",
    "job_name",
    "job_schema",
    "keep_drift_facts",
    "keeping_refused_drift",
    "key_places",
    "load_job",
    "markdown_text",
    "open_key",
    "open_regular",
    "open_series",
    "read_release",
    "recount",
    "refuse_beyond",
    "release_metrics",
    "run",
    "series_evidence",
    "sound_key",
    "strict_json",
    "until_reader_leaves",
    "verify",
    "why_counted_in_full",
    "write_manifest",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'engine' has no attribute {name!r}")
    home, _, original = _HOMES[name].partition(":")
    return getattr(importlib.import_module(f"engine.{home}"), original or name)

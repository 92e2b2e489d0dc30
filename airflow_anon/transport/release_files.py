"""Names of the files and tables of a run and of its release, for every room that reads or writes one."""

from __future__ import annotations

from engine import CURRENT_LINK as CURRENT
from engine import DATA_FILE as DATA
from engine import JOB_FILE as JOB
from engine import MANIFEST
from engine import REPORT_FILE as REPORT
from engine import VALIDATION_FILE as VALIDATION

__all__ = [
    "BOOKKEEPING",
    "CHANGES",
    "COUNTED",
    "COUNTS",
    "CURRENT",
    "DATA",
    "DRIFT",
    "FRONTIER_REPORT",
    "HASHES",
    "JOB",
    "JOB_READ",
    "KEPT",
    "MANIFEST",
    "POPULATION",
    "RELEASE_KEY",
    "REPORT",
    "ROWS_KEY",
    "SOURCE",
    "TABLE",
    "VALIDATION",
]

SOURCE = "source.parquet"
POPULATION = "population.parquet"
JOB_READ = "job_read.json"
"""Which job a release was made by: in its staging folder until the run ends, for the tasks that follow."""
ROWS_KEY = "rows_key.json"
"""The key by which a run left out rows of persons: in its staging folder until the run ends, for the validation."""
RELEASE_KEY = "release_key.json"
"""The key of pseudonyms and shifted dates that are others in each release: in staging until the run ends, likewise."""
DRIFT = "drift.json"
"""What is remembered of tonight's table: in the staging folder, until its release is published."""
CHANGES = "changes.parquet"
"""What changed since last night, until it is part of the staged table."""
HASHES = "hashes.bin"
"""The hash of each staged row, by which the next night's fingerprint needs those of changed rows alone."""
COUNTS = "counts.parquet"
"""The combinations of values of the staged table with their numbers of rows, of a job that is counted by changes."""
KEPT = "kept.json"
"""What the next night must know of the staged table to read changes alone: in staging, until it is published. It also
seals which counts are those of the staged table."""
TABLE = "table.json"
"""The table of a release that was made inside the database of its share, instead of a file of records."""
COUNTED = "counted.json"
"""What the validation of such a release is told of the source: in its staging folder until the run ends."""
FRONTIER_REPORT = "frontier.json"
"""The report of the weekly frontier, in a folder of its own."""
BOOKKEEPING = "_release"
"""What the name of the table that lists the loaded releases adds to that of the table."""

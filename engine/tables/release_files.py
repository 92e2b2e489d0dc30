"""Names of the files in a release folder; of formats beside Parquet `engine/formats` knows the names."""

from __future__ import annotations

DATA = "data.parquet"
"""The released table; a job with several tables has one file per table instead, named after it."""
REPORT = "report.json"
JOB = "job.yaml"
CODEBOOK = "codebook.json"
README = "README.md"
VALIDATION = "validation.json"
"""What the second judge found; only a run in Airflow has one."""
MANIFEST = "manifest.json"
"""Size and SHA-256 of all others."""

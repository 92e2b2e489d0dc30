"""Names of the files in a release folder, and of the link beside it; `engine/formats` knows those of other formats."""

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
CURRENT = "current"
"""The link beside the releases of a job that names the one that readers get."""

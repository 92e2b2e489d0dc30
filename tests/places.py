"""Where the project lies, and what lies in a release folder."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FILES = ["README.md", "codebook.json", "data.parquet", "job.yaml", "manifest.json", "report.json"]
"""Of a release by the engine, sorted."""

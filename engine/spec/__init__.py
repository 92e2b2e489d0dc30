"""What a job file can hold is declared by these: the base of its parts, paths, and the largest number of records."""

from engine.spec.base import FileName, Spec, parse
from engine.spec.most_records import MOST_RECORDS

__all__ = ["MOST_RECORDS", "FileName", "Spec", "parse"]

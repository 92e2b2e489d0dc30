"""What `airflow-anon doctor` tells of one thing that it looked at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Looked:
    """One thing that was looked at; as text, one line."""

    state: Literal["ok", "warning", "problem"]
    what: str
    text: str

    def __str__(self) -> str:
        return f"{self.state:8} {self.what}: {self.text}"

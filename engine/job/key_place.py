"""Where a job's secret key is: an Airflow connection, a private file, or nowhere, for a key of one release only.

This module imports no array packages: schedulers read job files.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import Field, model_validator
from typing_extensions import Self

from engine.spec import FileName, Spec


class KeyPlace(Spec):
    """The place of a key that stays the same over releases; without one each release has a random key of its own."""

    key_conn_id: str | None = Field(
        default=None, min_length=1, description="Airflow connection whose password is the key, at least 32 bytes."
    )
    key_file: FileName | None = Field(
        default=None, description="Private file (mode 0600) that holds the key, at least 32 bytes; made if absent."
    )
    key_id: str | None = Field(
        default=None,
        pattern=r"^[0-9a-f]{16}$",
        description="Check value of the key: with another key, or without one, nothing is read. The error of a job "
        "without it names it. Another one says that the key is replaced on purpose.",
    )

    @model_validator(mode="after")
    def _one_place(self) -> Self:
        if self.key_conn_id is not None and self.key_file is not None:
            raise ValueError("key_conn_id and key_file: there is one key; remove one")
        if self.key_id is not None and not self.is_persistent:
            raise ValueError("key_id: is of a key that stays; name it by key_conn_id or key_file, or remove key_id")
        return self

    @property
    def is_persistent(self) -> bool:
        """Whether the key is the same in every release."""
        return self.key_conn_id is not None or self.key_file is not None

    def moved_key(self, base: Path) -> dict[str, Any]:
        """Return what making the key file's path absolute changes."""
        return {} if self.key_file is None else {"key_file": str(base / self.key_file)}


KEY_FIELDS = frozenset(KeyPlace.model_fields)

"""The column that says of which of several linked tables a record is."""

from __future__ import annotations

TABLE = "table"

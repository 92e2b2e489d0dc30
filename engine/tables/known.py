"""What an attacker knows of a person: any one row, all rows, or up to so many of them."""

from __future__ import annotations

from typing import Literal, TypeAlias

Known: TypeAlias = Literal["any-row", "all-rows"] | int
MOST_KNOWN = 3
"""The most rows of a person that an attacker can be said to know, short of all."""

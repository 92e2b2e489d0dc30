"""Snowflake: each CREATE commits, that of temporary tables too; its random numbers are of a Mersenne twister.

Whoever has some of such numbers can work out the others, so records are ordered by their hash under a key of the run.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from airflow_anon.dialects.dialect import Dialect, written

_PARTS, _DIGITS = 4, 15


def _bytewise(sql: str, _: Any) -> str:
    return f"COLLATE({sql}, 'utf8')"


def _sums(records: sa.Subquery) -> sa.Select[Any]:
    text = sa.func.concat("", *written(records, lambda column: sa.cast(column, sa.String)))
    hashed = sa.select(sa.func.sha2(text, 256).label("hash")).subquery("hashed")
    parts = [
        sa.func.to_number(sa.func.substr(hashed.c.hash, 1 + _DIGITS * part, _DIGITS), "X" * _DIGITS)
        for part in range(_PARTS)
    ]
    return sa.select(sa.func.count(hashed.c.hash), *(sa.func.sum(part) for part in parts)).select_from(hashed)


SNOWFLAKE = Dialect(
    name="snowflake",
    unproven="its statements were run by another engine, and none in an account of it",
    bytewise=_bytewise,
    secret_random=lambda key: f"SHA2({key} || UUID_STRING(), 256)",
    keyed_random=True,
    sums=_sums,
    isolation="READ COMMITTED",
    copies=True,
    temporary=("TEMPORARY",),
)

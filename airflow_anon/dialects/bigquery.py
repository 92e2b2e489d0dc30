"""BigQuery: a table keeps no order, a connection has no transaction, and nothing is said of how its UUIDs are drawn."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from airflow_anon.dialects.dialect import Dialect, written

_PARTS, _DIGITS = 4, 15


def _bytewise(sql: str, _: Any) -> str:
    return f"COLLATE({sql}, '')"


def _sums(records: sa.Subquery) -> sa.Select[Any]:
    text = sa.func.concat("", *written(records, lambda column: sa.cast(column, sa.String)))
    hashed = sa.select(sa.func.to_hex(sa.func.sha256(text)).label("hash")).subquery("hashed")
    parts = [
        sa.cast(sa.func.concat("0x", sa.func.substr(hashed.c.hash, 1 + _DIGITS * part, _DIGITS)), sa.BigInteger)
        for part in range(_PARTS)
    ]
    wide = [sa.func.sum(sa.cast(part, sa.Numeric)) for part in parts]
    return sa.select(sa.func.count(hashed.c.hash), *wide).select_from(hashed)


BIGQUERY = Dialect(
    name="bigquery",
    unproven="a release and its bookkeeping are not switched in one transaction there, and a table keeps no order",
    bytewise=_bytewise,
    secret_random=lambda key: f"SHA256(CONCAT({key}, GENERATE_UUID()))",
    keyed_random=True,
    sums=_sums,
    isolation="AUTOCOMMIT",
    copies=True,
    temporary=("TEMPORARY",),
)

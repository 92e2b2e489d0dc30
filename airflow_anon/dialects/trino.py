"""Trino: it writes by connectors, of which hardly any has a transaction over two tables; none has temporary ones."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from airflow_anon.dialects.dialect import Dialect, written

_PARTS, _DIGITS = 4, 15


def _bytewise(sql: str, _: Any) -> str:
    # texts have no collation, and those of fixed length are padded
    return f"CAST({sql} AS VARCHAR)"


def _sums(records: sa.Subquery) -> sa.Select[Any]:
    text = sa.func.concat("", *written(records, lambda column: sa.cast(column, sa.String)))
    digest = sa.func.to_hex(sa.func.sha256(sa.func.to_utf8(text)))
    hashed = sa.select(digest.label("hash")).subquery("hashed")
    parts = [
        sa.cast(sa.func.from_base(sa.func.substr(hashed.c.hash, 1 + _DIGITS * part, _DIGITS), 16), sa.Numeric(38, 0))
        for part in range(_PARTS)
    ]
    return sa.select(sa.func.count(hashed.c.hash), *(sa.func.sum(part) for part in parts)).select_from(hashed)


TRINO = Dialect(
    name="trino",
    unproven="a release and its bookkeeping are not switched in one transaction there, and no table is of a session",
    bytewise=_bytewise,
    secret_random=lambda key: f"HMAC_SHA256(TO_UTF8(CAST(UUID() AS VARCHAR)), TO_UTF8({key}))",
    keyed_random=True,
    sums=_sums,
    isolation="AUTOCOMMIT",
    copies=True,
)

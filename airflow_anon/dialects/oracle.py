"""Oracle 18c and later: an empty text is a missing one, and CREATE TABLE commits, that of private tables too."""

from __future__ import annotations

from functools import reduce
from operator import add
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import oracle

from airflow_anon.dialects.dialect import Dialect, written

_PARTS, _DIGITS = 4, 15


def _bytewise(sql: str, _: Any) -> str:
    return f"({sql}) COLLATE BINARY"


def _sums(records: sa.Subquery) -> sa.Select[Any]:
    text = reduce(add, written(records, lambda column: sa.cast(column, oracle.VARCHAR2(4000))))
    digest = sa.func.rawtohex(sa.func.standard_hash(text, sa.literal_column("'SHA256'")))
    hashed = sa.select(digest.label("hash")).subquery("hashed")
    parts = [
        sa.func.to_number(sa.func.substr(hashed.c.hash, 1 + _DIGITS * part, _DIGITS), "X" * _DIGITS)
        for part in range(_PARTS)
    ]
    return sa.select(sa.func.count(hashed.c.hash), *(sa.func.sum(part) for part in parts)).select_from(hashed)


ORACLE = Dialect(
    name="oracle",
    unproven="its statements were run by another engine, and none on a server of it",
    bytewise=_bytewise,
    # of cryptographic strength; a role needs EXECUTE ON DBMS_CRYPTO
    secret_random=lambda _: "DBMS_CRYPTO.RANDOMBYTES(16)",
    types={
        "text": lambda: oracle.VARCHAR2(4000),
        "moment": oracle.TIMESTAMP,
        "moment in UTC": lambda: oracle.TIMESTAMP(timezone=True),
    },
    sums=_sums,
    settings=("ALTER SESSION SET NLS_COMP = BINARY", "ALTER SESSION SET NLS_SORT = BINARY"),
    isolation="READ COMMITTED",
    copies=True,
    temporary=("PRIVATE TEMPORARY",),
    temporary_name="ORA$PTT_",
    options={"oracle_on_commit": "PRESERVE DEFINITION"},
)

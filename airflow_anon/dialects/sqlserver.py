"""SQL Server: it takes texts that differ in blanks at the end for equal, whatever their collation, and bytes in zeros.

So a text is compared with a sign after it. SQLAlchemy leaves ORDER BY out of its INSERT ... SELECT unless it has an
OFFSET; without it a release would come in the order of the source.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import mssql

from airflow_anon.dialects.dialect import Dialect, written

COLLATION = "Latin1_General_100_BIN2"
_PARTS, _BYTES = 4, 8


def _bytewise(sql: str, _: Any) -> str:
    return f"(({sql}) + N'|') COLLATE {COLLATION}"


def _sums(records: sa.Subquery) -> sa.Select[Any]:
    text = sa.func.concat(
        "", *written(records, lambda column: sa.cast(column, mssql.NVARCHAR(None)), sa.func.datalength)
    )
    hashed = sa.select(sa.func.hashbytes("SHA2_256", text).label("hash")).subquery("hashed")
    parts = [
        sa.cast(sa.cast(sa.func.substring(hashed.c.hash, 1 + _BYTES * part, _BYTES), sa.BigInteger), sa.Numeric(38, 0))
        for part in range(_PARTS)
    ]
    return sa.select(sa.func.count(hashed.c.hash), *(sa.func.sum(part) for part in parts)).select_from(hashed)


SQL_SERVER = Dialect(
    name="mssql",
    unproven="its statements were run by another engine, and none on a server of it",
    bytewise=_bytewise,
    shown=lambda text, _: f"MIN({text})",
    # of cryptographic strength, and new for each record
    secret_random=lambda _: "CRYPT_GEN_RANDOM(16)",
    in_order=lambda asked: asked.offset(0),
    types={
        "text": lambda: mssql.NVARCHAR(None, collation=COLLATION),
        "time": lambda: mssql.TIME(6),
        "moment": lambda: mssql.DATETIME2(6),
        "moment in UTC": lambda: mssql.DATETIMEOFFSET(6),
        "bytes": lambda: mssql.VARBINARY("max"),
    },
    sums=_sums,
    isolation="SNAPSHOT",
    copies=True,
    temporary_name="#",
)

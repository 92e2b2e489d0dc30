"""PostgreSQL: one transaction that sees one snapshot, creates and fills tables, and is rolled back as a whole."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement

from airflow_anon.dialects.dialect import Dialect, Told
from airflow_anon.dialects.letters import blanks, small_letters
from airflow_anon.transport.postgresql_session import READING

if TYPE_CHECKING:
    from sqlalchemy.sql.compiler import IdentifierPreparer

_DRAWN = "sha256(uuid_send((SELECT gen_random_uuid())) || int8send(row_number() OVER ()))"
"""A key of cryptographic strength that is drawn once in a statement, and kept nowhere, and the number of a record: a
fifth of what it takes to draw a number of that strength for each."""
_PARTS = 4
_BYTES = 8
_CASTS_BYTES = (18,)
"""The first version in which bytes can be cast to a whole number."""


class _Digest(FunctionElement[Any]):
    """SHA-256 of bytes, as that of which `_Part` is made."""

    name = "digest"
    type = sa.types.NullType()
    inherit_cache = True


class _Part(FunctionElement[int]):
    """A part of a `_Digest` as a whole number with a sign, by the digest and the number of the part."""

    name = "part"
    type = sa.BigInteger()
    inherit_cache = True


@compiles(_Digest, "postgresql")
def _digest(element: _Digest, compiler: Any, **kwargs: Any) -> str:
    (written,) = (compiler.process(one, **kwargs) for one in element.clauses)
    if _casts_bytes(compiler):
        return f"sha256({written})"
    # bits once for all parts: to write each part as text of its own takes longer than the hash
    return f"CAST('x' || encode(sha256({written}), 'hex') AS BIT(256))"


@compiles(_Part, "postgresql")
def _part(element: _Part, compiler: Any, **kwargs: Any) -> str:
    digest, number = (compiler.process(one, **kwargs) for one in element.clauses)
    size = _BYTES if _casts_bytes(compiler) else 8 * _BYTES
    return f"CAST(SUBSTRING({digest} FROM {1 + size * int(number)} FOR {size}) AS BIGINT)"


def _casts_bytes(compiler: Any) -> bool:
    return (compiler.dialect.server_version_info or (0,)) >= _CASTS_BYTES


def _bytewise(sql: str, _: Any) -> str:
    return f'({sql}) COLLATE "C"'


def _ordered(asked: sa.Select[Any], keys: Sequence[sa.ColumnElement[Any]]) -> sa.Select[Any]:
    """Order records whose keys stand first, and then give out the others.

    A sort looks a key up by walking over the columns before it, once for each comparison.
    """
    named = [
        *(key.label(f"key{place}") for place, key in enumerate(keys)),
        *(column.label(f"given{place}") for place, column in enumerate(asked.selected_columns)),
    ]
    first = _once(asked.with_only_columns(*named).order_by(*named[: len(keys)])).subquery("ordered")
    found = list(first.c)
    # nothing is sorted twice, since the planner knows the order of a subquery
    return sa.select(*found[len(keys) :]).order_by(*found[: len(keys)])


def _once(asked: sa.Select[Any]) -> sa.Select[Any]:
    """Keep the planner from putting the expressions of a subquery into those that use its columns."""
    return asked.offset(sa.literal_column("0"))


def _sums(records: sa.Subquery) -> sa.Select[Any]:
    written = sa.cast(sa.func.row(*records.c), sa.Text)
    digest = _Digest(sa.func.convert_to(written, "UTF8"))
    hashed = _once(sa.select(digest.label("hash")).select_from(records)).subquery("hashed")
    parts = (_Part(hashed.c.hash, sa.literal_column(str(part))) for part in range(_PARTS))
    return sa.select(sa.func.count(), *(sa.func.sum(part) for part in parts)).select_from(hashed)


def _plain(text: sa.ColumnElement[Any]) -> sa.ColumnElement[Any]:
    small = small_letters()
    short, long = (
        # what has no counterpart is taken out
        sa.func.translate(text, "".join([*found, blanks()]), "".join(found.values()))
        for found in ({one: low for one, low in small.items() if one.isascii()}, small)
    )
    # most identifiers are ASCII, whose table is short
    return sa.case((sa.func.octet_length(text) == sa.func.char_length(text), short), else_=long)


def _filled(preparer: IdentifierPreparer, table: sa.Table, _: Sequence[Sequence[str]]) -> list[str]:
    """Tell the planner how large a new table is; else it takes joins for small ones."""
    return [f"ANALYZE {preparer.format_table(table)}"]


def _odd(column: sa.ColumnElement[Any]) -> sa.ColumnElement[bool] | None:
    """Return what no driver reads as it is: 24:00 becomes 00:00, and a number that is none is no decimal."""
    kind = column.type
    if isinstance(kind, sa.Time):
        return column > sa.cast(sa.literal("23:59:59.999999", sa.String(16)), kind)
    if isinstance(kind, sa.Numeric) and not isinstance(kind, sa.Float) and kind.precision:
        # others, which may be infinite too, are read as text
        return column == sa.cast("NaN", kind)
    return None


POSTGRESQL = Dialect(
    name="postgresql",
    bytewise=_bytewise,
    secret_random=lambda _: _DRAWN,
    once=_once,
    ordered=_ordered,
    sums=_sums,
    settings=READING,
    grouping=(
        # by hashing, which spills too, and not by sorting many texts
        "SET LOCAL enable_sort = off",
        # before version 18 a sort that must be has a cost then for which a server compiles every statement
        "SET LOCAL jit = off",
    ),
    combines=True,
    isolation="REPEATABLE READ",
    copies=False,
    unlogged=("UNLOGGED",),
    filled=_filled,
    odd=_odd,
    plain=_plain,
    counts_release=True,
    closes_tables=True,
    told=Told(
        refused=("42501",),
        cancelled=("57014",),
        ended=("25P03", "25P04"),
        # no serial order, a deadlock, a lock that was not given in time
        busy=("40001", "40P01", "55P03"),
        # a disk, and the limit of temporary files
        full=("53100", "53400"),
        unfit={
            "25006": "the connection leads to a server or role that only reads: a standby, or one with "
            "default_transaction_read_only; let it lead to the primary server, by a role that may write",
            "22P05": "the database keeps texts in an encoding that lacks a character of a label or of `missing`; write "
            "these in its characters, or set backend: auto",
            "22021": "a text is not UTF-8, and the encoding of the database (SQL_ASCII) does not say what it is; "
            "correct it in the source, or leave its column out",
        },
        grants="GRANT SELECT on what source names, and CREATE, USAGE ON SCHEMA of output.table",
        room="the disk of the server, and in its temporary files (temp_file_limit of the role)",
        longest_statement="statement_timeout of the role",
        longest_transaction="idle_in_transaction_session_timeout and transaction_timeout of the role",
    ),
)

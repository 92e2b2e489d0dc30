"""Expressions that databases write differently: equality by bytes, secret random numbers, signs of zeros.

What each writes stands in its value of `dialects`. A dialect that has none there does not compile: it is an error, not
another result.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement

from airflow_anon.dialects.dialect import Dialect
from airflow_anon.dialects.registry import DIALECTS


class Bytewise(FunctionElement[str]):
    """A text that is compared by its bytes, whatever the collation of its column."""

    name = "bytewise"
    type = sa.Text()
    inherit_cache = True


class Shown(FunctionElement[str]):
    """The text of a group of texts whose bytes are equal, by the text and by what they are grouped by."""

    name = "shown"
    type = sa.Text()
    inherit_cache = True


class SecretRandom(FunctionElement[Any]):
    """Random bits that nobody who has the release can work out, by a key that is kept nowhere where one is needed."""

    name = "secret_random"
    type = sa.types.NullType()
    inherit_cache = True

    def __init__(self) -> None:
        super().__init__(sa.literal(secrets.token_hex(32), sa.String(64)))


@compiles(Bytewise)
def _bytewise(element: Bytewise, compiler: Any, **kwargs: Any) -> str:
    (text,) = element.clauses
    return _of(compiler).bytewise(compiler.process(text, **kwargs), text.type)


@compiles(Shown)
def _shown(element: Shown, compiler: Any, **kwargs: Any) -> str:
    text, key = (compiler.process(one, **kwargs) for one in element.clauses)
    return _of(compiler).shown(text, key)


@compiles(SecretRandom)
def _secret_random(element: SecretRandom, compiler: Any, **kwargs: Any) -> str:
    dialect = _of(compiler)
    if not dialect.keyed_random:
        return dialect.secret_random("")
    (key,) = element.clauses
    return dialect.secret_random(compiler.process(key, **kwargs))


def _of(compiler: Any) -> Dialect:
    name = compiler.dialect.name
    if name not in DIALECTS:
        raise sa.exc.CompileError(
            f"backend sql: the statements of {name} are not known; known are those of {', '.join(DIALECTS)}"
        )
    return DIALECTS[name]


def comparable(column: sa.ColumnElement[Any]) -> sa.ColumnElement[Any]:
    """Return what tells two values of a column apart, but for the sign of a zero."""
    return Bytewise(column) if isinstance(column.type, sa.String) else column


def has_sign(column: sa.ColumnElement[Any]) -> bool:
    """Whether a column may hold a zero with a sign, which a database takes for equal to one without."""
    return isinstance(column.type, sa.Float)


def sign(column: sa.ColumnElement[Any]) -> sa.ColumnElement[int]:
    """Return 1 for a number that is written with a minus, else 0."""
    return sa.case((sa.cast(column, sa.String(64)).like("-%"), 1), else_=0)


def keys(column: sa.ColumnElement[Any]) -> list[sa.ColumnElement[Any]]:
    """Return what to group a column by, so that values with different texts are in different groups."""
    return [comparable(column), *([sign(column)] if has_sign(column) else [])]


class Keyed:
    """Records with the keys of some columns, in a subquery of their own: databases group by columns in the same way.

    Parameters
    ----------
    columns : sequence of columns
    where : sequence of conditions
    also : columns that are there by their names

    Attributes
    ----------
    records : Subquery
    keys : list of columns
        To group by.
    shown : list of columns
        For each column the value of a group.
    """

    def __init__(
        self,
        columns: Sequence[sa.ColumnElement[Any]],
        *where: sa.ColumnElement[bool],
        also: Sequence[sa.ColumnElement[Any]] = (),
    ) -> None:
        of_columns = [keys(column) for column in columns]
        self.records = (
            sa.select(
                *(column.label(f"value{place}") for place, column in enumerate(columns)),
                *(
                    one.label(f"key{place}_{part}")
                    for place, ones in enumerate(of_columns)
                    for part, one in enumerate(ones)
                ),
                *also,
            )
            .where(*where)
            .subquery("keyed")
        )
        named = [
            [self.records.c[f"key{place}_{part}"] for part in range(len(ones))] for place, ones in enumerate(of_columns)
        ]
        self.keys = [one for ones in named for one in ones]
        self.shown = [
            Shown(self.records.c[f"value{place}"], ones[0]) if isinstance(column.type, sa.String) else ones[0]
            for place, (column, ones) in enumerate(zip(columns, named, strict=True))
        ]

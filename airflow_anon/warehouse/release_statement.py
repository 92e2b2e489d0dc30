"""The statement that writes a release, by SQLAlchemy Core.

In: the records, for each quasi-identifier a table of what becomes of its values (`Labelled`), and one of the suppressed
classes. Out: one INSERT, in which each record is looked up by the numbers of its values, and ordered by its labels.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

import sqlalchemy as sa

from airflow_anon.warehouse.expressions import SecretRandom
from airflow_anon.warehouse.statements import is_value_of, whole

MARK = "*"


@dataclass(frozen=True)
class Labelled:
    """A quasi-identifier in a release.

    Attributes
    ----------
    numbers : Table
        Its distinct values (`numbered`).
    labels : Table
        What becomes of each, by `id`: see `labels_columns`.
    missing : tuple of code, place, label, refused, or None
        What becomes of a missing value; None if none was counted.
    refuses : bool
        Whether a value is refused.
    code_in, place_in : int
        In which of the numbers of a class, and in which of those of an order, its codes and places are added up.
    star : int
        The place of `*`.
    """

    numbers: sa.Table
    labels: sa.Table
    missing: tuple[int, int, str | None, int] | None
    refuses: bool
    code_in: int
    place_in: int
    star: int


def labels_columns(text: Any) -> list[sa.Column[Any]]:
    """Return columns for what becomes of values: code, place and text of the label, and whether it is refused.

    Codes and places, the ranks of labels, stand there multiplied as their `strides` say: added up over the
    quasi-identifiers they are the numbers of a class and those of an order.

    Parameters
    ----------
    text : type of SQLAlchemy
        That of a text.
    """
    return [
        sa.Column("id", sa.BigInteger),
        sa.Column("code", sa.BigInteger),
        sa.Column("place", sa.BigInteger),
        sa.Column("label", text),
        sa.Column("refused", sa.Integer),
    ]


def suppressed_columns(numbers: int) -> list[sa.Column[Any]]:
    """Return columns for the suppressed classes: the numbers of their codes, as many as there are `strides`."""
    return [sa.Column(f"class{number}", sa.BigInteger) for number in range(numbers)]


def release_into(
    target: sa.Table,
    records: sa.Subquery,
    quasi_identifiers: Mapping[str, Labelled],
    suppressed: sa.Table,
    *,
    drop: bool,
    ordered: Callable[[sa.Select[Any], Sequence[sa.ColumnElement[Any]]], sa.Select[Any]],
    in_order: Callable[[sa.Select[Any]], sa.Select[Any]],
    once: Callable[[sa.Select[Any]], sa.Select[Any]],
    persons: tuple[str, sa.Table] | None = None,
) -> sa.Insert:
    """Return the statement that writes a release, by class, and at random within a class.

    Parameters
    ----------
    target : Table
        Has the columns of the release.
    suppressed : Table
        See `suppressed_columns`.
    drop : bool
        Leave suppressed records out.
    ordered, in_order, once : callable
        See `Dialect`.
    persons : tuple of str and Table, optional
        The column of the numbers of persons, and the numbers of those who are suppressed.
    """
    names = [column.name for column in target.c]
    known = _labelled(records, quasi_identifiers, names if persons is None else [*names, persons[0]])
    labelled = once(known).subquery("labelled")
    same = [labelled.c[column.name] == column for column in suppressed.c]
    hidden = suppressed.c.class0.is_not(None)
    if "refused" in labelled.c:
        hidden = sa.or_(hidden, labelled.c.refused > 0)
    joined: sa.FromClause = labelled.outerjoin(suppressed, sa.and_(*same))
    if persons is not None:
        gone = persons[1]
        joined = joined.outerjoin(gone, labelled.c[f"column{len(names)}"] == gone.c.id)
        hidden = sa.or_(hidden, gone.c.id.is_not(None))
    columns = {name: labelled.c[f"column{number}"] for number, name in enumerate(names)}
    order = []
    for number, ones in enumerate(_groups({name: one.place_in for name, one in quasi_identifiers.items()})):
        last = whole(sum(quasi_identifiers[name].star for name in ones))
        ranks = labelled.c[f"order{number}"]
        order.append(ranks if drop else sa.case((hidden, last), else_=ranks))
    if not drop:
        for name in quasi_identifiers:
            columns[name] = sa.case((hidden, sa.literal(MARK, target.c[name].type)), else_=columns[name])
    wanted = sa.select(*columns.values()).select_from(joined)
    if drop:
        wanted = wanted.where(sa.not_(hidden))
    return target.insert().from_select(list(columns), in_order(ordered(wanted, [*order, SecretRandom()])))


def _labelled(
    records: sa.Subquery, quasi_identifiers: Mapping[str, Labelled], columns: Sequence[str]
) -> sa.Select[Any]:
    """Return each record with codes, places and labels of its quasi-identifiers, and whether a value is refused.

    Columns of the release are `column0`, ... in their order, codes `class0`, ..., places `order0`, ... (`strides`), and
    `refused`, which is there if a value is refused, is 0 for none; a record with a value that was not counted is left
    out.
    """
    joined: sa.FromClause = records
    told: dict[str, tuple[sa.ColumnElement[Any], ...]] = {}
    counted: list[sa.ColumnElement[bool]] = []
    for name, one in quasi_identifiers.items():
        values = [one.numbers.c.value, *([one.numbers.c.negative] if "negative" in one.numbers.c else [])]
        known = (
            sa.select(*values, one.labels.c.code, one.labels.c.place, one.labels.c.label, one.labels.c.refused)
            .select_from(sa.join(one.numbers, one.labels, one.numbers.c.id == one.labels.c.id))
            .subquery(f"labels{len(told)}")
        )
        column = records.c[name]
        told[name] = (known.c.code, known.c.place, known.c.label, known.c.refused)
        if one.missing is None:
            joined = joined.join(known, is_value_of(known, column))
            continue
        joined = joined.outerjoin(known, is_value_of(known, column))
        told[name] = tuple(
            sa.case((column.is_(None), sa.literal(missing, of_value.type)), else_=of_value)
            for missing, of_value in zip(one.missing, told[name], strict=True)
        )
        counted.append(told[name][0].is_not(None))
    selected = [
        (told[name][2] if name in told else records.c[name]).label(f"column{number}")
        for number, name in enumerate(columns)
    ]
    places = {
        "class": (0, {name: one.code_in for name, one in quasi_identifiers.items()}),
        "order": (1, {name: one.place_in for name, one in quasi_identifiers.items()}),
    }
    for what, (part, number_of) in places.items():
        for number, ones in enumerate(_groups(number_of)):
            selected.append(reduce(add, (told[name][part] for name in ones)).label(f"{what}{number}"))
    refused = [told[name][3] for name, one in quasi_identifiers.items() if one.refuses]
    if refused:
        selected.append(reduce(add, refused).label("refused"))
    return sa.select(*selected).select_from(joined).where(*counted)


def _groups(number_of: Mapping[str, int]) -> list[list[str]]:
    """Return which quasi-identifiers are added up in each number."""
    return [
        [name for name, number in number_of.items() if number == wanted] for wanted in sorted({*number_of.values()})
    ]

"""Whether a database does what is known of it, tried before anything is counted, by texts that are hard to tell apart.

In: a connection, and a way to make a table of the session. Out: nothing, or an error that says what the database did. A
release whose statements went wrong is refused when its records are counted, but not all is seen there: whether other
columns were found to be nearly unique, whether the order of the records tells that of the source, and whether a
publication that ends in its middle is taken back.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import sqlalchemy as sa
from airflow.providers.common.compat.sdk import AirflowFailException

from airflow_anon.dialects.letters import blanks, small_letters
from airflow_anon.dialects.registry import DIALECTS
from airflow_anon.warehouse import statements
from airflow_anon.warehouse.expressions import SecretRandom
from airflow_anon.warehouse.staged_persons import Filled, StagedPersons
from airflow_anon.warehouse.statements import MakeTable

if TYPE_CHECKING:
    from sqlalchemy import Connection

TEXTS = ("b", "a", "A", "a ", "a  ", " a", "ä", "Ä", "a\u0308", "ß", "ss", "é", "e", "\u65e5", "\U0001f642", "*", "a")
"""Letters, accents, blanks and signs that collations take for one another; the last one occurs twice."""
PERSONS = (*TEXTS, "\u13a0", "\uab70", "\u0416", "\u0436", "\u0130", "i", "\u3000p\u00a07\t", "P7", "\u2003")
"""Identifiers that are others but for case or blanks, by letters old and new to Unicode, and a blank one."""


def try_expressions(connection: Connection, make_table: MakeTable, text: Any) -> None:
    """Try how texts are told apart, whether an order is kept, and whether random numbers are new for each record.

    Parameters
    ----------
    text : type of SQLAlchemy
        That of texts in tables of ours.

    Raises
    ------
    AirflowFailException
        The database does something else, so nothing is counted.
    """
    how = DIALECTS[connection.dialect.name]
    table = make_table("trial", [sa.Column("place", sa.Integer), sa.Column("q", text)])
    rows = [{"place": place, "q": one} for place, one in enumerate((*TEXTS, None))]
    connection.execute(table.insert(), rows)
    records = sa.select(table).subquery("records")
    _try_numbers(connection, make_table, records)
    figures = statements.figures_of(records.c.q, ["A"], 2)
    told = tuple(int(figure) for figure in connection.execute(figures).one())
    if told != (len(TEXTS) - 1, len({*TEXTS}) - 1, 2, len(TEXTS) - 3):
        raise _otherwise(connection, "counts texts that differ in case, accents or blanks as the same")
    drawn = connection.scalars(sa.select(SecretRandom()).select_from(table)).all()
    if len({bytes(one) if isinstance(one, bytearray | memoryview) else one for one in drawn}) != len(rows):
        raise _otherwise(connection, "gives several records the same random number, so their order would be known")
    sorted_ = make_table("sorted", [sa.Column("place", sa.Integer)])
    asked = how.in_order(sa.select(table.c.place).order_by(table.c.place.desc()))
    connection.execute(sorted_.insert().from_select(["place"], asked))
    if list(connection.scalars(sa.select(sorted_.c.place))) != list(reversed(range(len(rows)))):
        raise _otherwise(connection, "does not keep the order in which records are inserted")


def _try_numbers(connection: Connection, make_table: MakeTable, records: sa.Subquery) -> None:
    """Give the texts numbers, and count them by number, as the values of a column are counted."""
    numbers = make_table("numbers", statements.numbered(records.c.q))
    connection.execute(statements.number_values(numbers, records.c.q))
    value_of = dict(connection.execute(sa.select(numbers.c.id, numbers.c.value)).all())
    counted: Counter[str | None] = Counter()
    for number, count in connection.execute(statements.counts_of(statements.codes_of(records, {"q": numbers}, [[1]]))):
        counted[value_of.get(number)] += int(count)
    if sorted(value_of) != list(range(1, len({*TEXTS}) + 1)) or counted != Counter((*TEXTS, None)):
        raise _otherwise(connection, "takes texts that differ in case, accents or blanks for the same")


def try_persons(connection: Connection, make_table: MakeTable, filled: Filled, text: Any) -> None:
    """Try whether each identifier is one person, of whom one row stays; see `try_expressions`.

    Raises
    ------
    AirflowFailException
        The database does something else, so nothing is counted.
    """
    table = make_table("trial_of_persons", [sa.Column("place", sa.BigInteger), sa.Column("q", text)])
    texts = (*PERSONS, *PERSONS, None)
    connection.execute(table.insert(), [{"place": place, "q": one} for place, one in enumerate(texts)])
    found = StagedPersons(
        connection,
        sa.select(table).subquery("records"),
        pa.schema([("place", pa.int64())]),
        "q",
        1,
        lambda what, columns: make_table(f"trial_{what}", columns),
        filled,
    )
    different, plain = {*PERSONS}, {_plain(one) for one in PERSONS}
    rows = connection.execute(sa.select(found.records.c.place, found.records.c[found.person])).all()
    person_of = {texts[place]: person for place, person in rows}
    are_known = {*person_of} == {None, *different} and {*person_of.values()} == {None, *range(len(different))}
    beyond = (len(texts) - len(rows), len(different))
    if not are_known or len(rows) != len(person_of) or found.read.further != beyond:
        raise _otherwise(connection, "makes one person of several identifiers, or several of one")
    if (found.read.missing, found.read.alike) != (3, len(different) - len(plain)):
        raise _otherwise(connection, "does not tell which identifiers are others but for case or blanks")


def _plain(text: str) -> str:
    return "".join(small_letters().get(one, one) for one in text if one not in blanks())


def try_changes(connection: Connection, table: sa.Table) -> None:
    """Try whether a change of a table, which is empty, is taken back with its transaction.

    Raises
    ------
    AirflowFailException
        It stays, so a publication that ends in its middle would leave half of a release.
    """
    connection.commit()
    connection.execute(table.insert(), {column.name: None for column in table.c})
    connection.rollback()
    if connection.scalar(sa.select(sa.func.count()).select_from(table)):
        raise _otherwise(connection, "does not take back what a transaction has changed that ends early")


def _otherwise(connection: Connection, what: str) -> AirflowFailException:
    return AirflowFailException(
        f"backend sql: this server of {connection.dialect.name} {what}; nothing was counted; tell who keeps the "
        "server, or set backend: auto"
    )

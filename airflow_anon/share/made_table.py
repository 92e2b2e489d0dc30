"""A release that was made inside the database of its share: its table, bound to its folder by the hash of its content.

In: the table that a job inside its warehouse wrote. Out: `table.json` of its release folder, whose manifest has the
hash of that file. Whoever changes a record of the table before it is published, changes the hash.
"""

from __future__ import annotations

import json
import secrets
from pathlib import Path
from typing import TYPE_CHECKING

from airflow.providers.common.compat.sdk import AirflowFailException

from airflow_anon.transport.content_hash import ContentDocument, ContentHash, kinds_of
from airflow_anon.transport.release_files import TABLE
from airflow_anon.transport.table_content import hash_of_content

if TYPE_CHECKING:
    import pyarrow as pa
    from sqlalchemy import Connection


class MadeTable(ContentDocument):
    """`table.json`: the content of a table, and where it is.

    Attributes
    ----------
    name : str
        Of the table in the schema of the share, until it is published.
    rows : int
        Records of the release.
    salt : str
        Of the hash, 64 hexadecimal digits.
    """

    name: str
    rows: int
    salt: str


def content_of(released: pa.Schema) -> ContentHash:
    """Return the hash of the content of a release of some columns, without a record yet, with a new salt."""
    return ContentHash(kinds_of(released), secrets.token_hex(32))


def made_table(
    connection: Connection,
    name: str,
    schema: str | None,
    released: pa.Schema,
    rows: int,
    content: ContentHash | None = None,
) -> MadeTable:
    """Describe a table that was made within a transaction.

    Parameters
    ----------
    released : pyarrow Schema
        Its columns, in the types of a share.
    content : ContentHash, optional
        Of `content_of`, with all of its records, where they were read already.
    """
    if content is None:
        content = content_of(released)
        sha256 = hash_of_content(connection, name, schema, content)
    else:
        sha256 = content.hexdigest()
    if sha256 is None:
        raise AirflowFailException(
            f"table {name}: holds a cell that cannot be read back, such as a text that is not UTF-8 in a database of "
            "SQL_ASCII; correct it in the source, or leave its column out"
        )
    return {"name": name, "rows": rows, "salt": content.salt, **content.document()}


def people_name(release: str) -> str:
    """Return the name of the table that says whose the records of a release are, beside that of the release."""
    return f"{release}_people"


_AGAIN = "clear the run from the de-identification on"


def refuse_gone(connection: Connection, schema: str | None, made: MadeTable) -> None:
    """Raise `AirflowFailException` if a table that was made is not there any more."""
    import sqlalchemy as sa  # noqa: PLC0415 (heavy imports belong into execute)

    if not sa.inspect(connection).has_table(made["name"], schema=schema):
        raise AirflowFailException(f"table {made['name']}: the release made in the warehouse is gone; {_AGAIN}")


def check_made(connection: Connection, schema: str | None, made: MadeTable) -> None:
    """Compare a table with what is written of it.

    Raises
    ------
    AirflowFailException
        It is gone, or was changed.
    """
    refuse_gone(connection, schema, made)
    if not holds_made(connection, schema, made):
        raise AirflowFailException(
            f"table {made['name']}: is not the release made in the warehouse, somebody changed it, or the server "
            f"crashed, which may empty what waits; {_AGAIN}"
        )


def holds_made(connection: Connection, schema: str | None, made: MadeTable) -> bool:
    """Tell whether a table that is there has the columns and the content that are written of one that was made."""
    import sqlalchemy as sa  # noqa: PLC0415 (heavy imports belong into execute)

    kinds = {column["name"]: column["kind"] for column in made["columns"]}
    there = [column["name"] for column in sa.inspect(connection).get_columns(made["name"], schema=schema)]
    content = ContentHash(kinds, made["salt"], method=made.get("method"))
    return there == list(kinds) and hash_of_content(connection, made["name"], schema, content) == made["sha256"]


def read_made(folder: Path) -> MadeTable | None:
    """Read `table.json` of a release folder that was compared with its manifest; None if its records are in a file."""
    path = folder / TABLE
    if not path.exists():
        return None
    made: MadeTable = json.loads(path.read_text(encoding="utf-8"))
    return made


def write_made(folder: Path, made: MadeTable) -> None:
    """Write `table.json` into a release folder; its manifest is to be written again."""
    (folder / TABLE).write_text(json.dumps(made, indent=2, allow_nan=False), encoding="utf-8")

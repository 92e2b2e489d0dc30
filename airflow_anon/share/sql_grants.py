"""Who may do what with a PostgreSQL table: given to its successor, taken from everybody, or refused for its owner."""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow.providers.common.compat.sdk import AirflowFailException

from airflow_anon.transport.connection import names_of, run_plain

if TYPE_CHECKING:
    from sqlalchemy import Connection

_GRANTS = """
SELECT entry.privilege_type, entry.is_grantable, entry.grantee = 0 AS everyone, role.rolname
FROM pg_catalog.pg_class AS class
CROSS JOIN LATERAL pg_catalog.aclexplode(class.relacl) AS entry
LEFT JOIN pg_catalog.pg_roles AS role ON role.oid = entry.grantee
WHERE class.oid = CAST(:name AS regclass) AND entry.grantee <> class.relowner
"""


def grants_on(connection: Connection, quoted: str) -> list[str]:
    """Return the GRANT statements that give a table the privileges `quoted` has; none on other databases.

    Parameters
    ----------
    quoted : str
        The table, with its schema, quoted by `names_of`; the statements are to be run without parameters.
    """
    from sqlalchemy import text  # noqa: PLC0415 (heavy imports belong into execute)

    if connection.dialect.name != "postgresql":
        return []
    quote = names_of(connection.dialect).quote_identifier
    return [
        f"GRANT {privilege} ON {quoted} TO {'PUBLIC' if everyone else quote(role)}"
        + (" WITH GRANT OPTION" if grantable else "")
        for privilege, grantable, everyone, role in connection.execute(text(_GRANTS), {"name": quoted})
    ]


def close_to_others(connection: Connection, quoted: str) -> None:
    """Take from everybody but the owner what default privileges gave on a table that is not a release yet.

    Parameters
    ----------
    quoted : str
        See `grants_on`.
    """
    from sqlalchemy import text  # noqa: PLC0415 (heavy imports belong into execute)

    if connection.dialect.name != "postgresql":
        return
    quote = names_of(connection.dialect).quote_identifier
    entries = connection.execute(text(_GRANTS), {"name": quoted}).all()
    for everyone, role in {(everyone, role) for _, _, everyone, role in entries}:
        run_plain(connection, f"REVOKE ALL ON {quoted} FROM {'PUBLIC' if everyone else quote(role)} CASCADE")


def refuse_other_owner(connection: Connection, quoted: str) -> None:
    """Refuse a table that was made within the transaction and belongs to another role by now.

    Members of that role could read and change what waits in it.

    Parameters
    ----------
    quoted : str
        See `grants_on`.

    Raises
    ------
    AirflowFailException
        Names the owner; the table is gone with the transaction.
    """
    from sqlalchemy import text  # noqa: PLC0415 (heavy imports belong into execute)

    if connection.dialect.name != "postgresql":
        return
    asked = (
        "SELECT pg_catalog.quote_ident(CAST(pg_catalog.pg_get_userbyid(relowner) AS text)), "
        "pg_catalog.quote_ident(CAST(current_user AS text)) "
        "FROM pg_catalog.pg_class WHERE oid = CAST(:name AS regclass)"
    )
    owner, role = connection.execute(text(asked), {"name": quoted}).one()
    if owner != role:
        raise AirflowFailException(
            f"table {quoted}: was made by role {role} and belongs to {owner}, whose members could read and change a "
            "release that waits in it: an event trigger gives tables to others; let it leave out tables whose names "
            f"begin with load_, or those of {role}"
        )

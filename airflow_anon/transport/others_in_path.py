"""Who else may put a function of their own in the place of one of PostgreSQL, in the sessions of a role.

In: a connection of a driver, as it was opened. Out: nobody, or who may create where our names are looked up, in words
with the fix. PostgreSQL prefers the function or operator whose arguments fit best, in whatever schema of the search
path it is; one of somebody else would run with our rights, and read and change what we may.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from sqlalchemy import Engine

# Each name with its schema, and no word that looks one up by itself (IN, USING, LIKE): this is asked in the path
# that it is about. Superusers, the role, its members and the owner of the database are trusted.
_OTHERS = """
WITH path AS (
    SELECT space.oid, space.nspname, space.nspowner, space.nspacl FROM pg_catalog.pg_namespace AS space
    WHERE space.nspname OPERATOR(pg_catalog.=) ANY (pg_catalog.current_schemas(false))
    AND space.nspname OPERATOR(pg_catalog.<>) 'pg_catalog'::pg_catalog.name
), others AS (
    SELECT role.oid, role.rolname, role.rolcanlogin FROM pg_catalog.pg_roles AS role
    JOIN pg_catalog.pg_roles AS me ON me.rolname OPERATOR(pg_catalog.=) current_user
    JOIN pg_catalog.pg_database AS base ON base.datname OPERATOR(pg_catalog.=) pg_catalog.current_database()
    WHERE NOT role.rolsuper AND NOT pg_catalog.pg_has_role(role.oid, me.oid, 'MEMBER'::pg_catalog.text)
    AND NOT pg_catalog.pg_has_role(role.oid, base.datdba, 'MEMBER'::pg_catalog.text)
    AND role.rolname OPERATOR(pg_catalog.<>) 'pg_database_owner'::pg_catalog.name
), may AS (
    SELECT path.nspname, path.nspowner AS oid FROM path
    UNION ALL SELECT path.nspname, entry.grantee FROM path
    CROSS JOIN LATERAL pg_catalog.aclexplode(path.nspacl) AS entry
    WHERE entry.privilege_type OPERATOR(pg_catalog.=) 'CREATE'::pg_catalog.text
), made AS (
    SELECT path.nspname, one.proname AS name, one.proowner AS owner FROM pg_catalog.pg_proc AS one
    JOIN path ON path.oid OPERATOR(pg_catalog.=) one.pronamespace WHERE EXISTS (
        SELECT FROM pg_catalog.pg_proc AS known WHERE known.proname OPERATOR(pg_catalog.=) one.proname
        AND known.pronamespace OPERATOR(pg_catalog.=) 'pg_catalog'::pg_catalog.regnamespace::pg_catalog.oid)
    UNION ALL SELECT path.nspname, one.oprname, one.oprowner FROM pg_catalog.pg_operator AS one
    JOIN path ON path.oid OPERATOR(pg_catalog.=) one.oprnamespace WHERE EXISTS (
        SELECT FROM pg_catalog.pg_operator AS known WHERE known.oprname OPERATOR(pg_catalog.=) one.oprname
        AND known.oprnamespace OPERATOR(pg_catalog.=) 'pg_catalog'::pg_catalog.regnamespace::pg_catalog.oid)
)
SELECT pg_catalog.quote_ident(current_user::pg_catalog.text), 'create'::pg_catalog.text,
    pg_catalog.quote_ident(may.nspname::pg_catalog.text), 'PUBLIC'::pg_catalog.text
FROM may WHERE may.oid OPERATOR(pg_catalog.=) '0'::pg_catalog.oid
UNION ALL SELECT pg_catalog.quote_ident(current_user::pg_catalog.text), 'create'::pg_catalog.text,
    pg_catalog.quote_ident(may.nspname::pg_catalog.text), pg_catalog.quote_ident(others.rolname::pg_catalog.text)
FROM may JOIN others ON others.rolcanlogin AND pg_catalog.pg_has_role(others.oid, may.oid, 'MEMBER'::pg_catalog.text)
WHERE EXISTS (SELECT FROM others AS holder WHERE holder.oid OPERATOR(pg_catalog.=) may.oid)
UNION ALL SELECT pg_catalog.quote_ident(current_user::pg_catalog.text), 'made'::pg_catalog.text,
    pg_catalog.format('%I.%s'::pg_catalog.text, VARIADIC ARRAY[made.nspname::pg_catalog.text,
    made.name::pg_catalog.text]), pg_catalog.quote_ident(others.rolname::pg_catalog.text)
FROM made JOIN others ON others.oid OPERATOR(pg_catalog.=) made.owner
"""
_MOST_NAMED = 5


class Others(NamedTuple):
    """The role whose path it is, and in words who else may create there, or has, and what to do."""

    role: str
    told: str
    fixes: str

    def refusal(self, harm: str, instead: str) -> str:
        """Say why the path is refused, what they could do, and what the role's path may be instead."""
        return (
            f"search_path of role {self.role}: {self.told}. PostgreSQL would call a function of theirs with the rights "
            f"of {self.role}, so they could {harm}. {self.fixes}; or ALTER ROLE {self.role} SET search_path {instead}"
        )


def others_in_path(connection: Any) -> Others | None:
    """Return who may create in the search path, or has put there what has the name of one of PostgreSQL's.

    Parameters
    ----------
    connection : DBAPI connection
        Of PostgreSQL.
    """
    with closing(connection.cursor()) as cursor:
        cursor.execute(_OTHERS)
        found = cursor.fetchall()
    if not found:
        return None
    creators = sorted({(where, who) for _, kind, where, who in found if kind == "create"})
    made = sorted({(what, owner) for _, kind, what, owner in found if kind == "made"})
    told, fixes = [], []
    for schema in dict.fromkeys(where for where, _ in creators):
        who = [one for where, one in creators if where == schema]
        is_open = "PUBLIC" in who
        told.append(f"{'everyone' if is_open else _listed(who)} may create in schema {schema}")
        fixes.append(
            f"REVOKE CREATE ON SCHEMA {schema} FROM {'PUBLIC' if is_open else 'others, none of whom may own it'}"
        )
    if made:
        whose = _listed(sorted({owner for _, owner in made}))
        told.append(f"{_listed([what for what, _ in made])} of {whose} has the name of one of PostgreSQL's")
        fixes.append("DROP what others have made under such a name")
    return Others(found[0][0], "; ".join(told), "; ".join(fixes))


def ask_in_new_sessions(engine: Engine, ask: Callable[[Any], None]) -> Engine:
    """Let each new session of an engine of PostgreSQL begin with a question to its connection; return the engine."""
    from sqlalchemy import event  # noqa: PLC0415 (heavy imports belong into execute)

    if engine.dialect.name == "postgresql":
        # not `connect`, before which SQLAlchemy asks statements of its own
        @event.listens_for(engine, "do_connect")
        def _connect(dialect: Any, _record: Any, arguments: Sequence[Any], options: dict[str, Any]) -> Any:
            connection = dialect.connect(*arguments, **options)
            try:
                ask(connection)
                connection.rollback()
            except BaseException:
                connection.close()
                raise
            return connection

    return engine


def _listed(names: Sequence[str]) -> str:
    further = len(names) - _MOST_NAMED
    return ", ".join(names[:_MOST_NAMED]) + (f" and {further} more" if further > 0 else "")

"""What keeps a table of a SQL share from holding exactly the records of a release, or is lost when it is replaced.

In: a table over a connection. Out: nothing, or an error that names what is in the way, and the fix. A DELETE and an
INSERT do what they say only where no rule, trigger or policy of the table makes something else of them, and where no
other table hangs on it. What the catalog does not show to a role is found by counting: `refuse_other_records`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow.providers.common.compat.sdk import AirflowFailException

from engine import Count, Message

if TYPE_CHECKING:
    from sqlalchemy import Connection, Table

# By names, since to_regclass refuses a schema that the role may not use; the casts cut names as the server does.
_TARGET = """
WITH target AS (SELECT pg_class.oid, relkind, relrowsecurity FROM pg_catalog.pg_class
JOIN pg_catalog.pg_namespace ON pg_namespace.oid = relnamespace WHERE relname = CAST(:name AS name) AND CASE
WHEN CAST(:schema AS name) IS NULL THEN pg_catalog.pg_table_is_visible(pg_class.oid)
ELSE nspname = CAST(:schema AS name) END)"""
# A partition may have triggers of its own, rules and policies of partitions count only where they are named themselves.
_IN_POSTGRESQL = f"""{_TARGET},
parts AS (SELECT oid FROM target UNION SELECT relid FROM target CROSS JOIN pg_catalog.pg_partition_tree(target.oid))
SELECT CASE relkind WHEN 'v' THEN 'view' WHEN 'm' THEN 'view' ELSE 'other' END AS kind, '' AS name
FROM target WHERE relkind NOT IN ('r', 'p')
UNION ALL SELECT 'security', '' FROM target WHERE pg_catalog.row_security_active(oid)
UNION ALL SELECT 'rule', rulename FROM pg_catalog.pg_rewrite JOIN target ON ev_class = target.oid
WHERE ev_type IN ('3', '4') AND ev_enabled <> 'D'
UNION ALL SELECT 'trigger', tgname FROM pg_catalog.pg_trigger JOIN parts ON tgrelid = parts.oid
WHERE NOT tgisinternal AND tgenabled <> 'D' AND tgtype & 3 = 3 AND tgtype & 12 <> 0
UNION ALL SELECT 'heir', CAST(CAST(inhrelid AS regclass) AS text) FROM pg_catalog.pg_inherits
JOIN target ON inhparent = target.oid WHERE relkind = 'r'
UNION ALL SELECT 'elsewhere', CAST(CAST(class.oid AS regclass) AS text) FROM pg_catalog.pg_class AS class
JOIN parts ON parts.oid = class.oid WHERE class.relkind = 'f'
UNION ALL SELECT 'key', conname FROM pg_catalog.pg_constraint JOIN parts ON confrelid = parts.oid WHERE contype = 'f'
UNION ALL SELECT 'identity', pubname FROM pg_catalog.pg_publication
JOIN pg_catalog.pg_publication_tables USING (pubname) JOIN pg_catalog.pg_namespace ON nspname = schemaname
JOIN pg_catalog.pg_class AS class ON relnamespace = pg_namespace.oid AND relname = tablename
JOIN parts ON parts.oid = class.oid WHERE pubdelete AND relkind = 'r' AND (relreplident = 'n' OR relreplident = 'd'
AND NOT EXISTS (SELECT FROM pg_catalog.pg_index WHERE indrelid = class.oid AND indisprimary))
"""
_TRIGGERS_IN_POSTGRESQL = f"""{_TARGET},
parts AS (SELECT oid FROM target UNION SELECT relid FROM target CROSS JOIN pg_catalog.pg_partition_tree(target.oid))
SELECT tgname FROM pg_catalog.pg_trigger JOIN parts ON tgrelid = parts.oid WHERE NOT tgisinternal AND tgenabled <> 'D'
"""
_IN_SQLITE = "SELECT 'other' AS kind, '' AS name FROM pragma_table_list WHERE name = :name AND type = 'virtual'"
_IN_MARIADB = """
SELECT 'versions' AS kind, '' AS name FROM information_schema.tables
WHERE table_schema = coalesce(:schema, database()) AND table_name = :name AND table_type = 'SYSTEM VERSIONED'
UNION ALL SELECT 'trigger', trigger_name FROM information_schema.triggers
WHERE event_object_schema = coalesce(:schema, database()) AND event_object_table = :name
AND action_timing = 'BEFORE' AND event_manipulation IN ('INSERT', 'DELETE')
UNION ALL SELECT 'key', constraint_name FROM information_schema.referential_constraints
WHERE unique_constraint_schema = coalesce(:schema, database()) AND referenced_table_name = :name
"""
_OBSTACLES = {"postgresql": _IN_POSTGRESQL, "sqlite": _IN_SQLITE, "mariadb": _IN_MARIADB}

_WORDS = {
    "view": "is a view; name a table or a new name",
    "other": "is neither a plain nor a partitioned table; name another one",
    "security": "has row-level security that hides records from this role, so an earlier release could stay in it; "
    "publish as the owner of the table (without FORCE ROW LEVEL SECURITY), or as a role with BYPASSRLS",
    "rule": "has a rule that rewrites what is written into it: {names}; drop the rule, or make a view for what it does",
    "trigger": "has a trigger that may change or leave out records before they are written: {names}; drop it, or make "
    "it one AFTER the statement",
    "heir": "has tables that inherit from it, whose records would be deleted and read with its own: {names}; take them "
    "off by ALTER TABLE … NO INHERIT, or name another table",
    "elsewhere": "has partitions on another server, where a transaction is not taken back: {names}; detach them, or "
    "name another table",
    "key": "is referred to by foreign keys, so its records cannot be replaced, or others would go with them: {names}; "
    "drop them, or name another table",
    "identity": "is published to subscribers who are told which records are deleted, and has no key by which to tell "
    "it: {names}; ALTER TABLE … REPLICA IDENTITY FULL, or take it out of the publication",
    "versions": "keeps the records of earlier releases as versions (SYSTEM VERSIONED), also of a release that is "
    "recalled; ALTER TABLE … DROP SYSTEM VERSIONING, or name another table",
}

_LOST_IN_POSTGRESQL = f"""{_TARGET}
SELECT 'its row-level security' FROM target WHERE relrowsecurity
UNION ALL SELECT 'policy ' || polname FROM pg_catalog.pg_policy JOIN target ON polrelid = target.oid
UNION ALL SELECT 'trigger ' || tgname FROM pg_catalog.pg_trigger JOIN target ON tgrelid = target.oid
WHERE NOT tgisinternal
UNION ALL SELECT 'rule ' || rulename FROM pg_catalog.pg_rewrite JOIN target ON ev_class = target.oid
UNION ALL SELECT DISTINCT 'view ' || CAST(CAST(ev_class AS regclass) AS text) FROM pg_catalog.pg_depend
JOIN target ON refclassid = CAST('pg_catalog.pg_class' AS regclass) AND refobjid = target.oid
JOIN pg_catalog.pg_rewrite ON classid = CAST('pg_catalog.pg_rewrite' AS regclass) AND objid = pg_rewrite.oid
WHERE ev_class <> target.oid
UNION ALL SELECT 'its place below table ' || CAST(CAST(inhparent AS regclass) AS text) FROM pg_catalog.pg_inherits
JOIN target ON inhrelid = target.oid
UNION ALL SELECT 'partition ' || CAST(CAST(inhrelid AS regclass) AS text) FROM pg_catalog.pg_inherits
JOIN target ON inhparent = target.oid
UNION ALL SELECT 'its place in publication ' || pubname FROM pg_catalog.pg_publication_rel
JOIN target ON prrelid = target.oid JOIN pg_catalog.pg_publication ON pg_publication.oid = prpubid
UNION ALL SELECT 'privileges of column ' || attname FROM pg_catalog.pg_attribute JOIN target ON attrelid = target.oid
WHERE attacl IS NOT NULL
UNION ALL SELECT 'its security label' FROM pg_catalog.pg_seclabel
JOIN target ON classoid = CAST('pg_catalog.pg_class' AS regclass) AND objoid = target.oid
"""
_LOST_IN_SQLITE = """
SELECT type || ' ' || name FROM sqlite_master WHERE type = 'trigger' AND lower(tbl_name) = lower(:name)
"""
_LOST = {"postgresql": _LOST_IN_POSTGRESQL, "sqlite": _LOST_IN_SQLITE}


def refuse_obstacles(connection: Connection, name: str, schema: str | None) -> None:
    """Refuse a table, if it is there, whose records cannot be replaced by those of a release and by no others.

    Raises
    ------
    AirflowFailException
        Names what is in the way, and the fix.
    """
    found: dict[str, list[str]] = {}
    for kind, one in _asked(connection, _OBSTACLES, name, schema):
        found.setdefault(kind, []).append(one)
    for kind, names in found.items():
        why = _WORDS[kind].format(names=", ".join(map(repr, sorted(set(names)))))
        raise AirflowFailException(f"output table {name!r}: {why}")


def refuse_loss(connection: Connection, name: str, schema: str | None) -> None:
    """Refuse to replace a table that has something which its successor would lack, such as a policy of who may read it.

    Raises
    ------
    AirflowFailException
        Names what would be lost.
    """
    lost = sorted({one for (one,) in _asked(connection, _LOST, name, schema)})
    if lost:
        raise AirflowFailException(
            f"output table {name!r}: the release has other columns, so the table must be replaced, and with it would "
            f"be lost: {', '.join(lost)}; remove or move this yourself, or name another table"
        )


def refuse_changed_records(connection: Connection, name: str, schema: str | None, made: Table) -> None:
    """Compare the records of a table that has triggers with those that were written, within the same transaction.

    It is for PostgreSQL; elsewhere nothing is compared.

    Parameters
    ----------
    made : Table
        Has the records that were written.

    Raises
    ------
    AirflowFailException
        They are others.
    """
    import sqlalchemy as sa  # noqa: PLC0415 (heavy imports belong into execute)

    triggers = sorted({one for (one,) in _asked(connection, {"postgresql": _TRIGGERS_IN_POSTGRESQL}, name, schema)})
    if not triggers:
        return
    there, wanted = sa.select(made.to_metadata(sa.MetaData(), name=name)), sa.select(made)
    for one, other in ((there, wanted), (wanted, there)):
        if connection.execute(sa.except_all(one, other).limit(1)).first() is not None:
            raise AirflowFailException(
                f"output table {name!r}: holds other records than were written into it, which a trigger of it has "
                f"changed: {', '.join(map(repr, triggers))}; nothing is changed; drop the trigger, or name another "
                "table"
            )


def refuse_other_records(connection: Connection, name: str, schema: str | None, records: int) -> None:
    """Compare the number of records of a table with what it must be, within the transaction that wrote them.

    Triggers of PostgreSQL that wait for the end of the transaction are called before.

    Raises
    ------
    AirflowFailException
        It is another number.
    """
    import sqlalchemy as sa  # noqa: PLC0415 (heavy imports belong into execute)

    if connection.dialect.name == "postgresql":
        connection.execute(sa.text("SET CONSTRAINTS ALL IMMEDIATE"))
    there = connection.scalar(sa.select(sa.func.count()).select_from(sa.table(name, schema=schema)))
    if there != records:
        raise AirflowFailException(
            Message.of(
                "output table {name!r}: holds {there} records after it was written, not {records}; a trigger of it "
                "adds or leaves out some, so nothing is changed; drop the trigger, or name another table",
                name=name,
                there=Count(there),
                records=Count(records),
            )
        )


def _asked(connection: Connection, questions: dict[str, str], name: str, schema: str | None) -> list[tuple[str, ...]]:
    from sqlalchemy import text  # noqa: PLC0415 (heavy imports belong into execute)

    question = questions.get(connection.dialect.name)
    if question is None:
        return []
    asked = text(question)
    told = {"name": name, "schema": schema}
    used = {key: told[key] for key in asked.compile().params}
    return [tuple(row) for row in connection.execute(asked, used)]

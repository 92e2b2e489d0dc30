"""Which databases may be a SQL share: those in which a table is replaced within a transaction.

A release that was made inside a database stays in it, also where CREATE and DROP commit: its records are then replaced
within a transaction, and its table never is.
"""

from __future__ import annotations

import json
import os

from airflow.providers.common.compat.sdk import AirflowFailException

TRANSACTIONAL_DDL = ("postgresql", "sqlite")
MADE_INSIDE = ("postgresql", "mariadb")
"""In which a release that was made there is published."""
KNOWN = tuple(dict.fromkeys((*TRANSACTIONAL_DDL, *MADE_INSIDE)))
"""In which there may be a release."""
_TYPES = {"postgres": "postgresql", "postgresql": "postgresql", "sqlite": "sqlite"}
"""Dialect by type of an Airflow connection."""


def refuse_database(dialect: str, *, made_inside: bool | None = False) -> None:
    """Refuse a database that is no SQL share.

    Parameters
    ----------
    made_inside : bool or None
        Whether its releases are made in it; None where that is not known, as of one that was published.

    Raises
    ------
    AirflowFailException
        It commits at each CREATE, DROP or RENAME, or nobody has tried: readers could see half of a release, and a table
        could have a release that its bookkeeping does not know.
    """
    if made_inside and dialect not in MADE_INSIDE:
        raise AirflowFailException(
            f"output.conn_id: is a database of {dialect}, and backend sql runs in {' and '.join(MADE_INSIDE)}; set "
            "backend: auto"
        )
    if not made_inside and dialect not in (TRANSACTIONAL_DDL if made_inside is False else KNOWN):
        raise AirflowFailException(
            f"output.conn_id: is a database of {dialect}, in which a table is not replaced together with its "
            f"bookkeeping in one transaction; name one of {' or '.join(TRANSACTIONAL_DDL)}, or release into output.path"
        )


def refuse_known_database(conn_id: str, *, made_inside: bool) -> None:
    """Refuse a connection of such a database as far as its type is known without a look-up: from the environment.

    DAG files are read often, and a look-up in a secrets backend would be made each time.

    Raises
    ------
    AirflowFailException
        As `refuse_database`.
    """
    written = os.environ.get(f"AIRFLOW_CONN_{conn_id.upper()}", "")
    try:
        kind = json.loads(written)["conn_type"] if written.startswith("{") else _scheme(written)
    except (ValueError, KeyError):  # told when it is used
        return
    if kind:
        plain = str(kind).partition("+")[0].lower()
        refuse_database(_TYPES.get(plain, plain), made_inside=made_inside)


def _scheme(address: str) -> str | None:
    scheme, found, _ = address.partition("://")
    return scheme if found else None

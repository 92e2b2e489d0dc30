"""The keys of pseudonyms and shifted dates that a job names by Airflow connections.

A key is the password of its connection, so that Airflow masks it in logs. It goes to the engine and nowhere else: no
task returns, logs or records it. `extract` opens it before the warehouse is read, so that a lost or changed key ends
the run there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from airflow.providers.common.compat.sdk import AirflowFailException, AirflowNotFoundException, BaseHook

from engine import MAKE_ONE, SHORTEST_KEY, EngineError, KeyPlace, key_places, open_key

if TYPE_CHECKING:
    from engine import Job

Places = Mapping[str, Mapping[str, Any]]
"""By key of the job (`shift`, `attributes.NAME`), where its key is: the keys of `KeyPlace` that the job gives."""


def places_of(job: Job) -> dict[str, dict[str, Any]]:
    """Return where the keys of a job are that stay the same over releases, as plain data."""
    fields = set(KeyPlace.model_fields)
    return {
        where: place.model_dump(mode="json", include=fields, exclude_none=True)
        for where, place in key_places(job)
        if place.is_persistent
    }


def opened_keys(places: Places) -> dict[str, bytes]:
    """Return the key of each place, which must be the one that the job names.

    Raises
    ------
    AirflowFailException
        A connection is not defined, a file cannot be read, or a key is too short or not the one of its `key_id`.
    """
    named = {where: KeyPlace(**place) for where, place in places.items()}
    passwords = passwords_of(places)
    try:
        return {where: open_key(where, place, passwords, make=True) for where, place in named.items()}
    except EngineError as problem:
        raise AirflowFailException(f"{type(problem).__name__}: {problem}") from None


def passwords_of(places: Places) -> dict[str, bytes]:
    """Return the passwords of the connections that hold keys, by their ids: the argument `keys` of `engine.run`.

    Raises
    ------
    AirflowFailException
        A connection is not defined.
    """
    found = {}
    for where, place in places.items():
        conn_id = place.get("key_conn_id")
        if conn_id is not None:
            found[conn_id] = password_of_connection(where, conn_id)
    return found


def password_of_connection(where: str, conn_id: str) -> bytes:
    """Return the password of a connection that holds a key, which the key `where` of the job names.

    Raises
    ------
    AirflowFailException
        The connection is not defined.
    """
    try:
        connection = BaseHook.get_connection(conn_id)
    except AirflowNotFoundException:
        raise AirflowFailException(
            f"{where}.key_conn_id: the connection is not defined; add it in Airflow under Admin, Connections, of any "
            f"type, with at least {SHORTEST_KEY} random bytes as its password, {MAKE_ONE}, or restore it"
        ) from None
    return (connection.password or "").encode()

"""The parts of an entry's document about shares: where a release is, what readers had, what was taken away again."""

from __future__ import annotations

from airflow_anon.ledger.form_part import Part
from airflow_anon.transport.content_hash import Method


class Withdrawal(Part):
    """A release that was taken out of the share: recalled, by whom and why, or removed since the job keeps so many."""

    release_id: str
    sequence: int
    by: str | None = None
    why: str | None = None
    keep: int | None = None


class GivenUpShare(Part):
    """A share that is gone for good: which, by whom, why, what was found there, and the releases that it had.

    `path` is that of the share, or its address in a store; a table has `conn_id` and `table` instead.
    """

    path: str | None = None
    conn_id: str | None = None
    table: str | None = None
    releases: list[str]
    found: str
    by: str
    why: str


class File(Part):
    """A file of a release."""

    bytes: int | None = None
    sha256: str | None = None


class ContentColumn(Part):
    """A column of a released table; `kind` says how its cells are written for the hash."""

    name: str
    kind: str


class Content(Part):
    """What a table held at the release: `sha256` as `transport.content_hash` makes it, of these columns.

    Earlier versions wrote no `method`, and hashed by another one.
    """

    sha256: str
    method: Method = None
    columns: list[ContentColumn]


class Table(Part):
    """A table of a SQL share; releases of earlier versions have no `content`."""

    conn_id: str | None = None
    table: str | None = None
    content: Content | None = None


class Publication(Part):
    """What was published; `folder` is a path in the share, and `also` are those of the same release in further ones."""

    release_id: str | None = None
    folder: str | None = None
    also: list[str] | None = None
    table: Table | None = None
    manifest_sha256: str | None = None
    files: dict[str, File] | None = None

    @property
    def folders(self) -> list[str]:
        """Every place of its files, the first one first."""
        return [] if not self.folder else [self.folder, *(self.also or ())]


class Delivered(Part):
    """What readers had of the job before this attempt: the release they should have, and the states of its places."""

    sequence: int | None = None
    release_id: str | None = None
    files: str | None = None
    link: str | None = None
    table: str | None = None

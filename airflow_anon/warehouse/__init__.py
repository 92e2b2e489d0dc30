"""A job inside its warehouse (`backend: sql`): SQL counts, releases and counts again, and no record leaves it.

In: a connection whose transaction sees one snapshot, and the source. Out: what the engine asks of a `Warehouse`
(`warehouse`), by statements of SQLAlchemy Core (`statements`, `expressions`); what is refused before (`rights`), and
the keyed fingerprint of the source (`fingerprint`).
"""

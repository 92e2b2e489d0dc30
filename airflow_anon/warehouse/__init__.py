"""A job inside its warehouse (`backend: sql`): SQL counts, releases and counts again, and no record leaves it.

In: a connection whose transaction sees one snapshot, and the source. Out: what the engine asks of a `Warehouse`
(`warehouse`), by statements of SQLAlchemy Core (`statements`, `release_statement`, `expressions`): values get numbers
(`numbered_values`), what becomes of them is told by these (`told_labels`), and the release is read again
(`written_release`). What is refused before stands in `rights`, `trial` and `odd_values`; the keyed fingerprint of the
source in `fingerprint`.
"""

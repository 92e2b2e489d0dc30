"""Who counts and looks up the records of a table: the engine itself (`arrow`), DuckDB, Spark, or its warehouse (`sql`).

A backend does two things, and no more (`backend.Backend`):

- `tuples`: in, a table and some of its columns; out, combinations of their values as they are in the table, each with
  its number of records. A combination may come more than once.
- `placed`: in, a table, the keys of the values of each quasi-identifier, and the place of each class; out, the other
  released columns of every record with the place of its class, in any order.

Everything else is the engine's, the same for all: values become text and codes by `tables.columns.Dictionary`, so no
cast of a database has a say in the result; a frequency table is made of the tuples; classes are chosen and labelled by
the search; records are put into the order of a release by `tables.release_order`, with random numbers of the operating
system. A value is looked up by the value itself (IS NOT DISTINCT FROM), never by its text.

With `sql` the records stay where they are: a `warehouse.Warehouse` counts, writes the release beside its source, and
counts the release again. Then nothing is placed here.
"""

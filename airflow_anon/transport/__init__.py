"""Reads tables from a database and writes releases to a share: ADBC, SQLAlchemy, Parquet, folders."""

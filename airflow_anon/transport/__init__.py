"""Reading tables from a database and writing releases to a share: ADBC, SQLAlchemy, Parquet, folders."""

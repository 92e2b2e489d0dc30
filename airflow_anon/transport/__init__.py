"""How tables come out of a database and releases go into a share: ADBC, SQLAlchemy, Parquet, folders."""

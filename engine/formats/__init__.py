"""Further files of the records of a release, for programs that do not read Parquet."""

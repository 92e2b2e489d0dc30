"""Tables as streams of record batches: files, folders, tables in memory, linked tables, and releases."""

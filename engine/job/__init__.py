"""The job file: source, columns, criteria, search settings and output."""

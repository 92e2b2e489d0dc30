"""A first job file for a table that nobody has described yet: its columns are profiled, and roles are proposed."""

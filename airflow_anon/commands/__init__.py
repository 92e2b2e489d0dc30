"""Commands of `airflow-anon` that read connections of Airflow: `init` and `check` of a table."""

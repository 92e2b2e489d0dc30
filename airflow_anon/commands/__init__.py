"""Commands of `airflow-anon` that read connections of Airflow: `init` for a table."""

"""Commands of `airflow-anon` that need Airflow: `init`, `check`, `doctor`."""

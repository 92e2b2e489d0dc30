"""Reports runs outside Airflow: alerts, metrics, lineage, and the addresses of the audit pages."""

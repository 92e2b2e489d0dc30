"""What is told of a run beyond Airflow: alerts, metrics, lineage, and the addresses of the pages."""

"""Airflow operators that extract, de-identify, validate and publish clinical tables."""

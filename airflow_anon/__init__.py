"""Airflow operators that extract, de-identify, validate and publish clinical tables."""

from airflow_anon.engine_name import refuse_other_engine

refuse_other_engine()

"""What waits in Airflow's triggerer, so that no worker has to."""

"""What Airflow lists about this package: the entry point `apache_airflow_provider`."""

from __future__ import annotations

from typing import Any

INTEGRATION = "De-identification"


def get_provider_info() -> dict[str, Any]:
    """Return the provider's description in the form of Airflow's provider schema."""
    return {
        "package-name": "airflow-anon",
        "name": INTEGRATION,
        "description": "Extract, de-identify, validate and publish clinical tables.",
        "integrations": [{"integration-name": INTEGRATION, "tags": ["software"]}],
        "operators": [
            {
                "integration-name": INTEGRATION,
                "python-modules": [
                    "airflow_anon.operators.approve",
                    "airflow_anon.operators.broken_job",
                    "airflow_anon.operators.check",
                    "airflow_anon.operators.deidentify",
                    "airflow_anon.operators.deidentify_inside",
                    "airflow_anon.operators.extract",
                    "airflow_anon.operators.extract_linked",
                    "airflow_anon.operators.frontier",
                    "airflow_anon.operators.outcome",
                    "airflow_anon.operators.publish",
                    "airflow_anon.operators.record",
                    "airflow_anon.operators.staging",
                    "airflow_anon.operators.validate",
                ],
            }
        ],
        "connection-types": [
            {
                "hook-class-name": "airflow_anon.transport.mariadb_hook.MariaDbHook",
                "hook-name": "MariaDB",
                "connection-type": "mariadb",
            }
        ],
        "notifications": ["airflow_anon.notifications.ReleaseAlertNotifier"],
        "extra-links": ["airflow_anon.links.ReleaseAuditLink", "airflow_anon.links.ReleaseCertificateLink"],
    }

"""What Airflow lists about this package."""

from __future__ import annotations

from typing import Any


def get_provider_info() -> dict[str, Any]:
    """Return the provider's description in the form of Airflow's provider schema."""
    return {
        "package-name": "airflow-anon",
        "name": "De-identification",
        "description": "Extract, de-identify, validate and publish clinical tables.",
    }

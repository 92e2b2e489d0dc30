"""What Airflow sees of the plugin, and what it costs who only imports it."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.airflow

COST = """
import sys
import airflow.plugins_manager, airflow.configuration
before = set(sys.modules)
from airflow_anon.plugin import DeidentificationPlugin
plugin = DeidentificationPlugin()
DeidentificationPlugin.validate()
assert plugin.external_views, "the views need no app"
print(*sorted(set(sys.modules) - before))
"""


def test_who_asks_for_no_app_makes_none(airflow_home):
    done = subprocess.run([sys.executable, "-c", COST], capture_output=True, text=True, check=True)
    loaded = done.stdout.split()
    assert set(loaded) <= {
        "airflow_anon",
        "airflow_anon.plugin",
        "airflow_anon.observe",
        "airflow_anon.observe.addresses",
    }


def test_the_app_and_the_views_are_made_once(airflow_home):
    from airflow_anon.plugin import DeidentificationPlugin  # noqa: PLC0415 (needs the environment)

    plugin = DeidentificationPlugin()
    assert plugin.fastapi_apps is DeidentificationPlugin.fastapi_apps
    assert plugin.external_views is DeidentificationPlugin().external_views
    assert [one["url_prefix"] for one in plugin.fastapi_apps] == ["/deidentification"]


def test_airflow_takes_the_plugin(airflow_home):
    from airflow._shared.plugins_manager import is_valid_plugin  # noqa: PLC0415 (needs the environment)
    from airflow.api_fastapi.core_api.datamodels.plugins import ExternalViewResponse  # noqa: PLC0415

    from airflow_anon.plugin import DeidentificationPlugin  # noqa: PLC0415

    assert is_valid_plugin(DeidentificationPlugin)
    views = [ExternalViewResponse(**view) for view in DeidentificationPlugin.external_views]
    by_destination = {view.destination: view.href for view in views}
    assert by_destination == {
        "nav": "/deidentification/",
        "dag": "/deidentification/dags/{DAG_ID}",
        "dag_run": "/deidentification/dags/{DAG_ID}/runs/{RUN_ID}",
        "task_instance": "/deidentification/dags/{DAG_ID}/runs/{RUN_ID}/tasks/{TASK_ID}",
    }
    assert len({view.url_route for view in views}) == 4

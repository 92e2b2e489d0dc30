"""The demo with some settings of its Airflow changed: `python -m tests.demo_process`, arguments as of the demo.

The settings are a JSON object in the variable DEMO_SETTINGS: the demo leaves out what it inherits for an Airflow.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from airflow_anon.demo import __main__ as demo
from airflow_anon.demo.environment import airflow_environment


def changed(*arguments: Any) -> dict[str, str]:
    """Return the environment of the demo's Airflow processes, with the settings changed."""
    return {**airflow_environment(*arguments), **json.loads(os.environ["DEMO_SETTINGS"])}


if __name__ == "__main__":
    demo.airflow_environment = changed
    sys.exit(demo.main())

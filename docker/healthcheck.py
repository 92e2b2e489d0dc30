#!/usr/bin/env python3

"""Health of one part of Airflow: `healthcheck COMPONENT`; status 0 only if the API server says that it is healthy.

In: metadatabase, scheduler, dag_processor or triggerer, and the address of the API server's health document in
`AIRFLOW_ANON_HEALTH_URL`. The metadatabase is healthy only if the API server answers, so it checks both.
An HTTP request takes a few milliseconds; `airflow jobs check` would import Airflow each time.
"""

from __future__ import annotations

import json
import os
import sys
from urllib.request import ProxyHandler, build_opener

COMPONENTS = ("metadatabase", "scheduler", "dag_processor", "triggerer")
_DEFAULT_URL = "http://localhost:8080/api/v2/monitor/health"
_SECONDS = 8.0


def status_of(component: str, url: str) -> str:
    """Return the component's status in the health document; `absent` if it has none.

    Raises
    ------
    OSError
        The API server does not answer.
    ValueError, AttributeError
        Its answer is not a health document.
    """
    # A proxy for outside addresses does not serve the network of the containers.
    with build_opener(ProxyHandler({})).open(url, timeout=_SECONDS) as answer:
        document = json.load(answer)
    return str((document.get(component) or {}).get("status") or "absent")


def main(arguments: list[str]) -> int:
    """Check one component; return 0 if healthy, 1 if not, 2 for a wrong call."""
    if len(arguments) != 1 or arguments[0] not in COMPONENTS:
        sys.stderr.write(f"usage: healthcheck {' | '.join(COMPONENTS)}\n")
        return 2
    url = os.environ.get("AIRFLOW_ANON_HEALTH_URL", _DEFAULT_URL)
    try:
        status = status_of(arguments[0], url)
    except (OSError, ValueError, AttributeError) as problem:
        sys.stderr.write(f"{url}: {type(problem).__name__}\n")
        return 1
    sys.stdout.write(f"{arguments[0]}: {status}\n")
    return 0 if status == "healthy" else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

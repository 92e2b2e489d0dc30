"""An Airflow of its own for the tests: a temporary AIRFLOW_HOME, set before Airflow is imported anywhere.

Airflow reads its settings once, at import, so the environment is set when pytest loads this file and not in a fixture.
Everything else (metadata database, logs, folder of DAG files) follows from AIRFLOW_HOME.
"""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import alone


def _isolated_home() -> Path:
    if "airflow" in sys.modules:
        raise RuntimeError(f"Airflow was imported before {__file__} could give it a home of its own")
    home = Path(tempfile.mkdtemp(prefix="airflow_anon_tests_"))
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    for name in [name for name in os.environ if name.startswith(("AIRFLOW__", "AIRFLOW_CONN_", "AIRFLOW_VAR_"))]:
        del os.environ[name]
    (home / "dags").mkdir()
    os.environ.update(
        {
            "AIRFLOW_HOME": str(home),
            "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
            "AIRFLOW__CORE__PARALLELISM": "2",
        }
    )
    return home


_HOME = _isolated_home()


@pytest.fixture(autouse=True)
def _ledger_of_its_own(airflow_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give each test a release ledger of its own: the same run is published to another share in each.

    Airflow's database is there before the first test: it must not be put into place under an open connection.
    """
    del airflow_home
    monkeypatch.setenv("AIRFLOW_ANON_LEDGER", f"sqlite:///{tmp_path}/release_ledger.sqlite")


@pytest.fixture(scope="session")
def airflow_home(migrated_metadata: Path) -> Path:
    """Give the temporary AIRFLOW_HOME with a migrated metadata database, for tests that run a DAG."""
    shutil.copy(migrated_metadata, _HOME)
    return _HOME


@pytest.fixture
def run_dag(airflow_home: Path) -> Callable[..., Any]:
    """Give `run_dag(dag, **arguments of dag.test) -> DagRun`, for a DAG that stands in a test instead of a DAG file.

    `dag.test()` alone knows only DAGs that its bundle of files holds, so the DAG is written to the database first.
    """

    def run(dag: Any, **arguments: Any) -> Any:
        from airflow.dag_processing.bundles.manager import DagBundlesManager  # noqa: PLC0415 (needs the environment)
        from airflow.dag_processing.dagbag import DagBag, sync_bag_to_db  # noqa: PLC0415 (needs the environment)

        DagBundlesManager().sync_bundles_to_db()
        bag = DagBag(dag_folder=str(airflow_home / "dags"), bundle_path=airflow_home / "dags")
        bag.bag_dag(dag)
        sync_bag_to_db(bag, "dags-folder", None)
        return dag.test(**arguments)

    return run


@pytest.fixture(scope="session")
def mariadb_server() -> Iterator[Any]:
    """Give one MariaDB for all tests of a process, each of which makes databases of its own; skip without one."""
    from tests import mariadb  # noqa: PLC0415 (few tests ask)

    if mariadb.missing() is not None:
        pytest.skip(f"needs {mariadb.missing()} (apt-get install)")
    pytest.importorskip("pymysql")
    # not tmp_path: a socket path may have 107 characters at most
    with tempfile.TemporaryDirectory(prefix="maria") as folder, mariadb.mariadb(Path(folder)) as running:
        yield running


@pytest.fixture(scope="session")
def built_warehouse(once: Path) -> Path:
    """Give the file of a warehouse of the size of a nightly run, to be copied: building one takes seconds."""
    from airflow_anon.demo.warehouse import build_warehouse  # noqa: PLC0415 (needs the environment)
    from tests.airflow_anon.nights.night import PERSONS  # noqa: PLC0415

    with alone(once, "warehouse.db") as path:
        build_warehouse(f"sqlite:///{path}", persons=PERSONS)
    return path


@pytest.fixture(scope="module")
def sqlite_warehouse(tmp_path_factory: pytest.TempPathFactory, built_warehouse: Path) -> str:
    """Give the URL of one warehouse for all tests of a file; none of them writes to it but the views it adds."""
    return f"sqlite:///{shutil.copy(built_warehouse, tmp_path_factory.mktemp('warehouse') / 'clinic.db')}"


@pytest.fixture
def own_warehouse(tmp_path: Path, built_warehouse: Path) -> str:
    """Give the URL of a warehouse for one test, which may change it."""
    return f"sqlite:///{shutil.copy(built_warehouse, tmp_path / 'clinic.db')}"


@pytest.fixture
def world(tmp_path: Path, run_dag: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, sqlite_warehouse: str) -> Any:
    """Give the world of a nightly run with both databases in SQLite."""
    from tests.airflow_anon.nights.night import prepared  # noqa: PLC0415 (needs the environment)

    return prepared(tmp_path, run_dag, monkeypatch, sqlite_warehouse, f"sqlite:///{tmp_path}/research.db")

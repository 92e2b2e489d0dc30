"""The nightly DAG on a small demo warehouse: the world of one run, and what is left of it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from airflow_anon.demo.warehouse import build_warehouse
from airflow_anon.jobs import deidentification_dag
from engine import load_job
from tests.places import ROOT
from tests.profiles import thorough

JOBS = ROOT / "dags/jobs"
PERSONS = 3_000


@dataclass(frozen=True)
class World:
    """Folders and databases of a run; all of them below a test's own folder."""

    folder: Path
    run_dag: Callable[..., Any]
    warehouse: str
    research: str

    @property
    def share(self) -> Path:
        """Folder of the research share."""
        return self.folder / "share"

    @property
    def staging(self) -> Path:
        """Base of the staging folders."""
        return self.folder / "staging"

    def job(self, stem: str, **changes: Any) -> Path:
        """Write a shipped job file with other keys at its top level; give its path.

        The classification of diagnoses has 98,000 codes, which takes longer than all the rest of a night. Here it has
        those of the warehouse, but in the thorough profile.
        """
        jobs = self.folder / "jobs"
        shutil.copytree(JOBS, jobs, dirs_exist_ok=True)
        path = jobs / f"{stem}.yaml"
        document = yaml.safe_load(path.read_text())
        if document["attributes"]["diagnosis"].get("hierarchy") == {"builder": "icd-10-cm"} and not thorough():
            document["attributes"]["diagnosis"]["hierarchy"] = self._diagnoses(jobs)
        document.update({key: change(document[key]) if callable(change) else change for key, change in changes.items()})
        path.write_text(yaml.safe_dump(document))
        return path

    def _diagnoses(self, jobs: Path) -> str:
        """Write the hierarchy of the diagnoses that occur: code, category, letter; give its path for a job file."""
        from sqlalchemy import create_engine, text  # noqa: PLC0415 (only tests that ask need it)

        engine = create_engine(self.warehouse)
        with engine.connect() as connection:
            codes = connection.scalars(text("SELECT DISTINCT diagnosis FROM deid_hospital_stays ORDER BY 1")).all()
        engine.dispose()
        lines = [f"{code};{code[:3]};{code[0]};*\n" for code in codes if code is not None]
        (jobs / "hierarchies/diagnosis.csv").write_text("".join(lines))
        return "hierarchies/diagnosis.csv"

    def impossible_stays(self) -> Path:
        """Write the job of hospital stays with criteria that nothing can meet; give its path."""
        lowest = {"gender": 1, "admission_date": 1}

        def capped(attributes: dict[str, Any]) -> dict[str, Any]:
            caps = {
                name: {"maximum_level": lowest.get(name, 2)} for name, one in attributes.items() if "hierarchy" in one
            }
            return {name: {**one, **caps.get(name, {})} for name, one in attributes.items()}

        privacy = [{"model": "k-anonymity", "k": 1_000_000}]
        return self.job("hospital_stays", attributes=capped, suppression_limit=0, privacy=privacy)

    def run(self, job: Path | Mapping[str, Any], *, alter: Callable[[Any], None] | None = None) -> Any:
        """Run the job's DAG in Airflow, after `alter` changed it; give the DagRun."""
        dag = deidentification_dag(job, schedule=None)
        if alter is not None:
            alter(dag)
        return self.run_dag(dag, logical_date=None)

    def left(self) -> list[str]:
        """Name every file and link in the share, and whatever is in the staging area."""
        staged = self.staging.rglob("*") if self.staging.exists() else []
        shared = (path for path in self.share.rglob("*") if path.is_symlink() or not path.is_dir())
        return sorted(str(path.relative_to(self.folder)) for path in (*staged, *shared))

    def tables(self) -> list[str]:
        """Name the tables of the research share."""
        from sqlalchemy import create_engine, inspect  # noqa: PLC0415 (only tests that ask need it)

        engine = create_engine(self.research)
        try:
            return sorted(inspect(engine).get_table_names())
        finally:
            engine.dispose()


def connection_of(url: str) -> str:
    """Give an Airflow connection, as JSON, of a SQLAlchemy URL."""
    from sqlalchemy import make_url  # noqa: PLC0415 (only tests that ask need it)

    parts = make_url(url)
    if parts.get_backend_name() == "sqlite":
        return json.dumps({"conn_type": "sqlite", "host": parts.database})
    host = parts.host or parts.query["host"]
    return json.dumps(
        {
            "conn_type": "postgres",
            "host": host,
            "schema": parts.database,
            "login": parts.username,
            "password": parts.password or "",
            "port": parts.port,
        }
    )


def prepared(folder: Path, run_dag: Callable[..., Any], monkeypatch: Any, warehouse: str, research: str) -> World:
    """Point Airflow's connections and the variables of this package at the world of one test."""
    build_warehouse(warehouse, persons=PERSONS)
    monkeypatch.setenv("AIRFLOW_CONN_CLINICAL_WAREHOUSE", connection_of(warehouse))
    monkeypatch.setenv("AIRFLOW_CONN_RESEARCH_SHARE", connection_of(research))
    monkeypatch.setenv("AIRFLOW_ANON_STAGING", str(folder / "staging"))
    monkeypatch.setenv("AIRFLOW_ANON_SHARE", str(folder / "share"))
    return World(folder, run_dag, warehouse, research)


def states(run: Any) -> dict[str, str]:
    """Give the state of each task."""
    return {instance.task_id: str(instance.state) for instance in run.get_task_instances()}


def release_of(world: World, job: Path) -> Path:
    """Give the folder of the current release."""
    return (world.share / load_job(job).name / "current").resolve()


def found(needles: set[bytes], haystacks: Iterator[bytes]) -> set[bytes]:
    """Tell which of the needles, each of six bytes or more, occur in any of the haystacks.

    A needle is only looked for where its first six bytes occur: there are tens of thousands of them.
    """
    hits = set()
    for haystack in haystacks:
        windows = {haystack[start : start + 6] for start in range(len(haystack) - 5)}
        hits |= {needle for needle in needles if needle[:6] in windows and needle in haystack}
    return hits

"""Patients instead of stays on the demo's warehouse: a recount with pandas finds nobody below k."""

from __future__ import annotations

import pandas as pd
import yaml
from sqlalchemy import create_engine

from engine import load_job, run
from tests.places import ROOT

MISSING = "missing"
JOBS = ROOT / "dags" / "jobs"


def job_of_patients():
    """Read the job of hospital stays, and let it count patients."""
    document = yaml.safe_load((JOBS / "hospital_stays.yaml").read_text(encoding="utf-8"))
    for key in ("unit", "source", "output", "dag"):
        document.pop(key)
    document["attributes"]["gender"]["hierarchy"] = str(JOBS / document["attributes"]["gender"]["hierarchy"])
    return load_job({**document, "subject": "mrn"})


def labels(values, hierarchy, level):
    """Return the labels of a column; a missing value stays missing up to the highest level, where it joins the root."""
    there = values.dropna().astype(str)
    rows = {row[0]: row for row in hierarchy.rows(sorted(there.unique()))}
    found = there.map({value: row[level] for value, row in rows.items()})
    root = next(iter(rows.values()))[-1] if level == hierarchy.level_count - 1 else MISSING
    return found.reindex(values.index).fillna(root)


def test_every_class_of_stays_is_of_k_patients(sqlite_warehouse):
    job = job_of_patients()
    engine = create_engine(sqlite_warehouse)
    stays = pd.read_sql(f"SELECT {', '.join(job.attributes)} FROM deid_hospital_stays", engine)
    engine.dispose()
    stays["admission_date"] = stays["admission_date"].astype(str)
    result = run(job, stays)
    levels = result.report["solution"]["levels"]
    names = list(job.quasi_identifiers)
    cells = pd.DataFrame({"mrn": stays["mrn"]})
    for name in names:
        cells[name] = labels(stays[name], job.attributes[name].hierarchy, levels[name])
    released = result.table.to_pandas()[names].fillna(MISSING).drop_duplicates()
    kept = cells.merge(released[(released != "*").any(axis=1)], on=names)
    persons = kept.groupby(names)["mrn"].nunique()
    assert persons.min() >= 5
    assert result.report["persons"] == stays["mrn"].nunique()
    assert len(stays) > stays["mrn"].nunique()
    assert result.report["solution"]["optimal"]

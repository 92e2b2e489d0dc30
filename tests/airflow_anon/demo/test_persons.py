"""Patients instead of stays on the demo's warehouse: a recount with pandas finds nobody below k."""

from __future__ import annotations

import itertools
from collections import Counter

import pandas as pd
import pytest
import yaml
from sqlalchemy import create_engine

from engine import load_job, run
from tests.places import ROOT
from tests.profiles import spread

MISSING = "missing"
JOBS = ROOT / "dags" / "jobs"


def job_of_patients(**changes):
    """Read the job of hospital stays, and let it count patients."""
    document = yaml.safe_load((JOBS / "hospital_stays.yaml").read_text(encoding="utf-8"))
    for key in ("unit", "source", "output", "dag"):
        document.pop(key)
    document["attributes"]["gender"]["hierarchy"] = str(JOBS / document["attributes"]["gender"]["hierarchy"])
    return load_job({**document, "subject": "mrn", **changes})


def labels(values, hierarchy, level):
    """Return the labels of a column; a missing value stays missing up to the highest level, where it joins the root."""
    there = values.dropna().astype(str)
    rows = {row[0]: row for row in hierarchy.rows(sorted(there.unique()))}
    found = there.map({value: row[level] for value, row in rows.items()})
    root = next(iter(rows.values()))[-1] if level == hierarchy.level_count - 1 else MISSING
    return found.reindex(values.index).fillna(root)


def stays_of(job, warehouse):
    """Read the table of the job."""
    engine = create_engine(warehouse)
    stays = pd.read_sql(f"SELECT {', '.join(job.attributes)} FROM deid_hospital_stays", engine)
    engine.dispose()
    stays["admission_date"] = stays["admission_date"].astype(str)
    return stays


def cells_of(job, stays, levels):
    """Generalize the table by the rows of the hierarchies."""
    cells = pd.DataFrame({"mrn": stays["mrn"]})
    for name in job.quasi_identifiers:
        cells[name] = labels(stays[name], job.attributes[name].hierarchy, levels[name])
    return cells


@pytest.mark.parametrize("knows", spread(["all-rows", {"rows": 2}], 1), ids=str)
def test_what_is_known_of_several_stays_is_of_k_patients(sqlite_warehouse, knows):
    job = job_of_patients(knows=knows, privacy=[{"model": "k-anonymity", "k": 5}], max_rows=4, suppression_limit=0.1)
    stays = stays_of(job, sqlite_warehouse)
    # without further rows of a patient none is chosen by a key, so that the recount has the same
    stays = stays[stays.groupby("mrn").cumcount() < 4]
    result = run(job, stays)
    names = list(job.quasi_identifiers)
    cells = cells_of(job, stays, result.report["solution"]["levels"])
    picture = (
        cells.assign(cell=cells.groupby(names).ngroup()).groupby("mrn")["cell"].agg(lambda own: tuple(sorted(own)))
    )
    while True:
        if knows == "all-rows":
            known = picture.map(lambda own: {own})
        else:
            known = picture.map(lambda own: {part for n in (1, 2) for part in itertools.combinations(own, n)})
        shared = Counter(part for own in known for part in own)
        among = known.map(lambda own, shared=shared: min(shared[part] for part in own))
        if among.min() >= 5:
            break
        picture = picture[among >= 5]
    kept = cells[cells["mrn"].isin(picture.index)]
    released = result.table.to_pandas()[names].fillna(MISSING)
    assert released.groupby(names).size().to_dict() == kept.groupby(names).size().to_dict()
    assert result.report["privacy"][0]["observed"] == among.min()
    assert result.report["knows"] == knows
    assert result.report["solution"]["optimal"]


def test_every_class_of_stays_is_of_k_patients(sqlite_warehouse):
    job = job_of_patients()
    stays = stays_of(job, sqlite_warehouse)
    result = run(job, stays)
    names = list(job.quasi_identifiers)
    cells = cells_of(job, stays, result.report["solution"]["levels"])
    released = result.table.to_pandas()[names].fillna(MISSING).drop_duplicates()
    kept = cells.merge(released[(released != "*").any(axis=1)], on=names)
    persons = kept.groupby(names)["mrn"].nunique()
    assert persons.min() >= 5
    assert result.report["persons"] == stays["mrn"].nunique()
    assert len(stays) > stays["mrn"].nunique()
    assert result.report["solution"]["optimal"]

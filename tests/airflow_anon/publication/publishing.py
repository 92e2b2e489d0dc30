"""A release in staging, as the tasks before `publish` leave it, and the operator on it."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
from airflow.sdk import Asset, DagRunState
from airflow.sdk.execution_time.context import OutletEventAccessors

from airflow_anon.operators.publish import PublishReleaseOperator
from engine import write_manifest

ASSET = Asset("stays", uri="x-release://stays")
METRICS = {"rows": 3, "suppressed": 1, "levels": {"age": 1}}
TABLE = pa.table({"age": ["[20, 40[", "[40, 60[", "*"], "diagnosis": ["I10", None, "E11"]})


def job(output):
    return {
        "name": "stays",
        "attributes": {
            "age": {"role": "quasi-identifying", "hierarchy": "age.csv"},
            "diagnosis": {"role": "sensitive"},
            "id": {"role": "identifying"},
        },
        "privacy": [{"model": "k-anonymity", "k": 2}],
        "output": output,
    }


def report_of(table):
    """Give a report as the engine writes it, as far as the ledger reads it."""
    rows = table.num_rows
    finding = {"required": 2.0, "sense": "at-least", "observed": 2.0, "holds": True, "margin": 0.0}
    return {
        "name": "stays",
        "rows": rows,
        "solution": {
            "levels": {"age": 1},
            "information_loss": 0.25,
            "lower_bound": 0.25,
            "gap": 0.0,
            "optimal": True,
            "suppressed": 1,
        },
        "suppressed_class": {"form": "star", "records": 1, "joined": 0},
        "search": {"algorithm": "optimal", "space": 4, "checked": 2, "proof": "bounds", "seconds": 0.1},
        "privacy": [{"model": "k-anonymity", "k": 2, "description": "2-anonymity", **finding}],
        "privacy_margin": 0.0,
        "classes": {"number": 1, "smallest": 2, "median": 2.0, "largest": 2, "distribution": []},
        "risk": {"prosecutor": 0.5},
        "utility": {"loss": 0.25},
        "timings": {"encode": 0.25, "search": 0.5},
        "versions": {"python": "3.11"},
    }


VALIDATION = {
    "success": True,
    "suite": "stays-release",
    "great_expectations_version": "1.24.1",
    "validated_at": "2026-03-01T02:31:00+00:00",
    "expectations": 9,
    "results": [],
}


def run_context(day=1, run_id=None, logical=True):
    """Give what the operator needs of a run's context."""
    moment = dt.datetime(2026, 3, day, 2, 30, tzinfo=dt.timezone.utc)
    run = SimpleNamespace(
        dag_id="nightly",
        run_id=run_id or f"scheduled__2026-03-{day:02}",
        logical_date=moment if logical else None,
        run_after=moment,
        start_date=None,
        run_type="scheduled",
        clear_number=0,
        triggering_user_name=None,
    )
    instance = SimpleNamespace(
        task_id="publish",
        xcom_push=lambda **_: None,
        get_dagrun_state=lambda **_: DagRunState.SUCCESS,  # of any other run
        get_task_states=lambda *, task_ids, run_ids, **_: {one: dict.fromkeys(task_ids, "success") for one in run_ids},
    )
    return {"dag_run": run, "ti": instance, "outlet_events": OutletEventAccessors()}


class Staged:
    """A release in staging with its validation result, as the tasks before leave it."""

    def __init__(self, folder, table=TABLE, validation=None):
        self.folder = folder
        self.release = folder / "release"
        self.release.mkdir(parents=True)
        pq.write_table(table, self.release / "data.parquet")
        (self.release / "report.json").write_text(json.dumps(report_of(table)))
        (self.release / "job.yaml").write_text("name: stays\n")
        self.manifest_sha256 = write_manifest(self.release)
        content = json.dumps(validation or VALIDATION).encode()
        (folder / "validation.json").write_bytes(content)
        self.validation_sha256 = hashlib.sha256(content).hexdigest()

    @classmethod
    def there(cls, folder):
        """Give the release that is staged in a folder already."""
        staged = cls.__new__(cls)
        staged.folder = folder
        staged.release = folder / "release"
        staged.manifest_sha256 = hashlib.sha256((staged.release / "manifest.json").read_bytes()).hexdigest()
        staged.validation_sha256 = hashlib.sha256((folder / "validation.json").read_bytes()).hexdigest()
        return staged

    def publish(self, output, context=None, **arguments):
        """Run the operator on this release; give what it returns."""
        operator = PublishReleaseOperator(
            task_id="publish",
            outlets=[ASSET],
            **{
                "job": job(output),
                "release": str(self.release),
                "manifest_sha256": self.manifest_sha256,
                "validation_sha256": self.validation_sha256,
                "metrics": {**METRICS, "release": str(self.release), "manifest_sha256": self.manifest_sha256},
                **arguments,
            },
        )
        return operator.execute(context or run_context())

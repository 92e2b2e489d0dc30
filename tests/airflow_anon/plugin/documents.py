"""Documents of entries made by hand, as docs/ledger.md says, of each kind and with hostile texts."""

from __future__ import annotations

import copy
import datetime as dt
import hashlib
import json
from pathlib import Path
from typing import Any

from airflow_anon.ledger import Entry, Ledger
from airflow_anon.ledger.form import Document, read

HOSTILE = '<script>alert("x")</script>\'"&{{ 7*7 }}<img src=x onerror=alert(1)>'
K = 5


def sha256(text: Any) -> str:
    return hashlib.sha256(str(text).encode()).hexdigest()


def job_document(name: str, k: int = K, limit: float = 0.05) -> dict[str, Any]:
    return {
        "name": name,
        "source": {"conn_id": "clinical_warehouse", "table": "deid_stays"},
        "attributes": {
            "mrn": {"role": "identifying"},
            "age": {"role": "quasi-identifying", "hierarchy": {"builder": "age"}, "weight": 2.0, "minimum_level": 1},
            "zip": {"role": "quasi-identifying", "hierarchy": {"builder": "redaction", "length": 5}},
            "diagnosis": {"role": "sensitive"},
            "ward": {"role": "insensitive"},
        },
        "privacy": [
            {"model": "k-anonymity", "k": k},
            {"model": "l-diversity", "variant": "distinct", "attribute": "diagnosis", "l": 2},
        ],
        "suppression_limit": limit,
    }


def finding(model: str, description: str, required: float, observed: float | None, **parameters: Any) -> dict[str, Any]:
    holds = None if observed is None else observed >= required
    margin = None if observed is None else max(0.0, 1 - required / observed)
    return {
        "model": model,
        "parameters": parameters,
        "description": description,
        "required": required,
        "sense": "at-least",
        "observed": observed,
        "holds": holds,
        "margin": margin,
    }


def level(chosen: int, examples: list[str]) -> dict[str, Any]:
    highest = len(examples) - 1
    return {"level": chosen, "highest": highest, "minimum": 0, "maximum": highest, "examples": examples}


def released(
    name: str = "hospital-stays",
    *,
    dag_id: str = "stays",
    run_id: str = "scheduled__2026-03-01T02:15:00+00:00",
    release_id: str = "20260301T021500Z-0a1b2c3d",
    suppressed: int = 40,
    rows: int = 4_000,
    loss: float = 0.31,
    age: int = 2,
    fingerprint: str = "1",
    key: str | None = "0123456789abcdef",
    k: int = K,
    group: str = "",
    attempt: int = 1,
) -> dict[str, Any]:
    """Make the document of a release."""
    job = job_document(name, k)
    hidden = 0 < suppressed < k
    records = {
        "source": rows,
        "released": rows,
        "suppressed": None if hidden else suppressed,
        "suppressed_share": None if hidden else suppressed / rows,
        "suppression_limit": 0.05,
        **({"below": k} if hidden else {}),
    }
    privacy = [
        finding("k-anonymity", f"{k}-anonymity", k, k + 1.0, k=k),
        finding("l-diversity", "distinct 2-diversity of diagnosis", 2, 4.0, variant="distinct", attribute="diagnosis"),
    ]
    return {
        "format": 1,
        "outcome": "released",
        "name": name,
        "reason": None,
        "run": {
            "dag_id": dag_id,
            "run_id": run_id,
            "run_type": "scheduled",
            "logical_date": "2026-03-01T02:15:00+00:00",
            "run_after": "2026-03-01T02:15:00+00:00",
            "attempt": attempt,
            "task_group": group,
            "triggered_by": None,
        },
        "job": {"sha256": sha256(json.dumps(job)), "document": job},
        "source": {
            "conn_id": "clinical_warehouse",
            "table": "deid_stays",
            "query": False,
            "rows": rows,
            "columns": 5,
            "fingerprint": sha256(fingerprint),
            "fingerprint_key_id": key,
        },
        "smallest_class_allowed": k,
        "records": records,
        "levels": {
            "age": level(age, ["47", "45-49", "40-49", "*"]),
            "zip": level(2, ["02139", "0213*", "021**", "02***", "0****", "*****"]),
        },
        "solution": {
            "information_loss": loss,
            "lower_bound": loss,
            "gap": 0.0,
            "optimal": True,
            "measure": "loss",
            "aggregate": "arithmetic-mean",
        },
        "search": {
            "algorithm": "optimal",
            "space": 24,
            "checked": 11,
            "proof": "bounds",
            "seconds": 0.21,
            "warm_up_seconds": 1.4,
        },
        "privacy": privacy,
        "privacy_margin": min(one["margin"] for one in privacy),
        "risk": {
            "prosecutor": 1 / (k + 1),
            "journalist": 1 / (k + 1),
            "marketer": 0.031,
            "threshold": 0.2,
            "prosecutor_records_at_risk": 0.0,
            "journalist_records_at_risk": 0.0,
            "sample_uniqueness": 0.0,
        },
        "utility": {"loss": loss, "precision": 0.4, "discernibility": 1_284_112.0, "kl-divergence": None},
        "timings": {"encode": 0.4, "search": 0.21, "verify": 0.5},
        "versions": {"python": "3.11.7", "airflow-anon": "0.1.0", "airflow": "3.3.2"},
        "warnings": [],
        "classes": {
            "number": 128,
            "smallest": k + 1,
            "median": 27.5,
            "largest": 210,
            "distribution": [
                {"from": k, "to": 2 * k - 1, "classes": 20, "records": 160},
                {"from": 2 * k, "to": 4 * k - 1, "classes": 40, "records": 600},
                {"from": 4 * k, "to": 8 * k - 1, "classes": 0, "records": 0},
                {"from": 8 * k, "to": 16 * k - 1, "classes": 68, "records": 3200},
            ],
        },
        "lint": {
            "unit": None,
            "columns": [
                {"column": "age", "role": "quasi-identifying", "distinction": 0.02, "separation": 0.98},
                {"column": "diagnosis", "role": "sensitive", "distinction": 0.01, "separation": 0.9},
                {"column": "ward", "role": "insensitive", "distinction": 0.97, "separation": 1.0, "accept": "unique"},
            ],
            "classes": [{"column": "diagnosis", "homogeneous": 3, "records_share": 0.021}],
            "findings": [{"kind": "repeats", "column": "mrn"}],
        },
        "choice": None,
        "policy": None,
        "validation": validation(success=True),
        "publication": {
            "release_id": release_id,
            "folder": None,
            "table": {"conn_id": "research_share", "table": "hospital_stays"},
            "manifest_sha256": sha256(release_id),
            "files": {},
        },
    }


def validation(*, success: bool) -> dict[str, Any]:
    """Make the result of a validation."""
    results = [
        {
            "expectation_type": "expect_k_anonymity",
            "description": "Every class has at least 5 records.",
            "success": True,
            "column": None,
            "observed": 6,
            "required": 5,
            "message": "the smallest class has 6 records",
        },
        {
            "expectation_type": "expect_labels_of_level",
            "description": "Every label of zip is one of its level.",
            "success": success,
            "column": "zip",
            "observed": 0 if success else 12,
            "required": 0,
            "message": "all labels are" if success else "12 labels are none of level 2",
        },
    ]
    return {
        "success": success,
        "suite": "hospital-stays",
        "great_expectations_version": "1.24.1",
        "validated_at": "2026-03-01T02:16:00+00:00",
        "expectations": len(results),
        "sha256": sha256("validation"),
        "results": results,
    }


def recoded(**given: Any) -> dict[str, Any]:
    """Make the document of a release by local recoding."""
    document = released(**given)
    for one in document["levels"].values():
        one.update(level=None, shares=[0.625, 0.0, 0.375, *[0.0] * (one["highest"] - 2)])
    document["job"]["document"] = {**document["job"]["document"], "transformation": "local-recoding"}
    document["solution"].update(optimal=False, lower_bound=document["solution"]["information_loss"] / 2, gap=0.5)
    return document


def unreleased(outcome: str = "refused", **given: Any) -> dict[str, Any]:
    """Make the document of an attempt that found no transformation, or failed before."""
    document = released(**given)
    document.update(
        outcome=outcome,
        reason={
            "task": "deidentify" if outcome == "refused" else "extract",
            "error": "NoSolution" if outcome == "refused" else "AirflowException",
            "message": "no transformation satisfies 5-anonymity within the suppression limit"
            if outcome == "refused"
            else "the connection was lost",
        },
        levels=None,
        publication=None,
        privacy_margin=None,
        **dict.fromkeys(("solution", "search", "risk", "utility", "timings", "classes", "lint", "validation")),
    )
    document["records"] = {
        "source": document["records"]["source"],
        "released": None,
        "suppressed": None,
        "suppressed_share": None,
        "suppression_limit": 0.05,
    }
    for one in document["privacy"]:
        one.update(observed=None, holds=None, margin=None)
    return document


def refused_by_validation(**given: Any) -> dict[str, Any]:
    """Make the document of an attempt whose output the validation refused."""
    document = released(**given)
    document.update(outcome="refused", publication=None, validation=validation(success=False))
    document["reason"] = {"task": "validate", "error": "ValidationFailed", "message": "1 of 2 expectations is not met"}
    return document


def hostile() -> dict[str, Any]:
    """Make the document of a release with markup in every text that comes from a job, the data or a user."""
    text = HOSTILE
    document = released(text, dag_id="hostile", run_id=f"manual__{text}", group="")
    document["run"]["triggered_by"] = text
    document["source"].update(conn_id=text, table=text)
    document["levels"] = {text: level(1, [text, f"{text}*"])}
    document["job"]["document"]["attributes"][text] = {"role": "quasi-identifying"}
    document["job"]["document"]["privacy"][0][text] = text
    document["privacy"][0].update(model=text, description=text, parameters={text: text})
    document["solution"].update(measure=text, aggregate=text)
    document["search"].update(algorithm=text)
    document["risk"][text] = 0.25
    document["utility"][text] = 3.5
    document["choice"] = {text: text}
    document["policy"] = {text: [{"value": text}]}
    document["versions"][text] = text
    document["timings"][text] = 1.0
    document["warnings"] = [text]
    for one in [*document["lint"]["columns"], *document["lint"]["classes"]]:
        one["column"] = text
    document["lint"]["columns"][0].update(role=text, accept=text)
    document["validation"].update(suite=text, great_expectations_version=text)
    for one in document["validation"]["results"]:
        one.update(expectation_type=text, description=text, column=text, message=text, success=False)
    document["publication"].update(table={"conn_id": text, "table": text})
    return document


def publish(document: dict[str, Any], share: Path) -> Path:
    """Write files for a release into a share, name them in its document, and lead readers to the newest release."""
    publication = document["publication"]
    folder = share / "job" / publication["release_id"]
    folder.mkdir(parents=True)
    contents = {"data.parquet": b"PAR1" * 100, "report.json": b"{}", "job.yaml": b"name: x\n", "validation.json": b"{}"}
    files = {}
    for name, content in contents.items():
        (folder / name).write_bytes(content)
        files[name] = {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    manifest = json.dumps({"files": files}).encode()
    (folder / "manifest.json").write_bytes(manifest)
    link = folder.parent / "current"
    newest = max(folder.name, link.readlink().name if link.is_symlink() else "")
    link.unlink(missing_ok=True)
    link.symlink_to(newest)
    publication.update(folder=str(folder), files=files, manifest_sha256=hashlib.sha256(manifest).hexdigest())
    return folder


def series(ledger: Ledger, count: int, *, name: str = "hospital-stays", dag_id: str = "stays") -> list[Entry]:
    """Append releases of one job, a night each, of which each seventh is refused."""
    template = released(name, dag_id=dag_id)
    start = dt.datetime(2023, 1, 1, 2, 15, tzinfo=dt.timezone.utc)
    entries = []
    for night in range(count):
        moment = start + dt.timedelta(days=night)
        run_id = f"scheduled__{moment.isoformat()}"
        release_id = f"{moment:%Y%m%dT%H%M%SZ}-{sha256(run_id)[:8]}"
        given = {"dag_id": dag_id, "run_id": run_id, "release_id": release_id, "fingerprint": str(night)}
        if night % 7 == 6:
            document = unreleased(name=name, **given)
        else:
            wobble = (night * 37 % 11) / 1000
            document = released(name, loss=0.3 + wobble, suppressed=3 if night % 5 == 4 else 40 + night % 9, **given)
        assert set(document) == set(template)
        entries.append(ledger.append(document))
    return entries


def typed(document: dict[str, Any]) -> Document:
    """Read a document as pages do."""
    found = read(json.loads(json.dumps(document)))
    assert found is not None
    return found


def variant(document: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """Return a deep copy with other top-level keys."""
    return {**copy.deepcopy(document), **changes}

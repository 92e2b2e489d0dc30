"""A task before was marked as successful by hand: Airflow renders None for its result, and the next task says so."""

from __future__ import annotations

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException

from airflow_anon.operators import (
    DeidentifyInWarehouseOperator,
    DeidentifyTableOperator,
    ExtractTableOperator,
    PublishReleaseOperator,
    ValidateReleaseOperator,
)
from airflow_anon.operators.approve import ApproveReleaseOperator
from tests.airflow_anon.nights.night import JOBS, states
from tests.airflow_anon.publication.publishing import run_context

JOB = JOBS / "hospital_stays.yaml"
GIVEN = {
    ExtractTableOperator: {
        "conn_id": "warehouse",
        "table": "stays",
        "attributes": {"age": "sensitive"},
        "staging": "s",
    },
    DeidentifyTableOperator: {"job": JOB, "source": "s/source.parquet", "staging": "s"},
    DeidentifyInWarehouseOperator: {"job": JOB, "table": "stays", "staging": "s"},
    ValidateReleaseOperator: {"job": JOB, "release": "s/release", "manifest_sha256": "0" * 64},
    ApproveReleaseOperator: {"job": JOB, "release": "s/release", "manifest_sha256": "0" * 64},
    PublishReleaseOperator: {
        "job": JOB,
        "release": "s/release",
        "manifest_sha256": "0" * 64,
        "validation_sha256": "0" * 64,
        "metrics": {},
    },
}
TAKEN = [
    (ExtractTableOperator, "staging"),
    (DeidentifyTableOperator, "staging"),
    (DeidentifyTableOperator, "source"),
    (DeidentifyInWarehouseOperator, "staging"),
    *((operator, "release") for operator in (ValidateReleaseOperator, ApproveReleaseOperator, PublishReleaseOperator)),
    *((one, "manifest_sha256") for one in (ValidateReleaseOperator, ApproveReleaseOperator, PublishReleaseOperator)),
    (PublishReleaseOperator, "validation_sha256"),
]


@pytest.mark.parametrize(("operator", "name"), TAKEN)
def test_what_is_missing_is_named_with_what_to_do(operator, name):
    task = operator(task_id="task", **{**GIVEN[operator], name: None})
    with pytest.raises(AirflowFailException, match=rf"^{name}: is missing, .* by hand; clear the whole run$"):
        task.execute(run_context())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("marked", "then"), [("prepare_staging", "extract"), ("extract", "deidentify"), ("deidentify", "validate")]
)
def test_the_task_after_one_that_was_marked_is_not_tried_again(world, capfd, marked, then):
    path = world.job("hospital_stays", dag={"retries": 1, "retry_delay_seconds": 0})
    run = world.run(path, alter=lambda dag: setattr(dag.get_task(marked), "execute", lambda **_: None))
    assert (run.state, states(run)[then], states(run)["publish"]) == ("failed", "failed", "upstream_failed")
    assert "is missing, because the task before, which gives it, left no result" in capfd.readouterr().out
    assert world.left() == []

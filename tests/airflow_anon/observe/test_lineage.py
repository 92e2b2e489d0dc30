"""What OpenLineage hears of a run: the events of a real one, against the job, the release and the ledger."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from types import SimpleNamespace

import pyarrow.parquet as pq
import pytest

from airflow_anon.ledger import Ledger
from airflow_anon.observe.lineage import RUN_FACET, ExtractLineage, PublishLineage, ValidateLineage
from airflow_anon.observe.recorded import recorded_in
from airflow_anon.run.release_id import release_id
from engine import check_manifest, load_job
from tests.airflow_anon.nights.night import prepared, release_of
from tests.airflow_anon.publication.publishing import job, run_context
from tests.places import ROOT

pytest.importorskip("airflow.providers.openlineage", reason="needs apache-airflow-providers-openlineage")


class Heard:
    """The events of one run."""

    def __init__(self, world, path, file):
        self.world, self.job, self.path = world, load_job(path), path
        self.events = [json.loads(line) for line in file.read_text().splitlines()]
        self.entry = Ledger(world.ledger).entries(limit=1)[0]

    def last(self, task):
        """Give the event that ends a task."""
        name = f"{self.job.name}.{task}"
        ends = [e for e in self.events if e["job"]["name"] == name and e["eventType"] in {"COMPLETE", "FAIL"}]
        return ends[-1]

    def first(self, task):
        return next(e for e in self.events if e["job"]["name"] == f"{self.job.name}.{task}")

    @property
    def share(self):
        return ("file", str((self.world.share / self.job.name).resolve()))


def listened(world, path):
    """Run a job's DAG with a transport that writes events into a file."""
    file = world.folder / "events.jsonl"
    file.unlink(missing_ok=True)
    world.ledger = f"sqlite:///{world.folder}/ledger.db"
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "AIRFLOW_ANON_LEDGER": world.ledger,
        "AIRFLOW__OPENLINEAGE__DISABLED": "False",
        "AIRFLOW__OPENLINEAGE__EXECUTION_TIMEOUT": "120",
        "AIRFLOW__OPENLINEAGE__TRANSPORT": json.dumps({"type": "file", "log_file_path": str(file), "append": True}),
    }
    state = world.folder / "state.txt"
    command = [sys.executable, "-m", "tests.airflow_anon.observe.lineage_process", str(path), str(state)]
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:] + done.stdout[-3000:]
    return Heard(world, path, file), state.read_text()


@pytest.fixture(scope="module")
def module_world(tmp_path_factory, airflow_home, built_warehouse):
    folder = tmp_path_factory.mktemp("lineage")
    with pytest.MonkeyPatch.context() as patch:
        warehouse = shutil.copy(built_warehouse, folder / "clinic.db")
        world = prepared(folder, None, patch, f"sqlite:///{warehouse}", f"sqlite:///{folder}/research.db")
        yield SimpleNamespace(**{name: getattr(world, name) for name in ("folder", "share", "job", "warehouse")})


@pytest.fixture(scope="module")
def released(module_world):
    """Give the events of a job that reads a table and is published, in a folder and in a table."""
    heard, state = listened(module_world, module_world.job("hospital_stays", dag={"retries": 0}))
    assert state == "success"
    return heard


def names(datasets):
    return {(dataset["namespace"], dataset["name"]) for dataset in datasets}


def of_share(datasets, heard):
    return next(d for d in datasets if (d["namespace"], d["name"]) == heard.share)


def fields(dataset):
    return {field["name"]: field for field in dataset["facets"]["schema"]["fields"]}


@pytest.mark.airflow
@pytest.mark.slow
class TestARelease:
    """One run, seen from each side."""

    def test_goes_from_the_table_of_the_warehouse_to_both_shares(self, released):
        folder = released.world.folder.resolve()
        table = (f"sqlite://{folder}/clinic.db", released.job.source.table)
        shares = {released.share, (f"sqlite://{folder}/research.db", released.job.output.table)}
        for event in (released.first("publish"), released.last("publish")):
            assert names(event["inputs"]) == {table}
            assert names(event["outputs"]) == shares
        assert names(released.last("extract")["inputs"]) == {table}
        assert names(released.last("validate")["inputs"]) == shares

    def test_no_dataset_is_in_staging(self, released):
        assert {e["job"]["name"].rpartition(".")[2] for e in released.events} >= {"deidentify", "prepare_staging"}
        found = [d["name"] for e in released.events for d in (*e.get("inputs", ()), *e.get("outputs", ()))]
        assert not [name for name in found if "staging" in name]

    def test_the_schema_is_that_of_the_released_file(self, released):
        (source,) = released.last("publish")["inputs"]
        assert {name: f["description"] for name, f in fields(source).items()} == {
            name: attribute.role for name, attribute in released.job.attributes.items()
        }
        written = pq.ParquetFile(release_of(released.world, released.path) / "data.parquet").schema_arrow
        output = of_share(released.last("publish")["outputs"], released)
        assert {name: f["type"] for name, f in fields(output).items()} == {f.name: str(f.type) for f in written}
        assert list(fields(output)) == list(released.job.released)

    def test_each_column_comes_from_its_own_generalized_as_the_report_says(self, released):
        report = json.loads((release_of(released.world, released.path) / "report.json").read_text())
        lineage = of_share(released.last("publish")["outputs"], released)["facets"]["columnLineage"]
        (source,) = released.last("publish")["inputs"]
        assert lineage["fields"].keys() == set(released.job.released)
        for name, field in lineage["fields"].items():
            (origin,) = field["inputFields"]
            assert (origin["namespace"], origin["name"], origin["field"]) == (*names([source]).pop(), name)
            (step,) = origin["transformations"]
            level = report["solution"]["levels"].get(name, 0)
            assert step["type"] == "DIRECT"
            assert step["subtype"] == ("TRANSFORMATION" if level else "IDENTITY")
            assert step["masking"] is (level > 0)
            if name in report["solution"]["levels"]:
                assert f"level {level} of " in step["description"]
                assert released.job.privacy[0].describe() in step["description"]
        assert any(report["solution"]["levels"].values())

    def test_columns_that_decide_about_suppression_are_named(self, released):
        lineage = of_share(released.last("publish")["outputs"], released)["facets"]["columnLineage"]
        deciding = {field["field"] for field in lineage["dataset"]}
        assert deciding == {*released.job.quasi_identifiers, "discharge_disposition"}
        steps = [step for field in lineage["dataset"] for step in field["transformations"]]
        assert {(step["type"], step["subtype"], step["masking"]) for step in steps} == {("INDIRECT", "FILTER", True)}

    def test_the_version_is_the_release(self, released):
        release = release_of(released.world, released.path)
        for dataset in (*released.last("publish")["outputs"], *released.last("validate")["inputs"]):
            assert dataset["facets"]["version"]["datasetVersion"] == release.name
        started = of_share(released.first("publish")["outputs"], released)
        assert "version" not in started["facets"]

    def test_what_was_asserted_is_what_the_validation_says(self, released):
        results = json.loads((release_of(released.world, released.path) / "validation.json").read_text())["results"]
        expected = [(r["expectation_type"], r["success"], r["column"]) for r in results]
        validated = of_share(released.last("validate")["inputs"], released)["inputFacets"]["dataQualityAssertions"]
        published = of_share(released.last("publish")["outputs"], released)["facets"]["dataQualityAssertions"]
        for facet in (validated, published):
            assert [(a["assertion"], a["success"], a.get("column")) for a in facet["assertions"]] == expected
        assert len(expected) > 5

    def test_the_number_of_records_is_withheld_only_if_it_tells_too_much(self, released):
        statistics = of_share(released.last("publish")["outputs"], released)["outputFacets"]
        rows = pq.ParquetFile(release_of(released.world, released.path) / "data.parquet").metadata.num_rows
        assert statistics["outputStatistics"]["rowCount"] == rows

    def test_the_run_facet_is_the_entry_of_the_ledger(self, released):
        facet = released.last("publish")["run"]["facets"][RUN_FACET]
        entry = released.entry
        columns = ("sequence", "entry_sha256", "release_id", "information_loss", "privacy_margin", "suppressed_share")
        assert {name: facet[name] for name in columns} == {name: getattr(entry, name) for name in columns}
        document = Ledger(released.world.ledger).document(entry.sequence)
        assert facet["levels"] == {name: level["level"] for name, level in document["levels"].items()}
        assert [finding["observed"] for finding in facet["privacy"]] == [f["observed"] for f in document["privacy"]]
        assert RUN_FACET not in released.last("record_attempt")["run"]["facets"]

    def test_the_client_reads_every_facet_as_its_own(self, released):
        """Each facet has the fields of the client's class of that name, and no other."""
        from openlineage.client import facet_v2  # noqa: PLC0415 (an optional dependency)

        classes = {
            "schema": facet_v2.schema_dataset.SchemaDatasetFacet,
            "columnLineage": facet_v2.column_lineage_dataset.ColumnLineageDatasetFacet,
            "version": facet_v2.dataset_version_dataset.DatasetVersionDatasetFacet,
            "dataQualityAssertions": facet_v2.data_quality_assertions_dataset.DataQualityAssertionsDatasetFacet,
            "outputStatistics": facet_v2.output_statistics_output_dataset.OutputStatisticsOutputDatasetFacet,
        }
        seen = set()
        for event in released.events:
            for dataset in (*event.get("inputs", ()), *event.get("outputs", ())):
                groups = [dataset.get(group) or {} for group in ("facets", "inputFacets", "outputFacets")]
                for name, facet in ((n, f) for group in groups for n, f in group.items()):
                    own = {key: value for key, value in facet.items() if not key.startswith("_")}
                    assert classes[name](**own)._schemaURL == facet["_schemaURL"]
                    seen.add(name)
        assert seen == classes.keys()


@pytest.mark.airflow
@pytest.mark.thorough
def test_a_refused_attempt_is_told_and_has_no_version(module_world):
    """The suppression limit of 0 and levels that may not rise leave no transformation."""

    def narrow(attributes):
        for attribute in attributes.values():
            if attribute["role"] == "quasi-identifying":
                attribute["maximum_level"] = attribute.get("minimum_level", 0)
        return attributes

    path = module_world.job("demographics_with_diagnosis", attributes=narrow, suppression_limit=0, dag={"retries": 0})
    heard, state = listened(module_world, path)
    assert state == "failed"
    facet = heard.last("record_attempt")["run"]["facets"][RUN_FACET]
    assert facet["outcome"] == "refused"
    assert not {"release_id", "levels", "information_loss"} & facet.keys()
    assert facet["sequence"] == heard.entry.sequence
    assert not [e for e in heard.events if e["job"]["name"].endswith(".publish") and e["eventType"] == "COMPLETE"]


def test_a_failed_validation_sends_what_does_not_hold(tmp_path):
    """The provider asks on failure as it does on completion; no figure of the result is sent."""
    from airflow.providers.openlineage.extractors.base import DefaultExtractor  # noqa: PLC0415 (next to its use)

    failed = {"expectation_type": "expect_k", "success": False, "column": None, "observed": 4123, "required": 5123}
    (tmp_path / "validation.json").write_text(json.dumps({"results": [failed]}))
    validate = ValidateLineage()
    validate.task_type = "ValidateReleaseOperator"  # the provider logs it
    validate.job, validate.release = job(output={"path": f"{tmp_path}/share"}), f"{tmp_path}/release"
    instance = SimpleNamespace(get_template_context=run_context)
    (share,) = DefaultExtractor(validate).extract_on_failure(instance).inputs
    (assertion,) = share.inputFacets["dataQualityAssertions"].assertions
    assert (assertion.assertion, assertion.success, assertion.column) == ("expect_k", False, None)
    assert "4123" not in repr(assertion)
    assert share.facets["version"].datasetVersion == release_id(run_context())


def test_nothing_is_imported_or_asked_unless_openlineage_calls():
    """The provider is optional: a DAG file that makes the operators does not import its client."""
    code = (
        "import sys; import airflow_anon.observe.lineage; "
        "sys.exit(any(name.split('.')[0] == 'openlineage' for name in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for mixin in (ExtractLineage, PublishLineage):
        assert callable(mixin.get_openlineage_facets_on_start)


def test_a_ledger_that_does_not_answer_harms_nothing(caplog):
    from tests.airflow_anon.entries import entry_of  # noqa: PLC0415 (next to its use)

    class Gone:
        def document(self, _sequence):
            raise OSError("the ledger is gone")

    found = recorded_in(Gone(), entry_of(17))
    assert (found.document, found.smallest) == (None, None)
    assert "lack entry 17 (OSError)" in caplog.text
    attempt = PublishLineage()
    attempt.recorded = found
    assert attempt._run_facets() == {}


def test_the_release_is_what_a_manifest_proves(released):
    """The events were read beside a release that is sound."""
    check_manifest(release_of(released.world, released.path))

"""Where the heavy tasks of a job run: executors that Airflow has, pods of Kubernetes, and what is refused."""

from __future__ import annotations

import sys

import pytest
import yaml
from airflow.dag_processing.dagbag import DagBag
from airflow.executors import executor_loader
from airflow.serialization.serialized_objects import DagSerialization

from airflow_anon.jobs import check_job_files, deidentification_dag, tables_dag
from airflow_anon.jobs.weekly_frontier import frontier_dag
from engine import InvalidJob, load_job

JOB = {
    "name": "persons",
    "source": {"conn_id": "warehouse", "table": "clinic.person"},
    "attributes": {
        "mrn": {"role": "identifying"},
        "age": {"role": "quasi-identifying", "hierarchy": {"builder": "age"}},
    },
    "privacy": [{"model": "k-anonymity", "k": 2}],
    "output": {"path": "share"},
}
HEAVY = {"deidentify", "validate"}
BESIDE = "tests.preloading_executor.PreloadingExecutor"
POD = {
    "cpu": 4,
    "memory": "16Gi",
    "image": "registry.clinic.example/airflow:3",
    "service_account": "spark-driver",
    "node_selector": {"clinic.example/disk": "ssd"},
}


def job(name="persons", **section):
    return {**JOB, "name": name, "dag": section}


@pytest.fixture
def executors(monkeypatch):
    """Say which executors Airflow has; it remembers those that it read first."""

    def configured(names):
        monkeypatch.setenv("AIRFLOW__CORE__EXECUTOR", names)
        for remembered in vars(executor_loader).copy():
            if remembered in {
                "_alias_to_executors_per_team",
                "_classname_to_executors_per_team",
                "_module_to_executors_per_team",
                "_team_name_to_executors",
                "_executor_names",
            }:
                getattr(executor_loader, remembered).clear()

    yield configured
    monkeypatch.undo()
    configured("LocalExecutor")
    monkeypatch.undo()


def by_task(dag):
    return {task.label: task.executor for task in dag.tasks}


def test_without_the_keys_all_tasks_are_where_airflow_runs_them():
    dag = deidentification_dag(JOB)
    assert set(by_task(dag).values()) == {None}
    assert not any(task.executor_config for task in dag.tasks)


@pytest.mark.parametrize("name", ["PreloadingExecutor", BESIDE, "beside"])
def test_the_heavy_tasks_are_run_by_the_named_executor(executors, name):
    executors(f"LocalExecutor, beside:{BESIDE}")
    found = by_task(deidentification_dag(job(executor=name)))
    assert {task for task, executor in found.items() if executor == name} == HEAVY
    assert set(found.values()) == {name, None}


def test_executors_of_teams_are_known(executors):
    executors(f"LocalExecutor;clinic={BESIDE}")
    assert by_task(deidentification_dag(job(executor="PreloadingExecutor")))["deidentify"] == "PreloadingExecutor"


def test_the_weekly_frontier_is_searched_there_too(executors, tmp_path):
    executors(f"LocalExecutor,{BESIDE}")
    document = {**job(executor="PreloadingExecutor"), "frontier": {}}
    (tmp_path / "persons.yaml").write_text(yaml.safe_dump(document))
    found = by_task(frontier_dag(tmp_path))
    assert {task for task, executor in found.items() if executor is not None} == {"frontier"}


def test_an_executor_that_airflow_lacks_breaks_its_job_alone(executors, tmp_path):
    """Airflow by itself drops its DAG: here it fails each night, and the reason names what there is."""
    executors(f"LocalExecutor,{BESIDE}")
    jobs = tmp_path / "jobs"
    jobs.mkdir()
    (jobs / "known.yaml").write_text(yaml.safe_dump(job("known", executor="PreloadingExecutor")))
    (jobs / "unknown.yaml").write_text(yaml.safe_dump(job("unknown", executor="Celery")))
    dags = tmp_path / "dags"
    dags.mkdir()
    (dags / "nightly.py").write_text(
        "from airflow_anon.jobs import deidentification_dags\n"
        f"globals().update(deidentification_dags({str(jobs)!r}))  # airflow dag\n"
    )
    bag = DagBag(str(dags), bundle_path=dags, bundle_name="dags")
    assert bag.import_errors == {}
    assert by_task(bag.dags["known"])["deidentify"] == "PreloadingExecutor"
    reason = r"dag.executor: is 'Celery', and this Airflow has LocalExecutor, PreloadingExecutor; take one of these"
    (broken,) = (task for task in bag.dags["unknown"].tasks if task.task_id == "job_file_is_broken")
    assert reason in broken.reason
    with pytest.raises(InvalidJob, match=reason):
        check_job_files(jobs)
    assert {"known.deidentify", "unknown_yaml_is_broken"} <= set(tables_dag("tables", jobs).task_ids)


def test_airflow_takes_the_named_executor_of_a_serialised_dag(executors):
    executors(f"LocalExecutor,{BESIDE}")
    read = DagSerialization.from_dict(
        DagSerialization.to_dict(deidentification_dag(job(executor="PreloadingExecutor")))
    )
    assert {task.task_id for task in read.tasks if task.executor == "PreloadingExecutor"} == HEAVY


def test_a_pod_where_no_executor_makes_pods_is_refused(executors):
    pytest.importorskip("airflow.providers.cncf.kubernetes", reason="needs the extra 'kubernetes'")
    executors(f"LocalExecutor,KubernetesExecutor,{BESIDE}")
    with pytest.raises(InvalidJob, match=r"dag.pod: the tasks are run by LocalExecutor, which makes no pods; name a"):
        deidentification_dag(job(pod=POD))
    with pytest.raises(InvalidJob, match=r"dag.pod: the tasks are run by PreloadingExecutor, which makes no pods"):
        deidentification_dag(job(pod=POD, executor="PreloadingExecutor"))


def test_without_the_extra_a_pod_is_refused(executors, monkeypatch):
    executors("KubernetesExecutor")
    monkeypatch.setitem(sys.modules, "kubernetes.client.models", None)
    with pytest.raises(InvalidJob, match=r"dag.pod: needs Airflow's provider .* airflow-anon\[kubernetes\]"):
        deidentification_dag(job(pod=POD))


def test_a_pod_is_that_of_airflows_template_but_for_what_the_job_asks(executors):
    """Made by Airflow's own code for pods, of the DAG as the scheduler reads it: serialised."""
    generator = pytest.importorskip(
        "airflow.providers.cncf.kubernetes.pod_generator", reason="needs the extra 'kubernetes'"
    ).PodGenerator
    from kubernetes.client import models  # noqa: PLC0415 (an extra)

    executors("LocalExecutor,KubernetesExecutor")
    dag = deidentification_dag(job(executor="KubernetesExecutor", pod=POD))
    read = DagSerialization.from_dict(DagSerialization.to_dict(dag))
    assert {task.task_id for task in read.tasks if task.executor == "KubernetesExecutor"} == HEAVY
    assert {task.task_id for task in read.tasks if task.executor_config} == HEAVY
    staging = models.V1VolumeMount(name="staging", mount_path="/staging")
    template = models.V1Pod(
        metadata=models.V1ObjectMeta(),
        spec=models.V1PodSpec(
            containers=[models.V1Container(name="base", image="airflow", volume_mounts=[staging])],
            service_account_name="airflow-worker",
        ),
    )
    made = generator.construct_pod(
        dag_id="persons",
        task_id="deidentify",
        pod_id="persons-deidentify",
        try_number=1,
        kube_image="airflow",
        date=None,
        args=["run"],
        pod_override_object=generator.from_obj(read.get_task("deidentify").executor_config),
        base_worker_pod=template,
        namespace="airflow",
        scheduler_job_id="1",
    )
    (container,) = made.spec.containers
    asked = {"cpu": "4000m", "memory": "16Gi"}
    assert (container.name, container.image, container.args) == ("base", POD["image"], ["run"])
    assert (container.resources.requests, container.resources.limits) == (asked, asked)
    assert container.volume_mounts == [staging], "what the template mounts stays"
    assert (made.spec.service_account_name, made.spec.node_selector) == ("spark-driver", POD["node_selector"])


def test_an_executor_derived_from_that_of_kubernetes_makes_pods(executors, tmp_path, monkeypatch):
    pytest.importorskip("airflow.providers.cncf.kubernetes", reason="needs the extra 'kubernetes'")
    (tmp_path / "own_executor.py").write_text(
        "from airflow.providers.cncf.kubernetes.executors.kubernetes_executor import KubernetesExecutor\n"
        "class OwnExecutor(KubernetesExecutor):\n    pass\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    executors("own_executor.OwnExecutor")
    override = deidentification_dag(job(pod={"memory": "2Gi"})).get_task("deidentify").executor_config["pod_override"]
    (container,) = override.spec.containers
    assert container.resources.limits == {"memory": "2Gi"}
    assert (container.image, override.spec.node_selector) == (None, None)


def test_in_a_pod_airflow_finds_the_dag_whatever_its_settings_and_image(executors, monkeypatch, tmp_path):
    """Pods of older charts say LocalExecutor, whoever made them, and a DAG that names another executor is left out."""
    (tmp_path / "persons.py").write_text(
        "from airflow_anon.jobs import deidentification_dag\n"
        f"dag = deidentification_dag({job(executor='KubernetesExecutor', pod={'cpu': 0.5})!r})\n"
    )
    executors("LocalExecutor")
    monkeypatch.setitem(sys.modules, "kubernetes.client.models", None)
    monkeypatch.setenv("AIRFLOW_IS_K8S_EXECUTOR_POD", "True")
    bag = DagBag(str(tmp_path), bundle_path=tmp_path, bundle_name="dags")
    assert bag.import_errors == {}
    assert set(bag.dags["persons"].task_ids) >= HEAVY
    assert not bag.dags["persons"].has_task("job_file_is_broken")


@pytest.mark.parametrize(
    ("section", "message"),
    [
        ({"executor": ""}, "dag.executor: "),
        ({"pod": {}}, "dag.pod: is empty; name some of cpu, memory, image, service_account, node_selector"),
        ({"pod": {"cpu": 0}}, "dag.pod.cpu: "),
        ({"pod": {"memory": "16GB"}}, "dag.pod.memory: "),
        ({"pod": {"image": "two words"}}, "dag.pod.image: "),
        ({"pod": {"service_account": "Spark Driver"}}, "dag.pod.service_account: "),
        ({"pod": {"service_account": "spark..driver"}}, "dag.pod.service_account: "),
        ({"pod": {"service_account": "spark-.driver"}}, "dag.pod.service_account: "),
        ({"pod": {"service_account": "a" * 254}}, "dag.pod.service_account: "),
        ({"pod": {"node_selector": {"a b": "c"}}}, "dag.pod.node_selector.a b: "),
        ({"pod": {"node_selector": {"-clinic/disk": "c"}}}, "dag.pod.node_selector.-clinic/disk: "),
        ({"pod": {"node_selector": {"clinic..example/disk": "c"}}}, "dag.pod.node_selector.clinic..example/disk: "),
        ({"pod": {"gpu": 1}}, "dag.pod.gpu: unknown key 'gpu'"),
    ],
)
def test_what_kubernetes_would_refuse_is_refused_when_the_job_is_read(section, message):
    with pytest.raises(InvalidJob, match=message):
        load_job(job(**section))


@pytest.mark.parametrize(
    ("memory", "fits"), [("4Gi", True), ("4G", True), ("4095M", True), ("3999M", False), ("3Gi", False)]
)
def test_a_pod_has_the_memory_that_the_job_may_use(memory, fits):
    document = {**job(pod={"memory": memory}), "memory_limit": "4GB"}
    if fits:
        assert load_job(document).dag.pod.memory_bytes >= 4 * 10**9
        return
    with pytest.raises(InvalidJob, match=f"dag.pod.memory: {memory} is less than memory_limit 4GB"):
        load_job(document)

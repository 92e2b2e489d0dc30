"""What a real API server of Kubernetes says of a job's pods: asked by a dry run, so that no pod is made.

`AIRFLOW_ANON_TEST_KUBECONFIG` names the file that reaches a cluster, with the right to create pods in the namespace of
its context.
"""

from __future__ import annotations

import os

import pytest
from airflow.serialization.serialized_objects import DagSerialization

from airflow_anon.jobs import deidentification_dag
from engine import InvalidJob, load_job

pytestmark = pytest.mark.thorough

VARIABLE = "AIRFLOW_ANON_TEST_KUBECONFIG"
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
NO_IMAGE = "registry.clinic.example/airflow:3"


@pytest.fixture(scope="module")
def ask():
    """Give a function that asks the API server to create a pod, and do nothing; it raises `ApiException`."""
    file = os.environ.get(VARIABLE)
    if file is None:
        pytest.skip(f"needs a cluster of Kubernetes: {VARIABLE} names its kubeconfig")
    config = pytest.importorskip("kubernetes.config", reason="needs the extra 'kubernetes'")
    client = pytest.importorskip("kubernetes.client", reason="needs the extra 'kubernetes'")
    _, context = config.list_kube_config_contexts(file)
    api = client.CoreV1Api(config.new_client_from_config(file))
    namespace = context["context"].get("namespace", "default")
    return lambda pod: api.create_namespaced_pod(namespace, pod, dry_run="All")


def made_pod(section, monkeypatch):
    """Return the pod that Airflow's own code makes of the serialised DAG, and of a template."""
    from airflow.providers.cncf.kubernetes.pod_generator import PodGenerator  # noqa: PLC0415 (an extra)
    from kubernetes.client import models  # noqa: PLC0415 (an extra)

    monkeypatch.setenv("AIRFLOW__CORE__EXECUTOR", "KubernetesExecutor")
    dag = deidentification_dag({**JOB, "dag": {"pod": section}})
    read = DagSerialization.from_dict(DagSerialization.to_dict(dag))
    container = models.V1Container(name="base", image="template.example/airflow:3")
    spec = models.V1PodSpec(containers=[container], restart_policy="Never")
    return PodGenerator.construct_pod(
        dag_id="persons",
        task_id="deidentify",
        pod_id="persons-deidentify-x1",
        try_number=1,
        kube_image=None,
        date=None,
        args=["run"],
        pod_override_object=PodGenerator.from_obj(read.get_task("deidentify").executor_config),
        base_worker_pod=models.V1Pod(metadata=models.V1ObjectMeta(), spec=spec),
        namespace=None,
        scheduler_job_id="1",
    )


def test_the_pod_of_a_job_is_taken_as_it_is_asked_for(ask, monkeypatch):
    section = {
        "cpu": 0.5,
        "memory": "2Gi",
        "image": NO_IMAGE,
        "service_account": "default",
        "node_selector": {"clinic.example/disk": "ssd"},
    }
    spec = ask(made_pod(section, monkeypatch)).spec
    (container,) = spec.containers
    asked = {"cpu": "500m", "memory": "2Gi"}
    assert (container.resources.requests, container.resources.limits) == (asked, asked)
    assert (container.image, spec.service_account_name, spec.restart_policy) == (NO_IMAGE, "default", "Never")
    assert spec.node_selector == {"clinic.example/disk": "ssd"}


@pytest.mark.parametrize(
    "section",
    [
        {"cpu": 0.001},
        {"cpu": 10_000},
        {"memory": "1M"},
        {"memory": "999999999Ti"},
        {"node_selector": {"a": ""}},
        {"node_selector": {"a-b.c/" + "N" * 63: "v" * 63}},
        {"node_selector": {"clinic.example/Disk_1.a": "A_b.c-D"}},
    ],
)
def test_the_ends_of_what_a_job_may_ask_for_are_taken(ask, monkeypatch, section):
    assert ask(made_pod(section, monkeypatch)).metadata.name == "persons-deidentify-x1"


def test_a_template_s_image_is_taken_where_neither_job_nor_airflow_names_one(ask, monkeypatch):
    (container,) = ask(made_pod({"cpu": 1}, monkeypatch)).spec.containers
    assert container.image == "template.example/airflow:3"


@pytest.mark.parametrize(
    "section",
    [
        {"memory": "16GB"},
        {"node_selector": {"-clinic/disk": "ssd"}},
        {"node_selector": {"clinic..example/disk": "ssd"}},
        {"node_selector": {"disk": "-ssd"}},
        {"node_selector": {"n" * 64: "ssd"}},
        {"service_account": "spark..driver"},
        {"service_account": "spark-.driver"},
        {"service_account": "Spark"},
    ],
)
def test_what_a_job_may_not_ask_for_is_refused_by_kubernetes_too(ask, monkeypatch, section):
    """So nothing is refused that would run."""
    from kubernetes.client.exceptions import ApiException  # noqa: PLC0415 (an extra)

    with pytest.raises(InvalidJob, match=r"dag\.pod\."):
        load_job({**JOB, "dag": {"pod": section}})
    pod = made_pod({"cpu": 1}, monkeypatch)
    if memory := section.get("memory"):
        pod.spec.containers[0].resources.limits = pod.spec.containers[0].resources.requests = {"memory": memory}
    pod.spec.node_selector = section.get("node_selector")
    pod.spec.service_account_name = section.get("service_account")
    with pytest.raises(ApiException) as refused:
        ask(pod)
    # an account that has no valid name is told as one that is not there
    assert refused.value.status in ({403} if "service_account" in section else {400, 422})

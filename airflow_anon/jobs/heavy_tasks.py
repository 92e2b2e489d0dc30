"""Where the heavy tasks of a job run: those that search, count, and read a release record by record.

In: `executor` and `pod` of the job's `dag` section. Out: arguments of the operators, which Airflow understands by
itself: the name of an executor per task (AIP-61), and `pod_override` of a Kubernetes executor. The small tasks of the
job stay where Airflow runs all others.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any

from engine import InvalidJob, Job

_IN_A_POD = "AIRFLOW_IS_K8S_EXECUTOR_POD"
_CONTAINER = "base"
"""The container of a worker's pod that runs the task; Airflow fixes its name."""
_PROVIDER = "airflow.providers.cncf.kubernetes"
_KUBERNETES = f"{_PROVIDER}.executors.kubernetes_executor"


def heavy_arguments(job: Job) -> dict[str, Any]:
    """Return the arguments of the operators of a job's heavy tasks, beyond those of all its tasks.

    Returns
    -------
    dict
        Empty, or of ``executor`` (str) and ``executor_config`` (dict of ``pod_override`` to a ``V1Pod``). Empty in a
        pod of a Kubernetes executor.

    Raises
    ------
    InvalidJob
        Airflow has no such executor; or the tasks run in no pods, so that `dag.pod` would have no effect; or the client
        of Kubernetes is not installed.
    """
    # In its pod a task has been placed. The pod has settings of its own, and where they lack the executor, Airflow
    # would find no DAG; nor need its image have the client of Kubernetes.
    if job.dag is None or os.environ.get(_IN_A_POD):
        return {}
    executor, pod = job.dag.executor, job.dag.pod
    override = None if pod is None else _override(pod)
    if executor is not None or pod is not None:
        _check(executor, needs_pods=pod is not None)
    return {
        **({} if executor is None else {"executor": executor}),
        **({} if override is None else {"executor_config": {"pod_override": override}}),
    }


def _check(executor: str | None, *, needs_pods: bool) -> None:
    configured = _configured()
    known = {name: path for names, path in configured.items() for name in names}
    if executor is not None and executor not in known:
        raise InvalidJob(
            f"dag.executor: is {executor!r}, and this Airflow has {', '.join(names[0] for names in configured)}; take "
            "one of these, or add it to [core] executor, in the settings of all parts of Airflow and of its pods"
        )
    path = next(iter(configured.values())) if executor is None else known[executor]
    if needs_pods and not _makes_pods(path):
        raise InvalidJob(
            f"dag.pod: the tasks are run by {path.rpartition('.')[2]}, which makes no pods; name a Kubernetes executor "
            "as dag.executor, or take dag.pod out"
        )


def _configured() -> dict[tuple[str, ...], str]:
    """Return the paths of the executors of this Airflow, of all teams, by their names: those to be told come first.

    They are read as Airflow reads them: ``NAME,ALIAS:NAME;TEAM=NAME``, where a name may be the path of a class.
    """
    from airflow.configuration import conf  # noqa: PLC0415 (most jobs ask for no executor)
    from airflow.executors.executor_loader import ExecutorLoader  # noqa: PLC0415 (most jobs ask for no executor)

    found: dict[tuple[str, ...], str] = {}
    for of_team in conf.get_mandatory_value("core", "executor").split(";"):
        for entry in of_team.rpartition("=")[2].split(","):
            alias, _, name = entry.strip().rpartition(":")
            path = ExecutorLoader.executors.get(name, name)
            names = (alias, path.rpartition(".")[2], path)
            found[tuple(name for name in names if name)] = path
    return found


def _makes_pods(path: str) -> bool:
    """Tell whether an executor is that of Kubernetes, or derived from it."""
    module, _, name = path.rpartition(".")
    if module == _KUBERNETES:
        return True
    try:
        return issubclass(getattr(import_module(module), name), import_module(_KUBERNETES).KubernetesExecutor)
    except (ImportError, AttributeError, ValueError):  # Airflow's scheduler says what is wrong with it
        return False


def _override(pod: Any) -> Any:
    """Return what of Airflow's template of a pod is replaced, as a ``V1Pod``."""
    try:
        import_module(_PROVIDER)
        models = import_module("kubernetes.client.models")
    except ImportError:
        raise InvalidJob(
            "dag.pod: needs Airflow's provider for Kubernetes; install airflow-anon[kubernetes] where Airflow is, or "
            "take dag.pod out"
        ) from None
    resources = models.V1ResourceRequirements(requests=pod.resources, limits=pod.resources) if pod.resources else None
    container = models.V1Container(name=_CONTAINER, image=pod.image, resources=resources)
    spec = models.V1PodSpec(
        containers=[container],
        service_account_name=pod.service_account,
        node_selector=dict(pod.node_selector) or None,
    )
    return models.V1Pod(spec=spec)

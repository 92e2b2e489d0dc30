"""The pod of a job's heavy tasks, where Kubernetes runs them, and what a job may ask of it.

In: the key `dag.pod` of a job. Out: quantities as Kubernetes writes them; or why the job is refused.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, StringConstraints, model_validator
from typing_extensions import Self

from engine.spec import Spec

_UNITS = {"Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "M": 10**6, "G": 10**9, "T": 10**12}
_NAME = r"[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?"
_PART = r"[a-z0-9]([a-z0-9-]*[a-z0-9])?"
_SUBDOMAIN = rf"{_PART}(\.{_PART})*"
_Label = Annotated[str, StringConstraints(pattern=rf"^({_SUBDOMAIN}/)?{_NAME}$", max_length=253 + 1 + 63)]
_LabelValue = Annotated[str, StringConstraints(pattern=rf"^({_NAME})?$")]


class PodSettings(Spec):
    """What the pods of de-identification and validation get; the rest is as in the template of Airflow's pods."""

    cpu: float | None = Field(
        default=None, ge=0.001, le=10_000, strict=True, description="Cores of a pod, requested and allowed: 4, or 0.5."
    )
    memory: str | None = Field(
        default=None,
        pattern=r"^[1-9][0-9]{0,8}(Mi|Gi|Ti|M|G|T)$",
        description="Memory of a pod, requested and allowed, as Kubernetes writes it: 16Gi; at least memory_limit.",
    )
    image: str | None = Field(default=None, pattern=r"^\S{1,500}$", description="Image of the container.")
    service_account: str | None = Field(
        default=None,
        pattern=rf"^{_SUBDOMAIN}$",
        max_length=253,
        description="Account of Kubernetes under which the tasks run, such as that of a driver of Spark.",
    )
    node_selector: dict[_Label, _LabelValue] = Field(
        default_factory=dict, description="Labels of the nodes on which the tasks may run."
    )

    @model_validator(mode="after")
    def _asks_for_something(self) -> Self:
        if self == type(self).model_construct():
            raise ValueError("is empty; name some of cpu, memory, image, service_account, node_selector")
        return self

    @property
    def resources(self) -> dict[str, str]:
        """Cores, in thousandths, and memory, as Kubernetes writes them; without those that are not set."""
        cores = {} if self.cpu is None else {"cpu": f"{round(self.cpu * 1000)}m"}
        return cores if self.memory is None else {**cores, "memory": self.memory}

    @property
    def memory_bytes(self) -> int | None:
        """The memory in bytes, if it is set."""
        if self.memory is None:
            return None
        number = self.memory.rstrip("MGTi")
        return int(number) * _UNITS[self.memory.removeprefix(number)]


def check_pod(job: Any) -> None:
    """Refuse a `Job` that may use more memory than its pods have, of which Kubernetes would kill them.

    Raises
    ------
    ValueError
        Names the keys and the fix.
    """
    pod = None if job.dag is None else job.dag.pod
    if pod is None or pod.memory_bytes is None or job.memory_bytes is None:
        return
    if pod.memory_bytes < job.memory_bytes:
        raise ValueError(
            f"dag.pod.memory: {pod.memory} is less than memory_limit {job.memory_limit}, and Kubernetes kills what "
            "takes more than its pod has; raise dag.pod.memory, or lower memory_limit"
        )

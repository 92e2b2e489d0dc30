"""People who answer a release that waits, in the place of Airflow's API: one answer after another, from a thread."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

Answer = Callable[[Any, Any], None]
TASK = "approve"
_STILL = timedelta(seconds=1)
"""So long nobody has written the state of the task that asks: its process writes it more than once."""


def by(user: str, option: str = "Approve", comment: str = "") -> Answer:
    """Give an answer as Airflow's API records it; the user's id is a number where the name starts with a digit."""

    def answer(instance: Any, session: Any) -> None:
        from airflow.api_fastapi.core_api.datamodels.hitl import UpdateHITLDetailPayload  # noqa: PLC0415
        from airflow.api_fastapi.core_api.routes.public.hitl import update_hitl_detail  # noqa: PLC0415

        update_hitl_detail(
            instance.dag_id,
            instance.run_id,
            instance.task_id,
            UpdateHITLDetailPayload(chosen_options=[option], params_input={"comment": comment}),
            SimpleNamespace(get_id=lambda: user, get_name=lambda: user),
            session,
        )

    return answer


def nobody_in_time(instance: Any, session: Any) -> None:
    """Let the time run out, as Airflow's scheduler does."""
    from airflow.models.trigger import handle_event_submit  # noqa: PLC0415 (needs the environment)
    from airflow.triggers.base import TriggerEvent  # noqa: PLC0415

    event = TriggerEvent({"error": "no response", "error_type": "timeout"})
    handle_event_submit(event, task_instance=instance, session=session)


def marked(state: str) -> Answer:
    """Mark the task that asks by hand."""

    def answer(instance: Any, session: Any) -> None:
        instance.set_state(state, session=session)

    answer.lasts = True
    return answer


@contextmanager
def answering(*answers: Answer, look: Callable[[], None] = lambda: None) -> Iterator[list[str]]:
    """Answer each time that a release waits; call `look` before each; give what the requests said."""
    # Two threads that import Airflow's models at once define them twice.
    import airflow.api_fastapi.core_api.routes.public.hitl  # noqa: F401, PLC0415 (needs the environment)

    said: list[str] = []
    stop = threading.Event()
    problems: list[BaseException] = []

    def work() -> None:
        try:
            _work(answers, look, said, stop)
        except BaseException as problem:  # noqa: BLE001 (raised in the test)
            problems.append(problem)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield said
    finally:
        stop.set()
        thread.join()
    if problems:
        raise problems[0]


def _work(answers: Sequence[Answer], look: Callable[[], None], said: list[str], stop: threading.Event) -> None:
    from airflow.models.hitl import HITLDetail  # noqa: PLC0415 (needs the environment)
    from airflow.models.taskinstance import TaskInstance  # noqa: PLC0415
    from airflow.sdk import timezone  # noqa: PLC0415
    from airflow.utils.session import create_session  # noqa: PLC0415
    from sqlalchemy import select  # noqa: PLC0415

    waiting = select(TaskInstance).where(TaskInstance.task_id == TASK, TaskInstance.state == "awaiting_input")
    for answer in answers:
        while not stop.is_set():
            with create_session() as session:
                instance = session.scalar(waiting)
                if instance is not None and timezone.utcnow() - instance.updated_at > _STILL:
                    asked = session.scalar(select(HITLDetail).where(HITLDetail.ti_id == instance.id))
                    said.append(f"{asked.subject}\n{asked.body}")
                    look()
                    answer(instance, session)
                    break
            time.sleep(0.1)
    # The process of the run may still have been writing the state of the task that asks, over that of a mark.
    while getattr(answers[-1], "lasts", False) and not stop.wait(0.5):
        with create_session() as session:
            instance = session.scalar(waiting)
            if instance is not None:
                answers[-1](instance, session)

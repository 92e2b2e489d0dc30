"""The outcome of a run's work, which decides the run's state even if somebody ended the run.

In: the ids of the tasks that do the work. Out: nothing; the task fails unless each of them did.

Airflow takes a run's state from its leaves. When a run is marked as failed (or as successful), the tasks that have not
begun are skipped, but teardowns still run, and a run whose leaves were skipped or succeeded is green. So the outcome is
a teardown too: no run is green without having done its work.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from airflow.providers.common.compat.sdk import AirflowFailException, AirflowSkipException
from airflow.sdk import BaseOperator, TriggerRule

from airflow_anon.run.check_only import was_check

if TYPE_CHECKING:
    from airflow.sdk import Context


class OutcomeOperator(BaseOperator):
    """Fail unless every task of the work succeeded and left its result. Make it a teardown that fails the run.

    Parameters
    ----------
    tasks : sequence of str
        Ids of the tasks that do the work, in order, at least one. Each returns a result; a task marked as successful by
        hand has none.

    Raises
    ------
    ValueError
        No task is named.

    Examples
    --------
    >>> released = OutcomeOperator(task_id="released", tasks=["extract", "deidentify", "publish"])  # doctest: +SKIP
    >>> publish >> released.as_teardown(on_failure_fail_dagrun=True)  # doctest: +SKIP
    """

    ui_color = "#e8efe4"

    def __init__(self, *, tasks: Sequence[str], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if not tasks:
            raise ValueError("tasks: is empty; give the ids of the tasks that do the work, at least one")
        self.tasks = list(tasks)

    def execute(self, context: Context) -> None:
        """Check the tasks of this run.

        Raises
        ------
        AirflowFailException
            One of them did not succeed, or was marked as successful by hand; or tasks are mapped.
        AirflowSkipException
            Tasks before them in the DAG skipped them all, or the run was to check only, and did.
        """
        refuse_mapped(self, context, self.tasks)
        states = task_states(self.tasks, context)
        if skipped_from_outside(self, states, context):
            raise AirflowSkipException("the work was skipped by tasks before it")
        if was_check(states, context) and next(iter(states.values())) == "success":
            raise AirflowSkipException("the run was to check only, and found nothing wrong")
        for task, state in states.items():
            if state != "success":
                raise AirflowFailException(
                    f"the work is not done: task {task} has the state {state or 'none'}; to do it again, clear the "
                    f"whole run"
                )
            if context["ti"].xcom_pull(task_ids=task) is None:
                raise AirflowFailException(
                    f"the work is not done: task {task} has no result, for example if marked as successful by hand; "
                    f"clear the whole run"
                )


def always_at_the_end(task: BaseOperator, setup: BaseOperator, *, fails_run: bool = False) -> BaseOperator:
    """Make a task a teardown that also runs if its setup failed or was skipped; return the task.

    As a teardown it also runs when somebody ends the run, and is cleared together with the setup's tasks.
    """
    task.as_teardown(setups=setup, on_failure_fail_dagrun=fails_run)
    task.trigger_rule = TriggerRule.ALL_DONE
    return task


def refuse_mapped(operator: BaseOperator, context: Context, tasks: Sequence[str] = ()) -> None:
    """Refuse to work for mapped tasks: a run has one staging folder, one release and one entry of each job.

    Raises
    ------
    AirflowFailException
        The operator's own task, or one of these tasks, is mapped or in a mapped group.
    """
    dag = operator.get_dag()
    # an operator that is executed without a DAG has no other tasks
    named = [] if dag is None else [dag.get_task(task) for task in tasks]
    mapped = [task.task_id for task in named if task.is_mapped or task.get_closest_mapped_task_group() is not None]
    index = getattr(context.get("ti"), "map_index", None)
    if isinstance(index, int) and index >= 0:
        mapped.append(operator.task_id)
    if mapped:
        raise AirflowFailException(
            f"task {mapped[0]}: is mapped (expand), and a run has one staging folder and makes one release of each "
            "job; make tasks for each job in a loop, by deidentification_task_group, or take tables_dag"
        )


def task_states(tasks: Sequence[str], context: Context) -> dict[str, str | None]:
    """Return the state of each of these tasks in this run, in order; None for a task without a state."""
    run = context["dag_run"]
    found = context["ti"].get_task_states(dag_id=run.dag_id, task_ids=list(tasks), run_ids=[run.run_id])
    states = found.get(run.run_id, {})
    return {task: states.get(task) for task in tasks}


def skipped_from_outside(operator: BaseOperator, states: Mapping[str, str | None], context: Context) -> bool:
    """Whether tasks before the work skipped all of it on purpose.

    If no task comes before the work, or one before it failed, all of it is skipped only when somebody ended the run,
    which counts as not done.
    """
    if not all(state == "skipped" for state in states.values()):
        return False
    before = set(operator.dag.get_task(next(iter(states))).upstream_task_ids)
    return bool(before) and not _failed_before(operator, before, context)


def _failed_before(operator: BaseOperator, before: set[str], context: Context) -> bool:
    """Whether one of these tasks failed, or one before a skipped task: a failure does not skip tasks by itself."""
    known: set[str] = set()
    while before:
        known |= before
        states = task_states(sorted(before), context)
        if "failed" in states.values():
            return True
        skipped = [operator.dag.get_task(task) for task, state in states.items() if state == "skipped"]
        before = {identity for task in skipped for identity in task.upstream_task_ids} - known
    return False

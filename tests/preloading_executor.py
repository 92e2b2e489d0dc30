"""A LocalExecutor whose workers have imported what the tasks of this project import, before the first task is there.

They have also read the classification of diagnoses, which takes a process two seconds.

A task is a fork of its worker, so that it finds those modules loaded; without that, half of the time of a short task
goes into importing them anew. Everything else is Airflow's own.
"""

from __future__ import annotations

from importlib import import_module

from airflow.executors.local_executor import LocalExecutor

MODULES = (
    "airflow_anon.expectations.run",
    "airflow_anon.jobs",
    "airflow_anon.operators",
    "airflow_anon.publication.publish",
    "engine.frontiers.run",
    "engine.pipeline.run",
    "engine.verification.recount",
)


class PreloadingExecutor(LocalExecutor):
    """LocalExecutor with the modules of the tasks loaded where its workers are forked."""

    def start(self) -> None:
        for name in MODULES:
            import_module(name)
        builder = import_module("engine.hierarchy.builders.icd10cm").Icd10Cm()
        builder.rows([])
        builder.is_label(builder.example_value, 0)
        super().start()

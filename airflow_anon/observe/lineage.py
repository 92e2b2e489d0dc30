"""Reports the operators' data flow to OpenLineage: mixins with the methods its Airflow provider calls.

Datasets are the tables of the warehouse and the folder and table of the share. Staging is private and never named.
Nothing here is called, or imports OpenLineage, unless its provider is installed and switched on; the provider logs
exceptions from here, and they fail no task.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from airflow_anon.run.output import output_of_this_installation
from airflow_anon.run.release_id import release_id
from airflow_anon.transport.object_store import opened
from airflow_anon.transport.release_files import DATA, VALIDATION
from engine import Job, load_job

if TYPE_CHECKING:
    from airflow.providers.openlineage.extractors import OperatorLineage
    from airflow.sdk.types import RuntimeTaskInstanceProtocol

    from airflow_anon.ledger.form import Document
    from airflow_anon.observe.lineage_datasets import Origin
    from airflow_anon.observe.recorded import Recorded

    Lineage = OperatorLineage[Any, Any]

RUN_FACET = "airflow_anon_deidentification"


class ExtractLineage:
    """Lineage of the extraction: the tables it reads. Expects `conn_id`, `table`, `query` and `attributes` (roles)."""

    conn_id: str
    table: str | None
    query: str | None
    attributes: dict[str, str]

    def get_openlineage_facets_on_start(self) -> Lineage:
        """Return the tables as inputs."""
        from airflow_anon.observe.lineage_datasets import origin_of  # noqa: PLC0415 (only OpenLineage asks)

        origin = origin_of(self.attributes, conn_id=self.conn_id, table=self.table, query=self.query)
        return _lineage(inputs=_inputs(origin, self.attributes))


class ExtractTablesLineage:
    """Lineage of the extraction of linked tables. Expects `conn_id`, `tables` and `attributes` (roles)."""

    conn_id: str
    tables: Mapping[str, Mapping[str, Any]]
    attributes: dict[str, str]

    def get_openlineage_facets_on_start(self) -> Lineage:
        """Return the tables as inputs."""
        from airflow_anon.observe.lineage_datasets import joined, origin_of  # noqa: PLC0415 (only OpenLineage asks)

        origins = [
            origin_of(one["columns"], conn_id=self.conn_id, table=one.get("table"), query=one.get("query"))
            for one in self.tables.values()
        ]
        return _lineage(inputs=_inputs(joined(origins), self.attributes))


class ValidateLineage:
    """Lineage of the validation: the release as it would be published, with its assertions.

    Expects `job` and `release`, the address of the staged release.
    """

    job: Any
    release: str

    def get_openlineage_facets_on_start(self) -> Lineage:
        """Return the share of the job as input."""
        return self._of_share({}, {})

    def get_openlineage_facets_on_complete(self, task_instance: RuntimeTaskInstanceProtocol) -> Lineage:
        """Return the share with the assertions, and the validated release as its version.

        It is also called for a failed validation.
        """
        from airflow_anon.observe import lineage_facets as facets  # noqa: PLC0415 (only OpenLineage asks)
        from airflow_anon.transport.staged_files import beside  # noqa: PLC0415

        path = beside(self.release, VALIDATION)
        results = json.loads(path.read_text())["results"] if path.exists() else []
        version = facets.version(release_id(task_instance.get_template_context()))
        checks = [facets.Check(one["expectation_type"], one["success"], one["column"]) for one in results]
        return self._of_share(version, facets.assertions(checks))

    def _of_share(self, dataset: dict[str, Any], asserted: dict[str, Any]) -> Lineage:
        from openlineage.client.event_v2 import InputDataset  # noqa: PLC0415 (only OpenLineage asks)

        from airflow_anon.observe.lineage_datasets import output_names  # noqa: PLC0415 (only OpenLineage asks)

        job = load_job(self.job)
        names = output_names(_output(job, output_of_this_installation(job)), job.name)
        known = {**_release_schema(job), **dataset}
        return _lineage(inputs=[InputDataset(*name, facets=known, inputFacets=asserted) for name in names])


class AttemptLineage:
    """Lineage of the end of an attempt: the tables it read, and its outcome. Expects `job`.

    Attributes
    ----------
    recorded : Recorded or None
        Entry and document of the attempt, once they are in the ledger.
    """

    job: Any
    recorded: Recorded | None = None

    def get_openlineage_facets_on_start(self) -> Lineage:
        """Return the tables as inputs."""
        job = load_job(self.job)
        return _lineage(inputs=_inputs(_origin(job), _roles(job)))

    def get_openlineage_facets_on_complete(self, task_instance: RuntimeTaskInstanceProtocol) -> Lineage:  # noqa: ARG002 (the provider's signature)
        """Return the tables as inputs, with the run facet of the entry."""
        lineage = self.get_openlineage_facets_on_start()
        lineage.run_facets |= self._run_facets()
        return lineage

    def _run_facets(self) -> dict[str, Any]:
        from airflow_anon.observe.lineage_facets import run_facet  # noqa: PLC0415 (only OpenLineage asks)

        if self.recorded is None or self.recorded.document is None:
            return {}
        return {RUN_FACET: run_facet(self.recorded.entry, self.recorded.document)}


class PublishLineage(AttemptLineage):
    """Lineage of the publication: from the tables of the warehouse to the share, per column.

    Expects `job` and `publish_to`.
    """

    publish_to: Mapping[str, Any] | None

    def get_openlineage_facets_on_start(self) -> Lineage:
        """Return the tables as inputs; the share, its schema and the origin of its columns as outputs."""
        return self._from_source_to_share(None)

    def get_openlineage_facets_on_complete(self, task_instance: RuntimeTaskInstanceProtocol) -> Lineage:  # noqa: ARG002 (the provider's signature)
        """Return inputs and outputs with the chosen levels, the version, the number of records and the assertions."""
        lineage = self._from_source_to_share(None if self.recorded is None else self.recorded.document)
        lineage.run_facets |= self._run_facets()
        return lineage

    def get_openlineage_facets_on_failure(self, task_instance: RuntimeTaskInstanceProtocol) -> Lineage:  # noqa: ARG002 (the provider's signature)
        """Return the intended inputs and outputs: there is no new version of the share."""
        return self.get_openlineage_facets_on_start()

    def _from_source_to_share(self, document: Document | None) -> Lineage:
        from openlineage.client.event_v2 import OutputDataset  # noqa: PLC0415 (only OpenLineage asks)

        from airflow_anon.observe import lineage_facets as facets  # noqa: PLC0415
        from airflow_anon.observe.lineage_datasets import output_names  # noqa: PLC0415

        job = load_job(self.job)
        origin = _origin(job)
        known = _release_schema(job, document)
        known |= facets.column_lineage(job, origin, None if document is None else document.levels)
        counted: dict[str, Any] = {}
        if document is not None:
            if document.publication is not None and document.publication.release_id is not None:
                known |= facets.version(document.publication.release_id)
            results = (document.validation and document.validation.results) or ()
            known |= facets.assertions(facets.Check(one.expectation_type, one.success, one.column) for one in results)
            counted = facets.statistics(document)
        names = output_names(_output(job, self.publish_to), job.name)
        return _lineage(
            inputs=_inputs(origin, _roles(job)),
            outputs=[OutputDataset(*name, facets=known, outputFacets=counted) for name in names],
        )


def _lineage(*, inputs: list[Any], outputs: list[Any] | None = None) -> Lineage:
    from airflow.providers.openlineage.extractors import OperatorLineage  # noqa: PLC0415 (an optional dependency)

    return OperatorLineage(inputs=inputs, outputs=outputs or [])


def _origin(job: Job) -> Origin:
    from airflow_anon.observe.lineage_datasets import Origin, origin_of  # noqa: PLC0415 (only OpenLineage asks)

    if job.tables is not None:
        return _origin_of_tables(job)
    source = job.source
    if source is None:
        return Origin((), {})
    return origin_of(job.attributes, conn_id=source.conn_id, table=source.table, query=source.query, path=source.path)


def _origin_of_tables(job: Job) -> Origin:
    """Return where the records of linked tables come from; a column may come from several."""
    from airflow_anon.observe.lineage_datasets import Origin, joined, origin_of  # noqa: PLC0415 (only OpenLineage asks)

    found = [
        origin_of(table.attributes, conn_id=own.conn_id, table=own.table, query=own.query, path=own.path)
        for table in (job.tables or {}).values()
        if (own := table.source) is not None
    ]
    return joined(found) if found else Origin((), {})


def _inputs(origin: Origin, roles: Mapping[str, str]) -> list[Any]:
    """Return the datasets that are read, each with the job's columns that come from it."""
    from openlineage.client.event_v2 import InputDataset  # noqa: PLC0415 (only OpenLineage asks)

    from airflow_anon.observe.lineage_facets import schema  # noqa: PLC0415

    return [
        InputDataset(
            *dataset,
            facets=schema(
                {
                    column.field: roles[name]
                    for name, columns in origin.columns.items()
                    for column in columns
                    if column.dataset == dataset
                }
            ),
        )
        for dataset in origin.datasets
    ]


def _roles(job: Job) -> dict[str, str]:
    """Return the roles of the columns that readers see: which of several tables a record is of is none."""
    seen = {name for own in job.columns_of_tables.values() for name in own} or set(job.attributes)
    return {name: attribute.role for name, attribute in job.attributes.items() if name in seen}


def _output(job: Job, publish_to: Mapping[str, Any] | None) -> Any:
    from airflow_anon.run.job_sections import sections  # noqa: PLC0415 (only OpenLineage asks)

    return job.output if publish_to is None else sections(output=dict(publish_to)).output


def _release_schema(job: Job, document: Document | None = None) -> dict[str, Any]:
    """Return the schema facet of the release, with types if its file is known."""
    from airflow_anon.observe.lineage_facets import schema  # noqa: PLC0415 (only OpenLineage asks)

    folder = document.publication.folder if document is not None and document.publication is not None else None
    files = [f"{table}.parquet" for table in job.tables] if job.tables else [DATA]
    types = {} if folder is None else {key: kind for file in files for key, kind in _types(f"{folder}/{file}").items()}
    roles = _roles(job)
    return schema({name: roles[name] for name in job.released if name in roles}, types)


def _types(place: str) -> dict[str, str]:
    import pyarrow.parquet as pq  # noqa: PLC0415 (only OpenLineage asks)

    with opened(place) as file:
        return {field.name: str(field.type) for field in pq.ParquetFile(file).schema_arrow}

"""From the source of a job to its frequency table: source ▶ columns ▶ codes ▶ frequency table.

In: a job, and optionally a table to use instead of the job's source. Out: the checked source and its frequency table
(with the population, if the job has one).
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from engine.backends.backend import Backend
from engine.backends.warehouse import Warehouse
from engine.errors import InvalidData, InvalidJob
from engine.hierarchy.builders.csv_file import DELIMITERS
from engine.hierarchy.value_keys import OrderName
from engine.job.job import Job
from engine.job.linked_source import linked_source, refuse_lacking_subject
from engine.job.transformed import OF_NUMBERS
from engine.job.with_policy import missing_outside
from engine.privacy.table_wide import TableWideModel
from engine.tables.altered.coded import CodedTable, Numbers
from engine.tables.altered.row_cap import RowsBeyond
from engine.tables.altered.subset import ReleasedTable, Subset
from engine.tables.counting.columns import Columns, QuasiIdentifier, Sensitive
from engine.tables.counting.encode import encode
from engine.tables.counting.encoding import Encoding
from engine.tables.counting.frequency import FrequencyTable
from engine.tables.counting.lacking import without_lacking_values
from engine.tables.counting.provisional_tuples import Beside, Tuples
from engine.tables.counting.ranks import order_of
from engine.tables.persons.subject import with_persons
from engine.tables.sources.column_text import as_text
from engine.tables.sources.column_types import plain_type
from engine.tables.sources.counted_table import CountedTable
from engine.tables.sources.data_set import DataSet, open_source_path
from engine.tables.sources.linked import LinkedTables
from engine.tables.sources.person_codes import lacks_subject, refuse_unclear
from engine.tables.sources.persons import PersonTable, by_person
from engine.tables.sources.source import open_data, open_path
from engine.tables.sources.table import Table

_LISTED = 20
"""Columns of which an error tells the place."""


class Counted(NamedTuple):
    """What a job's source is to its search, and to the transformation after it.

    Attributes
    ----------
    encoding : Encoding
        Turns batches of `records` into codes.
    table : FrequencyTable
    records : Table
        What was counted: all of the source, or the subset of it that is released. It can be read again.
    """

    encoding: Encoding
    table: FrequencyTable
    records: Table


def open_source(job: Job, table: Any = None) -> Table:
    """Open the job's source, or the table that is taken instead of it, and compare its columns with the job's.

    Raises
    ------
    InvalidJob
        The job names no file.
    InvalidData
        The table has columns that the job does not name, or lacks some.
    """
    source = open_source_unchecked(job, table)
    problem = next(column_problems(job, source), None)
    if problem is not None:
        raise InvalidData(problem)
    if isinstance(source, LinkedTables):
        refuse_lacking_subject(source.tables, job.subject)
    return source


def open_source_unchecked(job: Job, table: Any = None) -> Table:
    """Open the job's source, or the table that is taken instead of it, whatever its columns are.

    Raises
    ------
    InvalidJob
        The job names no file.
    InvalidData
        It cannot be opened.
    """
    if job.tables is not None:
        return linked_source(job, table)
    if table is not None:
        opened: Table = table if isinstance(table, Warehouse) or hasattr(table, "batches") else open_data(table)
        return with_coded_numbers(job, opened)
    if job.source is None or job.source.path is None:
        raise InvalidJob("source: names no path; give the table, or run the job where its connection is known")
    return with_coded_numbers(job, open_source_path(job.source.path, job.source.form))


def with_coded_numbers(job: Job, source: Table) -> Table:
    """Return a source with the numbers that the job codes, aggregates or perturbs.

    The source itself if the job does none of this, or if it was given such a source already.

    Raises
    ------
    InvalidData
        A column holds no numbers.
    """
    if isinstance(source, CodedTable):
        return source
    columns = {}
    for name in dict.fromkeys([*job.coded, *job.aggregated, *job.perturbed]):
        attribute = job.attributes[name]
        coding = attribute.coding
        if coding is None and attribute.noise is None and attribute.microaggregation not in OF_NUMBERS:
            continue
        key = f"microaggregation: {attribute.microaggregation}" if attribute.noise is None else "noise"
        key = key if coding is None else "coding"
        settings = {} if coding is None else coding.model_dump()
        columns[name] = Numbers(key, attribute.order, frozenset(attribute.missing), **settings)
    return CodedTable(source, columns) if columns else source


def count(
    job: Job,
    source: Table,
    beside: Beside | None = None,
    backend: Backend | None = None,
    *,
    whose: bool = True,
) -> Counted:
    """Make the frequency table of a job's source, or of the subset of it that the job releases.

    Parameters
    ----------
    beside : Beside, optional
        Sees the counted records in the same reading.
    backend : Backend, optional
        Who counts, unless the source has its own counts; the engine itself if not given, or where the order of the
        records matters: with a subset, which lists records, and with models that suppress some classes of equal size
        before others.
    whose : bool
        Whether the rows of the table of a job with a subject get their persons.

    Raises
    ------
    InvalidJob
        The population is in a database, or a sensitive attribute has not the order that a model needs.
    InvalidData
        Values have no hierarchy entry, or missing ones no group of the policy that is executed; or the persons of a
        job with a subject cannot be told (`engine.tables.persons.subject`).
    """
    if job.population_query is not None:
        raise InvalidJob(
            f"frontier.population: is in the connection {job.population_query.conn_id!r}, which only Airflow's tasks "
            "read; name a file to run the job elsewhere"
        )
    columns = columns_of(job, source.schema)
    subset = None if job.subset is None else Subset(source, _beside(job, job.subset), job.subset)
    population = None if job.population is None else _people(job, job.population)
    in_order = subset is not None or any(isinstance(model, TableWideModel) for model in job.privacy)
    encoding, table = encode(
        source,
        columns,
        subset=subset,
        population=population,
        beside=beside,
        tuples=None if backend is None or in_order else _counts(source, columns, backend),
        missing=_missing_inside(job, source, columns) if isinstance(source, Warehouse) else None,
        memory=job.memory_bytes,
    )
    with_missing = [hierarchy.attribute for hierarchy in table.hierarchies if None in hierarchy.labels[0]]
    outside = missing_outside(job.attributes, with_missing)
    if outside:
        raise InvalidData(
            f"columns {', '.join(map(repr, outside))}: have missing values, and the policy has no group for them; add "
            "the group {value: null}, or fill them in the source"
        )
    table = without_lacking_values(table, job.columns_of_tables)
    if job.subject is not None and whose:
        counted = source.tuples_of_persons if isinstance(source, Warehouse) else None
        apart = job.suppresses_persons
        table = with_persons(source, job.subject, encoding, table, columns.sensitive, apart=apart, counted=counted)
    return Counted(encoding, table, source if subset is None else ReleasedTable(source, subset))


def _counts(source: Table, columns: Columns, backend: Backend) -> Tuples | None:
    """Return who counts the combinations: the source, whose records nothing changes on their way, or the backend."""
    if isinstance(source, CountedTable) and source.has_counted([*columns.quasi_identifiers, *columns.sensitive]):
        return source.tuples
    return backend.tuples


def persons_inside(job: Job, source: Warehouse) -> RowsBeyond | None:
    """Let a warehouse give its records their persons; return which rows `max_rows` leaves out, None without it.

    Raises
    ------
    InvalidData
        As of `count`.
    """
    if job.subject is None:
        return None
    kind = source.type_of(job.subject)
    if kind is None:
        raise lacks_subject(job.subject)
    as_text(pa.array([], kind), job.subject)  # whose values have no text cannot tell persons
    found = source.read_persons(job.subject, job.max_rows)
    refuse_unclear(found.missing, found.alike, job.subject)
    return None if job.max_rows is None else found.further


def _missing_inside(job: Job, source: Warehouse, columns: Columns) -> dict[str, int]:
    """Let a warehouse count the missing values of columns whose values are not counted."""
    counted = {*columns.quasi_identifiers, *columns.sensitive}
    names = [name for name in columns.refuse_nulls if name not in counted]
    return {name: source.figures(name, frozenset(job.attributes[name].missing), 0).missing for name in names}


def columns_of(job: Job, schema: pa.Schema) -> Columns:
    """Return what a job reads of its source, which has this schema, to count it."""
    quasi = {}
    for name in job.quasi_identifiers:
        attribute = job.attributes[name]
        assert attribute.hierarchy is not None  # noqa: S101 (the job's own validation)
        quasi[name] = QuasiIdentifier(attribute.hierarchy, frozenset(attribute.missing), attribute.unseen)
    refuse_nulls = tuple(name for name in job.released if job.attributes[name].nulls == "error")
    missing = {name: frozenset(job.attributes[name].missing) for name in refuse_nulls}
    return Columns(quasi, _sensitive(job, schema), refuse_nulls, missing)


def _sensitive(job: Job, schema: pa.Schema) -> dict[str, Sensitive]:
    """Return how the attributes are read that models name: their order is the job's, or else that of the type."""
    presumed: dict[str, OrderName] = {}
    needed = set()
    for position, model in enumerate(job.privacy):
        name = model.sensitive_attribute
        if name is None:
            continue
        attribute = job.attributes[name]
        presumed[name] = attribute.order or order_of(schema.field(name).type)
        needed |= {name} if model.reads_order else set()
        lacking = model.lacking(presumed[name], has_hierarchy=attribute.hierarchy is not None)
        if lacking is not None:
            raise InvalidJob(f"privacy.{position}: {lacking}")
    read = {}
    for name, by_type in presumed.items():
        attribute = job.attributes[name]
        # where nobody reads it no order is derived: some value may not fit it, such as a float that is not a number
        order = by_type if name in needed else attribute.order or "text"
        asks = name in needed and attribute.order is None and order == "text"
        models = [model for model in job.privacy if model.sensitive_attribute == name]
        kinds = [order_of(schema.field(name).type), by_type] if any(model.tells_apart for model in models) else []
        read[name] = Sensitive(
            order,
            attribute.hierarchy,
            frozenset(attribute.missing),
            is_presumed=asks,
            numbers=next((kind for kind in kinds if kind in {"integer", "decimal"}), None),
            is_known_alone=any(model.leaves_out_missing for model in models),
            is_float=pa.types.is_floating(plain_type(schema.field(name).type)),
        )
    return read


def _people(job: Job, path: str) -> Table | PersonTable:
    population = by_person(_beside(job, path), job.quasi_identifiers, f"population {Path(path).name}")
    missing = sorted(set(job.quasi_identifiers) - set(population.schema.names))
    if missing:
        raise InvalidData(f"population {path}: lacks the quasi-identifying columns {', '.join(map(repr, missing))}")
    return population


def _beside(job: Job, path: str) -> Table:
    """Open a file that a job names beside its source; it is written alike."""
    return open_path(path, job.csv_form)


def column_problems(job: Job, source: Table) -> Iterator[str]:
    """Yield how the columns of a table differ from those the job names: neither may have one the other lacks.

    An identifying column may be absent: it would not be released. Names that the file alone has are not told.
    """
    if isinstance(source, LinkedTables):
        for table, released in job.released_of_tables.items():
            problems = _column_problems(job.columns_of_tables[table], released, source.tables[table])
            yield from (f"tables.{table}: {problem}" for problem in problems)
        return
    yield from _column_problems(tuple(job.attributes), job.released, source)


def _column_problems(named: Sequence[str], released: Sequence[str], source: Table) -> Iterator[str]:
    present = set(source.schema.names)
    by_folder = [name for name in source.partitions if name not in named] if isinstance(source, DataSet) else []
    if by_folder:
        yield (
            f"source: its folders name the columns {', '.join(map(repr, by_folder))}, which the job does not; give "
            "each a role under attributes, such as identifying to leave it out"
        )
    nearly = _nearly(named, source.schema.names)
    if nearly:
        # the job's spelling: that of the source may be a value
        words = "column {} is" if len(nearly) == 1 else "columns {} are"
        yield (
            f"source: its {words.format(_places(list(nearly)))} {', '.join(map(repr, dict.fromkeys(nearly.values())))} "
            "of the job but for case, blanks or Unicode form; write each in the job as it is in the source, or rename "
            "it there"
        )
    if not nearly and not present & set(named):
        # the names found are not given: without a header they are the values of the first record
        mark = _delimiter(named, source.schema.names)
        advice = "check that it has a header, and the delimiter"
        if mark is not None:
            written = mark.replace("\t", r"\t")
            advice = f'another delimiter stands between them: say source: {{delimiter: "{written}"}}'
        yield f"source: holds none of the job's columns; {advice}"
        return
    unnamed = [place for place, name in enumerate(source.schema.names, start=1) if name not in named]
    unnamed = [place for place in unnamed if place not in nearly]
    if unnamed:
        # nor are these names: after an unbalanced quote the header goes on into the records
        is_one = len(unnamed) == 1
        yield (
            f"source: {'column' if is_one else 'columns'} number {_places(unnamed)} of its {len(source.schema.names)} "
            f"{'is' if is_one else 'are'} not named in the job; give {'it' if is_one else 'each'} a role under "
            "attributes (identifying columns are dropped), or check the quoting of the header"
        )
    missing = sorted(set(released) - present - set(nearly.values()))
    if missing:
        yield (
            f"columns {', '.join(map(repr, missing))}: named in the job but not in the source; take them out of the "
            "job, or correct their names"
        )


def _delimiter(named: Sequence[str], present: Sequence[str]) -> str | None:
    """Return what stands between columns of the job in a header that was read as one column."""
    if len(present) != 1:
        return None
    between = {mark: {part.strip('"') for part in present[0].split(mark)} for mark in DELIMITERS}
    return next((mark for mark, parts in between.items() if len(parts) > 1 and parts & set(named)), None)


def _nearly(named: Sequence[str], present: Sequence[str]) -> dict[int, str]:
    """Return the places, from 1, of columns whose names differ from one of the job only as a person may not see."""
    lacking = {_seen(name): name for name in named if name not in present}
    return {
        place: lacking[_seen(name)]
        for place, name in enumerate(present, start=1)
        if name not in named and _seen(name) in lacking
    }


def _seen(name: str) -> str:
    """Return a name without case, blanks (also those without width) and the Unicode form of its characters."""
    plain = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
    return "".join(
        character for character in plain if not character.isspace() and unicodedata.category(character) != "Cf"
    )


def _places(numbers: Sequence[int]) -> str:
    """List places of columns, counted from 1; of many the first."""
    listed = ", ".join(map(str, numbers[:_LISTED]))
    return listed if len(numbers) <= _LISTED else f"{listed}, ..."

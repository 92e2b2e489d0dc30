"""Values to codes: the columns of a stream become integers, the hierarchies become code tables.

In: a `Table`, the `Columns` to read, and the population if the job has one. Out: a frequency table, and an `Encoding`
that turns any batch of the same table into leaf codes. Each stream is read once: values get provisional codes as they
appear, and are mapped to leaves when all are known, so all values without a hierarchy entry are found at once.
"""

from __future__ import annotations

from collections.abc import Mapping

from engine.tables.altered.subset import Subset
from engine.tables.counting.bound_tuples import bind
from engine.tables.counting.columns import Columns
from engine.tables.counting.encoding import Encoding
from engine.tables.counting.frequency import FrequencyTable
from engine.tables.counting.provisional_tuples import Beside, ProvisionalTuples, Tuples
from engine.tables.sources.persons import PersonTable
from engine.tables.sources.table import Table


def encode(
    table: Table,
    columns: Columns,
    *,
    subset: Subset | None = None,
    population: Table | PersonTable | None = None,
    beside: Beside | None = None,
    tuples: Tuples | None = None,
    missing: Mapping[str, int] | None = None,
    memory: int | None = None,
) -> tuple[Encoding, FrequencyTable]:
    """Read a table once, and the table of its population if there is one.

    Parameters
    ----------
    subset : Subset, optional
        Which records are released; all records are the population.
    population : Table, optional
        The population, with the quasi-identifiers as columns.
    beside : Beside, optional
        Sees the released records.
    tuples : Tuples, optional
        Counts the table instead of the engine; not with a subset. The `first` of the frequency table then has no
        meaning.
    missing : mapping of column to int, optional
        Missing values of the columns that refuse them and are not counted as tuples; then only `tuples` is read.
    memory : int, optional
        Bytes that the process may use.

    Raises
    ------
    InvalidJob
        There are more distinct combinations of values than fit into the memory.
    InvalidData
        The table is empty, a hierarchy is invalid, values have no hierarchy entry, or values are missing in a column
        that refuses them. The message names columns and numbers of values, but no values.
    """
    counter = ProvisionalTuples(columns, memory)
    if tuples is None or subset is not None:
        counter.read(table, subset, beside)
    else:
        counter.read_counted(table, tuples, beside, missing)
    people = None
    if population is not None:
        counter.read_population(population)
    if subset is not None or population is not None:
        people = counter.population()
    return bind(columns, counter.dictionaries, *counter.released(), people)

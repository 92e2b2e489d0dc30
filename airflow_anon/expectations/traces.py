"""The traces of persons over the remembered releases of a series, recounted with pandas.

In: the staged source, and what the vault holds of the release and of those before it. Out: two private files: the
records of the source whose person the vault has in the release, and a row per remembered person with the class in each
release; and the expectation that reads them. It shares nothing with the engine's verification but the rows of
hierarchies and the recount of each model on what was counted here.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet

from airflow_anon.expectations.base import ReleaseExpectation
from airflow_anon.expectations.file_texts import texts_of
from airflow_anon.expectations.persons_named import persons_named
from airflow_anon.expectations.source_records import CELL, LEVEL, PERSONS_OF_ROW, source_records
from engine import Count, Finding, InvalidData, Message, recount

if TYPE_CHECKING:
    from airflow_anon.expectations.class_table import ClassTable
    from engine import Job, SeriesEvidence

_NIGHT, _VALUE, _ROW = "night ", "value ", "\0row"
_HALVES = ["first half", "second half"]
_CHANGED = "changed "
"""Before the number of a night and an attribute: whether a person's value was another one than on the last night."""
_THEN = "then "
"""Before the number of a night and an attribute: the value that each person had that night."""


def written_traces(job: Job, source: Path, evidence: SeriesEvidence, folder: Path) -> tuple[str, str]:
    """Write who is in the release, and all traces; return the paths of the two files.

    Raises
    ------
    InvalidData
        The source lacks the subject, or has several records of a person.
    """
    table = pa.parquet.read_table(source)
    subject = str(job.subject)
    if subject not in table.column_names:
        raise InvalidData(f"subject {subject!r}: the staged source lacks this column; run the extraction again")
    table = persons_named(table, subject)
    persons = texts_of(table.select([subject]), "source")[subject].astype(object).tolist()
    if len(set(persons)) != len(persons):
        raise InvalidData(f"subject {subject!r}: the staged source has several records of a person")
    rows = _halves(evidence.key.ids(persons)).assign(**{_ROW: np.arange(len(persons))})
    traces = _halves(evidence.ids).merge(rows, on=_HALVES, how="left")[[_ROW]].fillna(-1).astype(np.int64)
    table = _with_gone(job, table, traces, evidence)
    changes = job.series is not None and job.series.traces_changes
    for name in evidence.releases[-1].hashes:
        traces[f"{_VALUE}{name}"] = None
    known = pd.Series(data=False, index=traces.index)
    for night, release in enumerate(evidence.releases):
        classes = pd.Series(release.classes).reindex(traces.index, fill_value=-1)
        traces[f"{_NIGHT}{night}"] = classes
        there, stored = classes[classes >= 0].index, dict(release.values)
        for name, hashes in release.hashes.items():
            texts = np.array([one.hex() or None for one in hashes], object)
            now = pd.Series(texts[stored[name][there]], there, object)
            if changes:
                before = traces.loc[there, f"{_VALUE}{name}"]
                traces[f"{_CHANGED}{night} {name}"] = known & (before.fillna("") != now.fillna("")).reindex(
                    traces.index, fill_value=False
                )
            traces.loc[there, f"{_VALUE}{name}"] = now
            if name in _of_each_night(job):
                then = pd.Series(None, traces.index, object)
                then[there] = texts[stored[name][there]]
                traces[f"{_THEN}{night} {name}"] = then.astype("category")
        known |= classes >= 0
    nights = [name for name in traces.columns if name.startswith(_NIGHT)]
    traces = traces[(traces[nights] >= 0).any(axis=1)]
    inside = traces[traces[nights[-1]] >= 0].sort_values(_ROW)
    chosen = inside.loc[inside[_ROW] >= 0, _ROW].to_numpy()
    outside = traces.drop(inside.index)
    paths = folder / "released.parquet", folder / "traces.parquet"
    pa.parquet.write_table(_with_levels(job, table.take(pa.array(chosen)), inside, evidence), paths[0])
    pd.concat([inside, outside], ignore_index=True).to_parquet(paths[1])
    return str(paths[0]), str(paths[1])


def _with_levels(job: Job, released: pa.Table, inside: pd.DataFrame, evidence: SeriesEvidence) -> pa.Table:
    """Return the records of who is released with the level of each, of a release of mixed levels.

    Raises
    ------
    InvalidData
        The vault does not say the levels of somebody.
    """
    if not job.mixes_levels:
        return released
    cohorts = evidence.releases[-1].cohorts
    there = inside[inside[_ROW] >= 0].index
    own = [] if cohorts is None else pd.Series(cohorts.of_person).reindex(there, fill_value=-1).tolist()
    if cohorts is None or min(own, default=0) < 0:
        raise InvalidData("series: the vault does not say at which levels persons are released; restore the newest one")
    for name in job.quasi_identifiers:
        levels = pa.array([int(cohorts.levels[one][name]) for one in own], pa.int64())
        released = released.append_column(f"{LEVEL}{name}", levels)
    return released


def _halves(ids: np.ndarray[Any, Any]) -> pd.DataFrame:
    """Return ids as two numbers each, by which pandas compares many at once."""
    return pd.DataFrame(np.ascontiguousarray(ids).view(np.int64).reshape(-1, 2), columns=_HALVES)


def _of_each_night(job: Job) -> set[str | None]:
    """Return the attributes whose values of single nights are read: all, or those that are compared with a table."""
    settings = job.series
    every = settings is not None and settings.judges_every_night
    return {model.sensitive_attribute for model in job.privacy if every or model.compares_with_table}


def _with_gone(job: Job, table: pa.Table, traces: pd.DataFrame, evidence: SeriesEvidence) -> pa.Table:
    """Return the source with the records of who is gone and still released, and say in `traces` where they are.

    Raises
    ------
    InvalidData
        They are not those of the release before, or of persons who are not gone, or have been kept for too long.
    """
    kept = evidence.releases[-1].kept
    gone = None if kept is None else kept.where(kept.nights > 0)
    if gone is None or not gone.places.size:
        return table
    assert job.series is not None  # noqa: S101 (the caller has asked)
    before = evidence.releases[-2].kept if len(evidence.releases) > 1 else None
    now = _values(gone.rows).assign(**{_ROW: gone.places, _NIGHT: gone.nights})
    last = now.head(0) if before is None else _values(before.rows)
    if before is not None:
        last = last.assign(**{_ROW: before.places, _NIGHT: before.nights + 1})
        last = last[last[_ROW].isin(now[_ROW])]
    ordered = [frame.sort_values(_ROW).reset_index(drop=True) for frame in (now, last)]
    here = bool((traces.loc[now[_ROW], _ROW] >= 0).any())
    if not ordered[0].equals(ordered[1]) or here or int(gone.nights.max()) > job.series.most_nights:
        raise InvalidData(
            "series: the vault keeps records of persons who are not gone, or other ones than the release before had; "
            "restore the newest vault, and run the de-identification again"
        )
    traces.loc[gone.places, _ROW] = np.arange(table.num_rows, table.num_rows + gone.places.size)
    subject = pa.array([f"\0{place}" for place in gone.places], pa.string())
    texts = table[str(job.subject)].cast(pa.string())
    table = table.set_column(table.column_names.index(str(job.subject)), str(job.subject), texts)
    return pa.concat_tables([table, gone.rows.append_column(str(job.subject), subject)], promote_options="permissive")


def _values(rows: pa.Table) -> pd.DataFrame:
    """Return rows as objects: else the type of a column depends on whether one of them has no value."""
    return rows.to_pandas(integer_object_nulls=True).astype(object)


class ExpectTracesToSatisfyModels(ReleaseExpectation):
    """The persons with one trace over the remembered releases satisfy each privacy model, as a class does.

    Parameters
    ----------
    subject : str
        The column of the source that says whose a record is.
    minimum : int
        Persons that each trace must have.
    quasi_identifiers : list of str
    models : list of dict
        The privacy models of the job, in its order.
    compared : list of str
        Those of them that compare classes with the table.
    attributes : dict
        `order`, `missing` and `hierarchy` of each sensitive attribute that a model names.
    source : dict
        Where the records of who is in the release are, and how their values are read: as of `source_of`.
    traces : str
        Path of the file of `written_traces`.
    departures : str
        Whether they are covered, or only reported; then arrivals alone are judged.
    values : str
        Whether the values of every night are judged, or those of the last one with a person; and whether persons of
        whom other values changed have other traces.
    figures : dict
        What the report says of the series.
    """

    subject: str
    minimum: int
    quasi_identifiers: list[str]
    models: list[dict[str, Any]]
    compared: list[str]
    attributes: dict[str, Any]
    source: dict[str, Any]
    traces: str
    departures: str
    values: str
    figures: dict[str, Any]
    max_rows: int = 0
    rows_key: str = ""

    success_keys: ClassVar[tuple[str, ...]] = (
        "subject",
        "minimum",
        "quasi_identifiers",
        "models",
        "departures",
        "values",
    )
    template: ClassVar[str] = (
        "Persons by $subject with equal traces over the remembered releases must be at least $minimum, and satisfy: "
        "$models; departures: $departures; values: $values."
    )

    def read_columns(self) -> list[str]:
        """Quasi-identifiers and sensitive attributes."""
        return [*self.quasi_identifiers, *self.attributes]

    def judge(self, release: ClassTable) -> Finding:
        """Group the traces, judge each model on the groups, and compare the figures."""
        traces = pd.read_parquet(self.traces)
        nights = [name for name in traces.columns if name.startswith(_NIGHT)]
        changes = [name for name in traces.columns if name.startswith(_CHANGED)]
        group = traces.groupby([*nights, *changes], sort=False).ngroup()
        sizes = group.map(group.value_counts())
        judged = traces if self.departures != "report" else traces[(traces[nights[:-1]] < 0).all(axis=1)]
        wrong = [
            *self._failing(judged, group),
            *self._failing_by_night(traces, judged, nights, group),
            *self._other(traces, nights, sizes, release),
        ]
        below = int((sizes.loc[judged.index] < self.minimum).sum())
        counted = Message.of(
            "persons in a trace of fewer than {minimum}: {below} of {persons}",
            below=Count(below),
            persons=Count(len(judged)),
            minimum=self.minimum,
        )
        message = Message(counted, f"; not as counted: {', '.join(wrong)}" if wrong else "")
        smallest = int(sizes.loc[judged.index].min()) if len(judged) else None
        return Finding(self.expectation_type, not below and not wrong, smallest, self.minimum, None, message)

    def _failing(self, traces: pd.DataFrame, group: pd.Series) -> Iterator[str]:
        """Name the models that a trace fails."""
        for model in self.models if len(traces) else ():
            if self._is_of_nights(model):
                continue
            name = model.get("attribute")
            table = _counted(group[traces.index], name, None if name is None else traces[f"{_VALUE}{name}"])
            if not recount(table, [CELL], model, kept=table, counts=PERSONS_OF_ROW).holds:
                yield str(model["model"])

    def _is_of_nights(self, model: dict[str, Any]) -> bool:
        """Whether a model is judged by the values of single nights."""
        return model["model"] in self.compared or (self._is_of_every_night and "attribute" in model)

    @property
    def _is_of_every_night(self) -> bool:
        return self.values != "last"

    def _failing_by_night(
        self, traces: pd.DataFrame, judged: pd.DataFrame, nights: list[str], group: pd.Series
    ) -> Iterator[str]:
        """Name the models that a trace fails by the values of a night, beside the table of that night or alone."""
        there = judged[nights] >= 0
        last = there.iloc[:, ::-1].idxmax(axis=1)
        for model in self.models if len(judged) else ():
            if not self._is_of_nights(model):
                continue
            name = str(model["attribute"])
            for number, night in enumerate(nights):
                persons = judged.index[there[night]] if self._is_of_every_night else last[last == night].index
                if not len(persons):
                    continue
                values = traces.loc[traces[night] >= 0, f"{_THEN}{number} {name}"].astype(object)
                inside = values[values.index.isin(persons)]
                kept = _counted(group[inside.index], name, inside)
                compares = model["model"] in self.compared
                table = _counted(group[values.index], name, values) if compares else kept
                if not recount(table, [CELL], model, kept=kept, counts=PERSONS_OF_ROW).holds:
                    yield str(model["model"])
                    break

    def _other(self, traces: pd.DataFrame, nights: list[str], sizes: pd.Series, release: ClassTable) -> Iterator[str]:
        """Name what differs between the vault, the source, the release and the report."""
        tonight = traces[traces[nights[-1]] >= 0]
        records = source_records(self, release).records
        cells = pd.DataFrame({"class": tonight[nights[-1]].tolist()}).assign(cell=records[CELL].tolist())
        pairs = len(cells.drop_duplicates())
        if len(tonight) != release.rows or not pairs == cells["class"].nunique() == cells["cell"].nunique():
            yield "the classes of the vault"
        if self.figures.get("releases") != len(nights):
            yield "series.releases"
        smallest = int(sizes.min()) if len(sizes) else None
        withheld = {None} if smallest is None or smallest < self.minimum else set()
        if self.figures.get("smallest_trace") not in {smallest, *withheld}:
            yield "series.smallest_trace"


def _counted(group: pd.Series, name: str | None, values: pd.Series | None) -> pa.Table:
    """Return each group once, or each pair of it and a value, with its persons."""
    columns = {CELL: group} if name is None else {CELL: group, name: values}
    found = (
        pd.DataFrame(columns).groupby(list(columns), sort=False, dropna=False).size().reset_index(name=PERSONS_OF_ROW)
    )
    texts = {
        CELL: pa.array(found[CELL].astype(str).tolist(), pa.string()),
        PERSONS_OF_ROW: pa.array(found[PERSONS_OF_ROW]),
    }
    if name is not None:
        shown = found[name].astype(object)
        texts[name] = pa.array(shown.where(shown.notna(), None).tolist(), pa.string())
    return pa.table(texts)

"""The people behind the cells of a local recoding, inside a validation.

In: the population of a job, and the classes of a release, whose labels are of any level that the job allows. Out: a
table as of `people_by_labels`, a row per class. A class may be that of every person of whose values its labels are such
labels; people who may be of no other class are its people, or as many as it has records if these are more, and at most
all who may be of it (docs/adr/0011). Columns are looked at one after another: classes with equal labels so far have the
same people left. This shares nothing with the engine's verification but the rows of hierarchies.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from airflow_anon.expectations.class_table import MARK
from airflow_anon.expectations.labels_of_values import labels_of
from airflow_anon.expectations.population import distinct_people, people_by_labels
from airflow_anon.expectations.records import Marked, kept_classes

if TYPE_CHECKING:
    from airflow_anon.expectations.class_table import ClassTable

_NOBODY = "\0"
"""The label in the row of people who may be of no class."""


def people_beside(
    population: Mapping[str, Any], release: ClassTable, marked: Marked, kept_rows: int, *, as_file: bool
) -> pa.Table | None:
    """Count the people beside a release: by labels of its levels, or of a local recoding by its classes.

    Parameters
    ----------
    population : mapping
        As of `population_of`.
    marked : {"none", "some", "all"}
        How many records of the release are suppressed ones, by its report.
    kept_rows : int
        Those that are not.
    as_file : bool
        Whether the suppressed records are a class: to it belong the people who may be of no other.

    Returns
    -------
    pyarrow Table or None
        See `people_by_labels`; of a local recoding also with `shared`, the people who may be of another class as well,
        and those listed beyond the records of the class, who are suppressed.

    Raises
    ------
    InvalidData
        As of `people_by_labels`.
    """
    if not population or population["allowed"] is None:
        return people_by_labels(population)
    labels = release.text().to_pandas(types_mapper=pd.ArrowDtype).astype(object)
    labels = labels.where(labels.notna(), None)
    records = release.sizes.astype(np.int64)
    if as_file:
        starred = labels.eq(MARK).all(axis=1).to_numpy()
        labels, records = labels[~starred], records[~starred]
    else:
        kept = kept_classes(release, marked)
        alike = kept_rows - int(release.sizes[kept].sum())
        labels, records = labels[kept], records[kept]
        if alike > 0:
            labels = pd.concat([labels, pd.DataFrame([[MARK] * labels.shape[1]], columns=labels.columns)])
            records = np.append(records, alike)
    return _counted(population, labels.reset_index(drop=True), records)


def _counted(population: Mapping[str, Any], labels: pd.DataFrame, records: NDArray[np.int64]) -> pa.Table:
    people, meanings = _known_people(population)
    number = people["people"].to_numpy(np.int64)
    may_be, times = np.zeros(len(labels), np.int64), np.zeros(len(people), np.int64)
    listed = np.zeros(len(labels), np.int64)
    latest = np.full(len(people), -1)
    released = people["released"].to_numpy(np.int64)
    for nth, whose in _pairs(labels, people, meanings):
        may_be[nth], listed[nth] = number[whose].sum(), released[whose].sum()
        times[whose] += 1
        latest[whose] = nth
    own = np.bincount(latest[times == 1], weights=number[times == 1], minlength=len(labels)).astype(np.int64)
    of_class = np.minimum(may_be, np.maximum(own, records))
    nobody = times == 0
    counts = {
        "people": np.append(of_class, number[nobody].sum()),
        "released": np.append(listed, released[nobody].sum()),
        "shared": np.append(may_be - own + np.maximum(listed - records, 0), 0),
    }
    columns = {name: pa.array([*labels[name], _NOBODY], pa.string()) for name in labels}
    return pa.table({**columns, **{name: pa.array(one, pa.int64()) for name, one in counts.items()}})


def _known_people(population: Mapping[str, Any]) -> tuple[pd.DataFrame, dict[str, dict[Any, set[int]]]]:
    """Return distinct people with codes for values, and of each column the codes of the values that a label means."""
    people = distinct_people(population)
    refused = np.zeros(len(people), np.bool_)
    meanings: dict[str, dict[Any, set[int]]] = {}
    for place, (name, attribute) in enumerate(population["attributes"].items()):
        codes, values = pd.factorize(people[str(place)], use_na_sentinel=False)
        meanings[str(place)] = {}
        for level in population["allowed"][name]:
            found, unknown = labels_of(name, pd.Series(values), attribute, level)
            for code, label in enumerate(found):
                meanings[str(place)].setdefault(None if pd.isna(label) else label, set()).add(code)
            refused |= unknown.to_numpy()[codes]
        people[str(place)] = codes
    return people[~refused].reset_index(drop=True), meanings


def _pairs(
    labels: pd.DataFrame, people: pd.DataFrame, meanings: Mapping[str, Mapping[Any, set[int]]]
) -> Iterator[tuple[int, NDArray[np.intp]]]:
    """Yield the place of each class, and those of the people of whose values its labels are."""
    values = {name: people[name].to_numpy() for name in labels}
    texts = {name: labels[name].tolist() for name in labels}
    meant = {name: _meant(of_column, values[name]) for name, of_column in meanings.items()}

    def below(names: list[str], classes: list[int], whose: NDArray[np.intp]) -> Iterator[tuple[int, NDArray[np.intp]]]:
        if not names:
            yield from ((nth, whose) for nth in classes)
            return
        name, *others = names
        alike: dict[Any, list[int]] = {}
        for nth in classes:
            alike.setdefault(texts[name][nth], []).append(nth)
        for text, some in alike.items():
            left = whose[meant[name][text][values[name][whose]]] if text in meant[name] else whose[:0]
            yield from below(others, some, left)

    yield from below(list(labels), list(range(len(labels))), np.arange(len(people)))


def _meant(meanings: Mapping[Any, set[int]], values: NDArray[np.intp]) -> dict[Any, NDArray[np.bool_]]:
    """Return of each label whether it means a value, by its code."""
    found = {}
    for text, codes in meanings.items():
        found[text] = np.zeros(int(values.max(initial=-1)) + 1, np.bool_)
        found[text][[code for code in codes if code < found[text].size]] = True
    return found

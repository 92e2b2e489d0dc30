"""Persons whose pictures, the multisets of the cells of their records, are those of enough others: with pandas.

In: the records of a source with cells and persons. Out: those of the largest set of persons that satisfies the models
among themselves. It shares nothing with the engine but the recount of each model on what was counted here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa

from airflow_anon.expectations.source_records import CELL, PERSONS_OF_ROW, has_of, value_of
from engine import recount

if TYPE_CHECKING:
    from airflow_anon.expectations.source_records import Asked

_AT_ONCE = 2_000_000
"""Parts of pictures that are in memory at the same time, unless one cell begins more of them."""


def pictures_of(records: pd.DataFrame) -> pd.Series:
    """Return, for each record, the number of the picture of its person."""
    entries = records.groupby(["person", CELL], sort=True).size().reset_index(name="records")
    texts = entries[CELL].astype(str) + "*" + entries["records"].astype(str)
    picture = texts.groupby(entries["person"]).agg(" ".join)
    numbers = pd.Series(pd.factorize(picture)[0], index=picture.index)
    return records["person"].map(numbers)


def kept_by_pictures(records: pd.DataFrame, values: Mapping[str, pa.Array], of: Asked) -> pd.DataFrame:
    """Return the records of persons whose groups satisfy all models, beside the table and beside what is left of it.

    The column `group` has the group of each record's person.
    """
    group = pictures_of(records)
    left = reference = records.assign(group=group)
    while True:
        sizes = left.groupby("group")["person"].nunique()
        failing = set(sizes.index[sizes < of.minimum])
        for model in of.models:
            if "attribute" in model:
                among = left[~left["group"].isin(failing)]
                failing |= set(_failing(reference, among, model, of.attributes[model["attribute"]], values))
        if not failing:
            return left
        left = reference = left[~left["group"].isin(failing)]


def _failing(
    reference: pd.DataFrame,
    left: pd.DataFrame,
    model: Mapping[str, Any],
    attribute: Mapping[str, Any],
    values: Mapping[str, pa.Array],
) -> list[int]:
    """Return the groups that fail a model: all are recounted at once, and halves of those that fail again."""
    name = model["attribute"]
    column = value_of(name)
    reference, left = reference[reference[has_of(name)]], left[left[has_of(name)]]
    whole = _table(reference.assign(group=0), column, values[name], name)
    by_group = left.drop_duplicates(["group", "person", column])
    found, waiting = [], [np.array(sorted(by_group["group"].unique()))]
    while waiting:
        chosen = waiting.pop()
        if not chosen.size:
            continue
        part = _table(by_group[by_group["group"].isin(chosen)], column, values[name], name)
        if recount(whole, [CELL], model, attribute=attribute, kept=part, counts=PERSONS_OF_ROW).holds:
            continue
        if chosen.size == 1:
            found += chosen.tolist()
        else:
            waiting += np.array_split(chosen, 2)
    return found


def _table(records: pd.DataFrame, column: str, values: pa.Array, name: str) -> pa.Table:
    """Count the persons by group and value, each once for each value."""
    once = records.drop_duplicates(["group", "person", column])
    counts = once.groupby(["group", column]).size().reset_index(name=PERSONS_OF_ROW)
    return pa.table(
        {
            CELL: pa.array(counts["group"].to_numpy()).cast(pa.string()),
            name: values.take(pa.array(counts[column].to_numpy())),
            PERSONS_OF_ROW: pa.array(counts[PERSONS_OF_ROW].to_numpy()),
        }
    )


def kept_by_parts(records: pd.DataFrame, values: Mapping[str, pa.Array], of: Asked) -> pd.DataFrame:
    """Return the records of persons of whom enough share each part of up to some cells, until nobody fails.

    Those who share one also have as many distinct values as the models demand.
    """
    while len(records):
        good = rarest_parts(records, of.known_rows) >= of.minimum
        for model in of.models:
            if "attribute" in model:
                good &= fewest_values(records, values, model, of.known_rows) >= model["l"]
        if good.all():
            break
        records = records[records["person"].map(good)]
    return records


def rarest_parts(records: pd.DataFrame, most: int) -> pd.Series:
    """Return, by person, how many persons share the rarest part of up to `most` cells of the picture."""

    def count(part: pd.DataFrame, keys: list[str]) -> pd.Series:
        return part.groupby(keys)["person"].transform("size")

    return _least_of_parts(records, most, count)


def fewest_values(
    records: pd.DataFrame, values: Mapping[str, pa.Array], model: Mapping[str, Any], most: int
) -> pd.Series:
    """Return, by person, the fewest distinct values of those who share a part of up to `most` cells."""
    column = value_of(model["attribute"])
    counted = records[records[has_of(model["attribute"])]]
    if model.get("missing") != "value":
        missing = [code for code, value in enumerate(values[model["attribute"]].to_pylist()) if value is None]
        counted = counted[~counted[column].isin(missing)]
    pairs = counted[["person", column]].drop_duplicates()

    def count(part: pd.DataFrame, keys: list[str]) -> pd.Series:
        found = part[[*keys, "person"]].merge(pairs, on="person").groupby(keys)[column].nunique().rename("values")
        of_part = part[keys].merge(found.reset_index(), on=keys, how="left")["values"].fillna(0)
        return of_part.set_axis(part.index).astype("int64")

    return _least_of_parts(records, most, count)


def _least_of_parts(
    records: pd.DataFrame, most: int, count: Callable[[pd.DataFrame, list[str]], pd.Series]
) -> pd.Series:
    """Return, by person, the least figure of any part of up to `most` cells of the picture.

    A part is a set of cells, each with how often it is in it; those with one lowest cell are counted together. `count`
    gives the figure of each row's part, which the columns that it is told name.
    """
    entries = records.groupby(["person", CELL]).size().clip(upper=most).reset_index(name="copies")
    items = entries.loc[entries.index.repeat(entries["copies"])]
    items = items.assign(copies=items.groupby(["person", CELL]).cumcount() + 1).reset_index(drop=True)
    rarest = pd.Series(np.iinfo("int64").max, index=pd.Index(entries["person"].unique(), name="person"))
    for first in _blocks(items, most):
        part, keys = first.rename(columns={CELL: "cell 1", "copies": "copies 1"}), ["cell 1", "copies 1"]
        part["weight"] = part["copies 1"]
        for size in range(1, most + 1):
            least = count(part, keys).groupby(part["person"]).min()
            rarest = rarest.clip(upper=least.reindex(rarest.index).fillna(rarest))
            if size == most:
                break
            part = part.merge(items, on="person")
            part = part[part[CELL].gt(part[f"cell {size}"]) & part["weight"].add(part["copies"]).le(most)]
            part["weight"] += part["copies"]
            part = part.rename(columns={CELL: f"cell {size + 1}", "copies": f"copies {size + 1}"})
            keys += [f"cell {size + 1}", f"copies {size + 1}"]
    return rarest.astype("int64")


def _blocks(items: pd.DataFrame, most: int) -> list[pd.DataFrame]:
    """Return the items in parts of whole cells, each of which begins about as many parts of pictures."""
    rows = items.groupby("person")[CELL].transform("size").astype("float64") ** (most - 1)
    work = rows.groupby(items[CELL]).sum().cumsum()
    block = items[CELL].map((work // _AT_ONCE).astype("int64"))
    return [part for _, part in items.groupby(block)]

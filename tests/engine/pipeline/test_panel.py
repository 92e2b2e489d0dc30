"""Persons of a real panel: the RAND health insurance experiment, 5,912 people in one to five years, of statsmodels.

Who has the rows of the source recounts a release with pandas: the labels are made anew from the levels alone.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pandas as pd
import pytest

from engine import run
from tests.engine.pipeline.test_whole_persons import greatest

K = 5
WIDTHS = (5, 10, 20)
NAMES = ["age", "female", "site"]
ATTRIBUTES = {
    "person": {"role": "identifying"},
    "age": {
        "role": "quasi-identifying",
        "hierarchy": {"builder": "interval", "widths": list(WIDTHS), "lower": 0, "upper": 80},
    },
    "female": {"role": "quasi-identifying", "hierarchy": {"builder": "flat"}},
    "site": {"role": "quasi-identifying", "hierarchy": {"builder": "flat"}},
    "visits": {"role": "insensitive"},
}


@pytest.fixture(scope="module")
def panel():
    package = find_spec("statsmodels")
    if package is None:
        pytest.skip("needs statsmodels")
    path = Path(package.submodule_search_locations[0]) / "datasets/randhie/src/randhie.csv"
    source = pd.read_csv(path, usecols=["zper", "xage", "female", "site", "mdvis"]).dropna()
    return pd.DataFrame(
        {
            "person": source["zper"].astype(str),
            "age": source["xage"].astype(int),
            "female": source["female"].astype(str),
            "site": source["site"].astype(str),
            "visits": source["mdvis"],
        }
    )


def generalized(panel, levels):
    """Return the label of each row, by its own arithmetic."""

    def age(value):
        if levels["age"] == 0:
            return str(value)
        width = ([*WIDTHS, None])[levels["age"] - 1]
        return "*" if width is None else f"[{value // width * width}, {value // width * width + width}["

    columns = {name: panel[name] if levels[name] == 0 else "*" for name in ("female", "site")}
    return pd.DataFrame({"person": panel["person"], "age": panel["age"].map(age), **columns})


def released(result):
    """Return how many records each combination of labels has in the file, suppressed records apart."""
    counts = result.table.to_pandas().groupby(NAMES).size()
    return {labels: int(n) for labels, n in counts.items() if labels != ("*",) * 3}


def job(knows):
    return {
        "name": "panel",
        "attributes": ATTRIBUTES,
        "privacy": [{"model": "k-anonymity", "k": K}],
        "subject": "person",
        "knows": knows,
        "suppression_limit": 0.05,
    }


def test_any_row_of_a_person_is_one_of_five_people(panel):
    result = run(job("any-row"), panel)
    cells = generalized(panel, result.report["solution"]["levels"])
    persons = cells.groupby(NAMES)["person"].nunique()
    assert released(result) == cells.groupby(NAMES).size()[persons >= K].to_dict()
    assert result.report["persons"] == panel["person"].nunique() == 5912


@pytest.mark.parametrize("knows", [{"rows": 2}, "all-rows"], ids=str)
def test_what_is_known_of_a_person_is_true_of_five_people(panel, knows):
    result = run(job(knows), panel)
    cells = generalized(panel, result.report["solution"]["levels"])
    pairs = pd.Series(list(cells[NAMES].itertuples(index=False, name=None)), index=cells.index)
    pictures = pairs.groupby(cells["person"]).agg(lambda found: tuple(sorted(found)))
    kept, among = greatest(pictures, knows, K)
    assert among.min() >= K
    assert released(result) == cells[cells["person"].isin(kept.index)].groupby(NAMES).size().to_dict()
    assert result.report["persons_suppressed_share"] == pytest.approx(1 - len(kept) / 5912)

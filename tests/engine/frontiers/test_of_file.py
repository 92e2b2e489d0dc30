"""A chosen policy in a release names no value of records that are left out, and makes the same release."""

from __future__ import annotations

import random
import shutil
from collections import Counter

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine import load_job, run, verify
from tests.reference.policy_documents import holds

COLUMNS = {
    "year": {"hierarchy": {"builder": "interval", "widths": [100, 1000]}, "order": "integer"},
    "code": {"hierarchy": {"builder": "redaction", "length": 4, "steps": [2, 1]}},
    "kind": {"hierarchy": {"builder": "order", "values": ["k1", "k2", "k3", "k4"], "fanouts": [2, 2]}, "order": "text"},
}


def job_of(**changes):
    return {
        "name": "chosen",
        "unit": "record",
        "attributes": {name: {"role": "quasi-identifying", **own} for name, own in COLUMNS.items()},
        "privacy": [{"model": "k-anonymity", "k": 3}],
        "suppression_limit": 0.4,
        "allow_empty_information": True,
        "frontier": {"policies": 300, "safe_harbor": False, "k_anonymity": [3]},
        "choose": {"from": "frontier", "maximum_risk": 1.0},
        **changes,
    }


def people_of(draw, number, lonely):
    """Most share a few values; some have values of their own, or none."""
    years, codes = (draw.sample(range(1000, 9999), 4) for _ in range(2))
    people = [(str(draw.choice(years)), str(draw.choice(codes)), draw.choice(["k1", "k2"])) for _ in range(number)]
    for _ in range(lonely):
        one = [str(draw.randrange(1000, 9999)), str(draw.randrange(1000, 9999)), draw.choice(["k1", "k4"])]
        for place in range(3):
            if draw.random() < 0.2:
                one[place] = None
        people.append(tuple(one))
    draw.shuffle(people)
    return people


def table_of(people):
    columns = zip(COLUMNS, zip(*people, strict=True), strict=True)
    return pa.table({name: pa.array(column, pa.string()) for name, column in columns})


def place_of(groups, name, value):
    """Return the group that holds a value: None in none."""
    if groups == [{"node": "*"}]:
        return 0
    rows = [(value, f"{value[:2]}**", f"{value[:1]}***", "*")] if name == "code" and value else [("", "*")]
    key = int if name == "year" else str
    found = [place for place, group in enumerate(groups) if holds(group, value, rows, key)]
    assert len(found) < 2
    return found[0] if found else None


def kept_of(people, policy, k=3):
    """Release by hand: classes of the groups, those of fewer than k left out, with whoever is in no group."""
    cells = [
        tuple(place_of(policy[name], name, value) for name, value in zip(policy, one, strict=True)) for one in people
    ]
    sizes = Counter(cell for cell in cells if None not in cell)
    return [sizes[cell] >= k for cell in cells], [size for size in sizes.values() if size >= k]


def shown(table):
    """Return the records with a label."""
    return [row for row in zip(*table.to_pydict().values(), strict=True) if set(row) != {"*"}]


@given(st.integers(0, 10**6), st.integers(12, 60), st.integers(0, 8), st.sampled_from([None, "suppress"]))
def test_no_value_of_a_record_that_is_left_out_is_told(tmp_path_factory, seed, number, lonely, unseen):
    people = people_of(random.Random(seed), number, lonely)
    job = job_of()
    if unseen:
        job["attributes"]["code"] = {**job["attributes"]["code"], "unseen": unseen}
    folder = tmp_path_factory.mktemp("night")
    result = run(job, table_of(people), output=folder / "release")
    policy = result.report["policy"]
    kept, sizes = kept_of(people, policy)
    released = shown(result.table)
    if any(groups != [{"node": "*"}] for groups in policy.values()):
        assert sorted(Counter(released).values()) == sorted(sizes)
    left = [one for one, stays in zip(people, kept, strict=True) if not stays]
    assert result.report["solution"]["suppressed"] == len(left)
    alone = {value for one in left for value in one} - {
        value for one, stays in zip(people, kept, strict=True) if stays for value in one
    }
    secret = {value for value in alone if value is not None and not value.startswith("k")}
    texts = [path.read_text() for path in (folder / "release").iterdir() if path.suffix != ".parquet"]
    texts += [str(row) for row in released]
    assert not [value for value in secret if any(f'"{value}"' in text or f"'{value}'" in text for text in texts)]
    assert all(groups == [{"node": "*"}] or {"value": None} in groups for groups in policy.values())
    assert [one.check for one in verify(result.table, load_job(job), result.published) if not one.holds] == []
    # the job of the release makes the same release
    again = shutil.copy(folder / "release" / "job.yaml", folder / "again.yaml")
    assert Counter(shown(run(load_job(again), table_of(people)).table)) == Counter(released)


@pytest.mark.parametrize("dominates", [None, "safe-harbor"])
def test_a_few_who_are_left_out_change_nothing_that_is_told(tmp_path, dominates):
    """Whoever they are, the same records are released, by the same document."""
    most = [("1200", "1010", "k1")] * 40 + [("1230", "1012", "k1")] * 40 + [("7000", "4010", "k2")] * 40
    others = [[("1215", "1011", "k1")], [("9999", "9999", "k4")], [("1200", "1010", None)], [(None, "4011", "k2")]]
    # the search joins k3 and k4 for some of these
    others += [[("7000", "4010", "k3")], [("7000", "4010", "k3"), ("7000", "4010", "k4")]]
    rule = {"from": "frontier", "maximum_risk": 1.0, **({"dominates": dominates} if dominates else {})}
    harbor = {"year": "kept", "code": "zip", "kind": "kept"} if dominates else False
    job = job_of(choose=rule, privacy=[{"model": "k-anonymity", "k": 5}], frontier={"safe_harbor": harbor})
    told = set()
    for place, one in enumerate(others):
        result = run(job, table_of([*most, *one]), output=tmp_path / str(place))
        assert len(result.table) == len(most)
        assert [found.check for found in verify(result.table, load_job(job), result.published) if not found.holds] == []
        assert result.published["choice"]["utility_loss"] is None
        withheld = {f"choice.{key}" for key in ("utility_loss", "policies", "met", "tried")}
        assert withheld <= set(result.published["withheld"])
        without = {key: value for key, value in result.published.items() if key != "timings"}
        for part in ("choice", "search"):
            without[part] = {key: value for key, value in without[part].items() if "seconds" not in key}
        told.add((str(without), (tmp_path / str(place) / "job.yaml").read_text()))
    assert len(told) == 1


# a hierarchy without values of its own refuses a column in which nobody has one
@pytest.mark.parametrize(("name", "lonely"), [("year", True), ("code", True), ("kind", True), ("kind", False)])
def test_a_column_in_which_all_who_stay_have_no_value(tmp_path, name, lonely):
    """Its only group is that of missing values, which the release shows as such; whoever has a value is left out."""
    most = [("1200", "1010", "k1"), ("7000", "4010", "k2")]
    place = list(COLUMNS).index(name)
    stay = [(*one[:place], None, *one[place + 1 :]) for one in most for _ in range(20)]
    left = [("1200", "1010", "k1")] if lonely else []
    result = run(job_of(), table_of([*stay, *left]), output=tmp_path / "release")
    assert result.report["policy"][name] == [{"value": None}]
    assert result.report["solution"]["suppressed"] == len(left)
    assert set(result.table.column(name).to_pylist()) == {None}
    assert sorted(Counter(zip(*result.table.to_pydict().values(), strict=True)).values()) == [20, 20]
    assert [one.check for one in verify(result.table, load_job(job_of()), result.published) if not one.holds] == []
    again = shutil.copy(tmp_path / "release" / "job.yaml", tmp_path / "again.yaml")
    repeated = run(load_job(again), table_of([*stay, *left]))
    assert Counter(map(str, repeated.table.to_pylist())) == Counter(map(str, result.table.to_pylist()))

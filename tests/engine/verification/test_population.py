"""Verification beside a population: by hand, against the engine's judgement, and on releases that were changed."""

from __future__ import annotations

import copy
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from engine import InvalidData, NoSolution, recount, run, verify
from engine.job.counting import columns_of
from engine.tables.altered.subset import Subset
from engine.tables.counting.encode import encode
from engine.tables.counting.present_classes import PresentClasses
from engine.tables.sources.column_text import as_text
from engine.tables.sources.source import open_data
from engine.verification.records.listed import Listed
from engine.verification.records.population import read_population
from tests.engine import populated
from tests.engine.cli.command_line import cli
from tests.engine.verification.verified import MANY
from tests.profiles import examples

NAMES = list(populated.TREES)


def failed(findings):
    return [finding.check for finding in findings if not finding.holds]


def found(findings, check):
    return next(finding for finding in findings if finding.check == check)


PEOPLE = [("31", "11")] * 4 + [("41", "21")] * 3 + [("42", "12")] * 3
PRESENCE = {"model": "delta-presence", "delta_min": 0.2, "delta_max": 0.5}


def presence(folder, ids, people=PEOPLE, *, others=(), **changes):
    """Release the people with some ids under delta-presence; return the job, the source and the result."""
    source = populated.table(people)
    subset = populated.write(folder / "subset.csv", pa.table({"id": ids}))
    this = populated.job(folder, [{**PRESENCE, "subset": subset}, *others], **changes)
    return this, source, run(this, source)


# ---------------------------------------------------------------- by hand


def test_the_share_of_each_class(tmp_path):
    """Two of four, one of three, one of three: the highest share is at the end of its range."""
    this, source, result = presence(tmp_path, [0, 3, 4, 9])
    assert result.report["solution"]["levels"] == {"age": 0, "zip": 0}
    findings = verify(result.table, this, result.report, source=source)
    assert failed(findings) == []
    finding = found(findings, "delta-presence")
    assert (finding.observed, finding.required) == (0.5, 0.5)
    assert found(findings, "population").observed == 10
    assert (found(findings, "rows").observed, found(findings, "rows").required) == (4, 4)


def test_classes_that_only_the_population_has(tmp_path):
    """Nobody of the 42-year-olds is released: where a lowest share is demanded, the age must be generalized."""
    this, source, result = presence(tmp_path, [0, 3, 4])
    assert result.report["solution"]["levels"]["age"] > 0
    levels = {"age": 0, "zip": 0}
    output = pa.table({"age": ["31", "31", "41"], "zip": ["11", "11", "21"]})
    people = read_population(this, source).at(levels)
    model = {**PRESENCE, "subset": "subset.csv"}
    alone = recount(output, NAMES, model, population=people)
    assert (alone.holds, alone.observed) == (False, 0.5)
    assert "with nobody who is released: 1 more" in alone.message
    assert recount(output, NAMES, {**model, "delta_min": 0.0}, population=people).holds is True
    # a class size that another model demands leaves such classes out
    assert recount(output, NAMES, model, population=people, minimum_class_size=2).holds is True


def test_k_map_counts_the_population_file_and_not_the_release(tmp_path):
    """Records that the population lacks count as nobody for k-map, and as themselves for the risk."""
    people = populated.write(tmp_path / "people.csv", populated.table([("31", "11")] * 4).drop_columns("id"))
    this = populated.job(tmp_path, [{"model": "k-map", "k": 2, "population": people}], limit=0.5)
    result = run(this, populated.table([("31", "11"), ("31", "11"), ("41", "21")]))
    assert result.report["population_rows"] == 4
    assert result.table.to_pydict() == {"age": ["31", "31"], "zip": ["11", "11"]}
    assert found(result.findings, "k-map").observed == 4
    assert (result.report["risk"]["prosecutor"], result.report["risk"]["journalist"]) == (1 / 2, 1 / 4)
    larger = pa.table({"age": ["31"] * 5, "zip": ["11"] * 5})
    assert recount(larger, NAMES, this.privacy[0], population=read_population(this).at({"age": 0, "zip": 0})).holds


def test_a_population_for_the_risk_alone(tmp_path):
    """Three people share the labels of one record: it is unique in the table, and not among the people."""
    people = populated.write(tmp_path / "people.csv", populated.table([("31", "11")] * 3 + [("41", "21")] * 2))
    document = {"threshold": 0.4, "population": people}
    this = populated.job(tmp_path, [{"model": "sample-uniqueness", "threshold": 1.0}], risk=document)
    result = run(this, populated.table([("31", "11"), ("41", "21"), ("41", "21")]))
    risk = result.report["risk"]
    assert risk == {
        "prosecutor": 1.0,
        "journalist": 1 / 2,
        "marketer": pytest.approx((1 / 3 + 1) / 3),
        "threshold": 0.4,
        "prosecutor_records_at_risk": 1.0,
        "journalist_records_at_risk": 2 / 3,
        "sample_uniqueness": 1 / 3,
        "records_below_11": 3,
        "share_below_11": 1.0,
        "population_uniqueness": 0.0,
    }
    for key in risk:
        changed = copy.deepcopy(result.report)
        changed["risk"][key] = 0.123
        assert failed(verify(result.table, this, changed)) == ["figures"]
        del changed["risk"][key]
        assert failed(verify(result.table, this, changed)) == ["figures"]
    more = {**result.report, "risk": {**risk, "other": 0.5}}
    assert failed(verify(result.table, this, more)) == ["figures"]


def test_values_without_an_entry(tmp_path):
    """With `unseen: root` a record is `*` at level 0 and kept; with `suppress` it is in no class of the population."""
    people = [*[("31", "11")] * 4, *[("99", "98")] * 4]
    for unseen, kept in (("root", 4), ("suppress", 2)):
        this, source, result = presence(tmp_path, [0, 1, 4, 5], people, attribute={"unseen": unseen}, limit=0.5)
        assert result.table["age"].to_pylist() == (["*", "*", "31", "31"] if unseen == "root" else ["31", "31"])
        assert result.report["solution"]["suppressed"] == 4 - kept
        assert failed(verify(result.table, this, result.report, source=source)) == []
        assert result.report["population_rows"] == 8


def test_kept_records_that_look_suppressed(tmp_path):
    """Of four records that are `*` throughout, two are a class of people without an entry and two are suppressed."""
    people = [("31", "11")] * 4 + [("99", "99")] * 4 + [("42", "12")] * 4 + [("52", "12")] * 5
    ids = [0, 1, 4, 5, 8, 12]
    allow = {"maximum_level": 0, "unseen": "root"}
    # a class size that k-anonymity demands leaves classes of the population alone out
    this, source, result = presence(
        tmp_path, ids, people, attribute=allow, limit=0.4, others=[{"model": "k-anonymity", "k": 2}]
    )
    assert result.table["age"].to_pylist() == ["*", "*", "*", "*", "31", "31"]
    assert result.report["solution"]["suppressed"] == 2
    findings = verify(result.table, this, result.report, source=source)
    assert failed(findings) == []
    assert found(findings, "k-anonymity").observed == 2
    assert found(findings, "delta-presence").observed == 0.5
    hidden = copy.deepcopy(result.report)
    hidden["solution"]["suppressed"] = 0
    hidden["suppressed_class"] = {"form": "none", "records": 0, "joined": 0}
    assert {"subset", "figures"} <= set(failed(verify(result.table, this, hidden, source=source)))


def test_a_text_that_means_missing_is_no_label(tmp_path):
    people = [("31", "11")] * 4
    this, source, result = presence(tmp_path, [0, 1], people, attribute={"missing": ["31"]})
    assert result.table["age"].to_pylist() == [None, None]
    assert failed(verify(result.table, this, result.report, source=source)) == []
    named = result.table.set_column(0, "age", pa.array(["31", "31"]))
    assert "labels" in failed(verify(named, this, result.report, source=source))


# ---------------------------------------------------------------- what cannot be proven


def test_without_the_population_nothing_that_needs_it_holds(tmp_path):
    this, source, result = presence(tmp_path, [0, 3, 4, 9], others=[{"model": "average-risk", "threshold": 1.0}])
    findings = verify(result.table, this, result.report)
    assert failed(findings) == ["population", "delta-presence", "figures", "figures"]
    assert "give the source that was de-identified" in found(findings, "delta-presence").message
    assert found(findings, "average-risk").holds is True
    other = verify(result.table, this, result.report, source=source.drop_columns("id"))
    assert failed(other) == ["population", "delta-presence", "figures", "figures"]
    (tmp_path / "subset.csv").unlink()
    findings = verify(result.table, this, result.report, source=source)
    assert "delta-presence" in failed(findings)
    assert str(tmp_path) not in str([finding.to_dict() for finding in findings])
    with pytest.raises(InvalidData, match="k-map compares classes with a population"):
        recount(result.table, NAMES, {"model": "k-map", "k": 2})


def test_values_of_the_population_that_no_hierarchy_has_are_counted_not_named(tmp_path):
    this, source, result = presence(tmp_path, [0, 3, 4, 9])
    rows = source.to_pylist()
    rows[1]["age"] = "Jane-Roe-4711"
    findings = verify(result.table, this, result.report, source=pa.Table.from_pylist(rows))
    assert "delta-presence" in failed(findings)
    assert (
        "column 'age': its hierarchy has no entry for 1 of the distinct values of the population"
        in found(findings, "population").message
    )
    assert "4711" not in str([finding.to_dict() for finding in findings])


def test_levels_follow_from_the_labels(tmp_path):
    this, source, result = presence(tmp_path, [0, 3, 4, 9])
    assert failed(verify(result.table, this, source=source)) == []
    assert "subset" in failed(verify(result.table.slice(1), this, source=source))


def test_levels_that_do_not_follow_from_the_labels_must_be_given(tmp_path):
    """As a leaf 'x' is borne by two people, at the level above by all six: a report decides, its absence does not."""
    people = populated.table([("31", "11")] * 4 + [("31", "x")] * 2)
    subset = populated.write(tmp_path / "one.csv", pa.table({"id": [4]}))
    this = populated.job(tmp_path, [{"model": "k-map", "k": 2, "subset": subset}])
    (tmp_path / "zip.csv").write_text("11;x;*\n12;12;*\nx;x;*\n")
    result = run(this, people)
    assert result.table.to_pydict() == {"age": ["31"], "zip": ["x"]}
    assert found(result.findings, "k-map").observed == 2
    finding = found(verify(result.table, this, source=people), "k-map")
    assert (finding.holds, finding.observed) == (False, None)
    assert "give the report" in finding.message


def test_population_uniqueness_of_dropped_records_needs_the_report(tmp_path):
    model = {"model": "population-uniqueness", "threshold": 1.0, "sampling_fraction": 0.1, "estimator": "zayatz"}
    output = {"path": str(tmp_path / "release"), "suppressed": "drop"}
    this = populated.job(tmp_path, [model], limit=0.5, output=output)
    result = run(this, populated.table(PEOPLE))
    assert failed(verify(result.table, this, result.report)) == []
    (finding,) = [f for f in verify(result.table, this) if not f.holds]
    assert finding.check == "population-uniqueness"
    assert finding.message.endswith("give the report")


def test_the_command_line_reads_the_source_again(tmp_path):
    populated.write(tmp_path / "people.csv", populated.table(PEOPLE))
    populated.write(tmp_path / "subset.csv", pa.table({"id": [0, 3, 4, 9]}))
    this = populated.job(
        tmp_path,
        [{**PRESENCE, "subset": "subset.csv"}],
        source={"path": "people.csv"},
        output={"path": "release"},
    )
    (tmp_path / "job.yaml").write_text(json.dumps(this.document()))  # YAML holds JSON
    assert cli("run", tmp_path / "job.yaml").returncode == 0
    assert cli("verify", tmp_path / "release", tmp_path / "job.yaml").returncode == 0
    (tmp_path / "people.csv").rename(tmp_path / "moved.csv")
    gone = cli("verify", tmp_path / "release", tmp_path / "job.yaml")
    assert gone.returncode == 2
    assert (
        "of population, delta-presence, figures is stated and not shown; give what was de-identified as --source"
        in (gone.stderr)
    )
    assert "FAILS  delta-presence: there is no population to compare with: source people.csv: not found" in gone.stdout
    moved = cli("verify", "--source", tmp_path / "moved.csv", tmp_path / "release", tmp_path / "job.yaml")
    assert (moved.returncode, moved.stderr) == (0, "")


# ---------------------------------------------------------------- against the engine


def in_two_parts(source, listed):
    """Tell which records of a source a subset lists, which is read in two parts, as the source is."""

    def parts(table):
        texts = [as_text(table[name].combine_chunks(), name) for name in listed.column_names]
        half = table.num_rows // 2
        return [
            pa.table([part(text) for text in texts], names=listed.column_names)
            for part in (lambda text: text[:half], lambda text: text[half:])
        ]

    subset = Listed(listed.column_names, parts(listed))
    return np.concatenate([subset.released(part) for part in parts(source)])


@settings(parent=MANY, max_examples=examples(200))
@given(populated.worlds(), populated.MODELS, populated.LEVELS, st.sampled_from([1, 2]))
def test_any_transformation_is_judged_as_the_engine_judges_it(tmp_path_factory, world, model, levels, minimum):
    """Class by class without suppression, and beside a plain count of people and of who is released."""
    people, attribute, columns, rows = world
    folder = tmp_path_factory.mktemp("job")
    source = populated.table(people)
    listed = pa.table({name: [row[i] for row in rows] for i, name in enumerate(columns)})
    model = {**model, "subset": populated.write(folder / "subset.parquet", listed)}
    this = populated.job(folder, [model], attribute=attribute)
    population = read_population(this, source)
    places = populated.listed(people, rows, columns)
    assert population.listed.unmatched == 0
    assert population.listed.rows == len(rows)
    assert np.flatnonzero(in_two_parts(source, listed)).tolist() == places
    released = populated.counted([people[i] for i in places], levels, attribute)
    everyone = populated.counted(people, levels, attribute)
    at = {tuple(row[name] for name in "01"): row for row in population.at(levels).to_pylist()}
    assert {labels: row["people"] for labels, row in at.items()} == everyone
    assert {labels: row["released"] for labels, row in at.items() if row["released"]} == released

    labels = list(released.elements())
    output = pa.table({name: pa.array([one[i] for one in labels], pa.string()) for i, name in enumerate(NAMES)})
    finding = recount(output, NAMES, model, kept=output, population=population.at(levels), minimum_class_size=minimum)
    _, table = encode(
        open_data(source), columns_of(this, source.schema), subset=Subset(open_data(source), open_data(listed), "file")
    )
    classes = table.partition(tuple(levels[name] for name in NAMES))
    present = PresentClasses.of(classes)
    kept = ~classes.refused[present.there]
    alone = bool(set(everyone) - set(released)) and model.get("delta_min", 0) > 0 and minimum == 1
    assert finding.observed == this.privacy[0].observed(present, kept)
    assert finding.holds == (this.privacy[0].holds(present, kept) and not alone)


@settings(parent=MANY, max_examples=examples(120))
@given(
    populated.worlds(),
    populated.MODELS,
    st.lists(
        st.sampled_from(
            [
                {"model": "k-anonymity", "k": 2},
                {"model": "average-risk", "threshold": 0.6},
                {"model": "sample-uniqueness", "threshold": 0.2},
            ]
        ),
        max_size=2,
        unique_by=str,
    ),
    st.sampled_from(["star", "drop"]),
    st.data(),
)
def test_a_release_of_a_subset_holds_and_no_changed_record_passes(tmp_path_factory, world, model, others, how, data):
    """Every class must have as many records as the subset lists: whatever label is changed, the release fails."""
    people, attribute, columns, rows = world
    folder = tmp_path_factory.mktemp("job")
    listed = pa.table({name: [row[i] for row in rows] for i, name in enumerate(columns)})
    subset = populated.write(folder / "subset.parquet", listed)
    output = {"path": "release", "suppressed": how}
    privacy = [{**model, "subset": subset}, *others]
    this = populated.job(folder, privacy, attribute=attribute, limit=0.5, output=output)
    source = populated.table(people)
    try:
        result = run(this, source, output=folder / "release")
    except NoSolution:
        assume(False)
    report, table = result.report, result.table
    findings = verify(table, this, report, source=source)
    assert failed(findings) == []
    models = {model["model"] for model in privacy}
    judged = [finding for finding in findings if finding.check in models]
    for stated, finding in zip(report["privacy"], judged, strict=True):
        assert finding.observed == stated["observed"]
    assume(table.num_rows)
    place = data.draw(st.integers(0, table.num_rows - 1))
    rest = pa.concat_tables([table.slice(0, place), table.slice(place + 1)])
    assert "rows" in failed(verify(rest, this, report, source=source))
    if place + 1 > report["rows"] - report["solution"]["suppressed"]:
        return
    changed = table.to_pylist()
    levels = report["solution"]["levels"]
    labels = {
        name: data.draw(st.sampled_from([row[levels[name]] for row in tree])) for name, tree in populated.TREES.items()
    }
    moved = [*changed[:place], {**changed[place], **labels}, *changed[place + 1 :]]
    assume(moved != changed)
    # where a record of these labels is suppressed, the other one could be in its place
    left = sum(all(row[name] == label for name, label in labels.items()) for row in changed)
    assume(left == populated.counted(people, levels, attribute)[tuple(labels[name] for name in populated.TREES)])
    assert failed(verify(pa.Table.from_pylist(moved, schema=table.schema), this, report, source=source))


# ---------------------------------------------------------------- releases that were changed


@pytest.mark.parametrize(
    ("ids", "checks"),
    [
        # a 42-year-old instead of one of the 31-year-olds: two classes change
        ([0, 8, 4, 9], {"subset"}),
        # one more, one fewer, one who is not there
        ([0, 3, 4, 9, 5], {"rows", "subset"}),
        ([0, 3, 4], {"rows", "subset", "delta-presence", "figures"}),
        ([0, 3, 4, 77], {"subset", "delta-presence", "figures"}),
    ],
)
def test_another_subset_than_the_released_one_is_found(tmp_path, ids, checks):
    this, source, result = presence(tmp_path, [0, 3, 4, 9])
    populated.write(tmp_path / "subset.csv", pa.table({"id": ids}))
    assert set(failed(verify(result.table, this, result.report, source=source))) == checks


def test_another_person_of_the_same_labels_is_as_good(tmp_path):
    """The output cannot tell them apart, and neither can whoever reads it."""
    this, source, result = presence(tmp_path, [0, 3, 4, 9])
    populated.write(tmp_path / "subset.csv", pa.table({"id": [1, 2, 5, 8]}))
    assert failed(verify(result.table, this, result.report, source=source)) == []


def test_another_population_is_found(tmp_path):
    this, source, result = presence(tmp_path, [0, 3, 4, 9])
    fewer = pa.concat_tables([source.slice(0, 1), source.slice(2)])
    checks = failed(verify(result.table, this, result.report, source=fewer))
    assert checks == ["population", "delta-presence", "figures", "figures"]
    for stated in (9, None, True, "10"):
        report = {**result.report, "population_rows": stated}
        assert failed(verify(result.table, this, report, source=source)) == ["population"]


def test_a_population_file_that_changed_is_found(tmp_path):
    people = tmp_path / "people.parquet"
    pq.write_table(populated.table(PEOPLE), people)
    this = populated.job(tmp_path, [{"model": "k-map", "k": 3, "population": str(people)}])
    result = run(this, populated.table(PEOPLE[::4]))
    assert failed(verify(result.table, this, result.report)) == []
    pq.write_table(populated.table(PEOPLE[:-1]), people)
    checks = failed(verify(result.table, this, result.report))
    assert checks[:2] == ["population", "k-map"]
    people.unlink()
    assert failed(verify(result.table, this, result.report))[:2] == ["population", "k-map"]

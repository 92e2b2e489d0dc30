"""An attacker who has everything that runs publish, and recomputes it for each candidate of what they do not know.

Published are: all files of the release, the XCom of all tasks, their logs, metrics, lineage, the ledger's rows and
documents, pages with their JSON, and the certificate. The candidates are the number of records left out, 1 to k - 1,
the number of records of few persons who are left out, and the values of one cell; the attacker knows all the rest. What
cannot be told apart without the figures (the file itself) is the baseline. The same attack on all digits of the
engine's report, which releases of commit bf4c63e published, succeeds: each test shows it beside.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
import random
import re
import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from airflow.models.xcom import XComModel
from airflow.utils.session import create_session
from sqlalchemy import create_engine, select

from airflow_anon.ledger import Ledger
from airflow_anon.observe.addresses import Addresses
from airflow_anon.observe.metrics import _measurements
from airflow_anon.observe.recorded import recorded_in
from airflow_anon.plugin.pages.certificate import certificate
from airflow_anon.plugin.pages.history import history
from airflow_anon.plugin.pages.ledger_list import ledger_csv, ledger_list
from airflow_anon.plugin.pages.overview import overview
from airflow_anon.plugin.pages.release import release as release_page
from airflow_anon.plugin.reading import Reading
from airflow_anon.plugin.rendering import render_alone
from engine import load_job, run, verify
from tests.airflow_anon.nights.night import release_of
from tests.profiles import only, spread, thorough

K = 5
RUNS = re.compile(
    r"seconds|timings|bytes|sha256|fingerprint|created|validated_at|recorded_at|run_id|release_id|salt|path|folder|"
    r"digests|run_after|logical_date|anchor|sequence|comparison|delivered|command|address|href|query|dag_version|metrics_sent_at"
)
"""Keys whose values differ between two runs of the same table: times, random order, random salts, hashes of these, the
place in the ledger, and what is said of the release before (`comparison`, `delivered`), which the first run lacks."""

PLACES = re.compile(r"\S*\d{4}-?\d\d-?\d\dT\S*|^/\S+")
"""Ids of runs, and folders named after them."""


def table_of(kept, left_out, ages=(30, 40), seed=1):
    """Give `kept` records in classes of at least k, and others that no class can hold."""
    draw = random.Random(seed)
    rows = [(draw.randrange(*ages), draw.choice("FM"), draw.choice("abc")) for _ in range(kept)]
    rows += [(90 + place, "M", "c") for place in range(left_out)]
    age, sex, diagnosis = zip(*rows, strict=True)
    return pa.table({"age": [str(one) for one in age], "sex": list(sex), "diagnosis": list(diagnosis)})


BINARY = {"builder": "redaction", "length": 1, "alphabet": "any"}


def job_of(hierarchy, sex=BINARY, level=1, **changes):
    attributes = {
        "age": {"role": "quasi-identifying", "hierarchy": hierarchy, "minimum_level": level, "maximum_level": level},
        "sex": {"role": "quasi-identifying", "hierarchy": sex},
        "diagnosis": {"role": "sensitive"},
    }
    privacy = [
        {"model": "k-anonymity", "k": K},
        {"model": "l-diversity", "variant": "distinct", "attribute": "diagnosis", "l": 2},
        {"model": "t-closeness", "distance": "equal", "attribute": "diagnosis", "t": 0.6},
    ]
    document = {"name": "attacked", "attributes": attributes, "privacy": privacy, "suppression_limit": 0.1}
    return {**document, **changes}


DECADES = {"builder": "redaction", "length": 2}
JOBS = {
    "loss": job_of(DECADES),
    "entropy": job_of(DECADES, utility={"measure": "non-uniform-entropy"}),
    "precision": job_of(DECADES, utility={"measure": "precision"}),
    "estimates": job_of(DECADES, risk={"sampling_fraction": 0.1}),
    "fixed": job_of(
        {"builder": "age", "widths": [10]}, sex={"builder": "order", "values": ["F", "M"], "fanouts": [2]}, level=2
    ),
    "useful": job_of(
        {"builder": "age", "widths": [10]},
        level=2,
        unit="record",
        usefulness={"columns": ["age", "sex", "diagnosis"]},
    ),
    "ranked": job_of(DECADES, utility={"measure": "loss", "aggregate": "rank"}),
    "lenient": job_of(DECADES, suppression_limit=0.5),
}


def told(document, place=""):
    """Give everything in a document that a second run of the same table would tell again, by its place."""
    if isinstance(document, (dict, list, tuple)):
        parts = document.items() if isinstance(document, dict) else enumerate(document)
        return {
            key: value
            for name, part in parts
            if not RUNS.search(str(name))
            for key, value in told(part, f"{place}/{name}").items()
        }
    return {place: PLACES.sub("", document) if isinstance(document, str) else document}


def consistent(published, candidates, truth):
    """Give the candidates for which everything published would be the same as for the truth."""
    seen = told(published(truth))
    return [one for one in candidates if told(published(one)) == seen]


@pytest.mark.parametrize(
    ("name", "kept"), only(itertools.product(JOBS, [120, 400, 2_000]), lambda case: case[1] == 120 or case[0] == "loss")
)
def test_the_report_is_the_same_for_any_number_of_records_left_out(name, kept):
    """Each candidate remains; all digits single out the truth."""
    made = {few: run(JOBS[name], table_of(kept, few)) for few in range(1, K)}
    assert {result.report["suppressed_class"]["form"] for result in made.values()} == {"drop"}
    for truth in made:
        assert consistent(lambda few: made[few].published, made, truth) == list(made)
        assert consistent(lambda few: made[few].report, made, truth) == [truth]


def test_a_search_within_a_gap_tells_not_whether_it_proved_a_table_with_few_left_out():
    """Which table it proves depends on the records left out too: no proof is told, and the checks are a bound."""
    this = {**JOBS["loss"], "search": {"gap": 0.2}}
    told_of = run(this, table_of(400, 2)).published
    assert told_of["suppressed_class"]["form"] == "drop"
    assert (told_of["solution"]["optimal"], told_of["search"]["proof"]) == (False, None)
    assert (told_of["solution"]["gap"], told_of["solution"]["lower_bound"]) == (None, None)
    assert told_of["search"]["checked"] >= 100 * told_of["search"]["space"]


FEW_KEPT = "30Fb 30Fb 30Fc 30Ma 30Ma 30Mb 30Mb 30Mb 31Fb 31Ma 31Mc 32Fa 32Fb 32Fb 32Fb 32Fc 32Fc 32Ma 32Mc 32Mc"
PRUNED = "36Xq", "50Mb 50Mb 50Mb 50Mb"
"""With the first one left out the search checks every transformation, and with the others bounds spare some."""


@pytest.mark.parametrize("search", [{}, {"gap": 0.2}])
def test_how_a_search_proved_a_table_with_few_left_out_is_not_told(search):
    """Nor does the list of what is withheld tell what the run knows of it."""
    privacy = [
        {"model": "k-anonymity", "k": K},
        {"model": "t-closeness", "distance": "equal", "attribute": "diagnosis", "t": 0.5},
    ]
    this = job_of(DECADES, level=0, privacy=privacy, search=search, suppression_limit=0.2)
    this["attributes"]["age"]["maximum_level"] = 2

    def made(left_out):
        rows = [(row[:2], row[2], row[3]) for row in f"{FEW_KEPT} {left_out}".split()]
        return run(
            this, pa.table(dict(zip(["age", "sex", "diagnosis"], map(list, zip(*rows, strict=True)), strict=True)))
        )

    runs = [made(left_out) for left_out in PRUNED]
    assert len({tuple(sorted(map(str, one.table.to_pylist()))) for one in runs}) == 1
    assert len({one.report["search"]["proof"] for one in runs}) == 2
    assert [told(one.published) for one in runs] == [told(runs[0].published)] * len(runs)
    assert "search.proof" in runs[0].published["withheld"]


def person(number, age, sex="F", diagnosis="a", note="n"):
    return (f"p{number}", str(age), sex, diagnosis, note)


WAITING = {
    "one": [person("x", 33)],
    "one of an age that nobody else has": [person("x", 39)],
    "one with a diagnosis and a note that nobody else has": [person("x", 33, "M", "z", "y")],
    "two": [person("x", 38), person("y", 49)],
    "four": [person("x", 36), person("y", 37), person("z", 38), person("w", 48, "M", "y", "x")],
}
"""Who is new on the second night: fewer of a class than can go together, so that all of them wait."""


@pytest.mark.parametrize("leave", [0, K + 1])
@pytest.mark.parametrize("arrivals", ["hold-back", "batch"])
@pytest.mark.parametrize("kept", [60, 1_200])
def test_the_report_of_a_series_is_the_same_whoever_waits(tmp_path, kept, arrivals, leave):
    """Also where some of a class have left, who are not in the source and are not kept in the file."""
    ages = [30, 31, 32, 40, 41, 45]
    draw = random.Random(kept)
    first = [person(n, draw.choice(ages), draw.choice("FM"), draw.choice("ab")) for n in range(kept)]
    this = job_of(
        {"builder": "interval", "widths": [10, 20]},
        subject="mrn",
        privacy=[{"model": "k-anonymity", "k": K}],
        series={
            "vault": str(tmp_path / "now/vault"),
            "key_file": str(tmp_path / "now/key"),
            "arrivals": arrivals,
            "departures": "keep" if leave else "cover",
        },
        output={"path": str(tmp_path / "now/release")},
    )
    this["attributes"] |= {"mrn": {"role": "identifying"}, "note": {"role": "insensitive"}}
    names = ["mrn", "age", "sex", "diagnosis", "note"]

    def night(persons):
        columns = zip(*persons, strict=True)
        return run(this, pa.table(dict(zip(names, map(list, columns), strict=True))))

    (tmp_path / "now").mkdir()
    night(first)
    (tmp_path / "now").rename(tmp_path / "first")
    made, files = {}, {}
    gone = [one for one in first if one[1] < "40" and one[2] == "F"][:leave]
    stay = [one for one in first if one not in gone]
    for who, waiting in WAITING.items():
        shutil.copytree(tmp_path / "first", tmp_path / "now", dirs_exist_ok=True)
        made[who] = night([*stay, *waiting])
        files[who] = sorted(map(str, made[who].table.to_pylist()))
        shutil.rmtree(tmp_path / "now")
    assert all(released == files["one"] for released in files.values())
    assert made["one"].report["released"] == kept - leave
    for truth in made:
        assert consistent(lambda who: made[who].published, made, truth) == list(made)
        assert consistent(lambda who: made[who].report, made, truth) != list(made)


def test_without_few_records_the_counts_are_told():
    result = run(JOBS["loss"], table_of(60, K))
    assert result.published["suppressed_class"]["records"] == K
    assert (result.published["rows"], result.published["released"]) == (65, 60)
    assert "rows" not in result.published["withheld"]


def visits_of(kept, rows, persons=2):
    """Give two records of each of `kept` persons, alike in fives at least, and `rows` of each of few others."""
    draw = random.Random(3)
    pictures = [[(draw.randrange(30, 40), "F"), (draw.randrange(50, 60), "M")] for _ in range(kept)]
    pictures += [[(90 + n % 10, "F") for n in range(rows)] for _ in range(persons)]
    found = [(f"p{n}", *cell, draw.choice("abc")) for n, picture in enumerate(pictures) for cell in picture]
    mrn, age, sex, diagnosis = zip(*found, strict=True)
    return pa.table({"mrn": mrn, "age": [str(one) for one in age], "sex": sex, "diagnosis": diagnosis})


def job_of_persons(knows, **changes):
    document = job_of(DECADES, subject="mrn", knows=knows, **changes)
    document["attributes"]["mrn"] = {"role": "identifying"}
    distinct = document["privacy"][:2]
    return {**document, "privacy": distinct if isinstance(knows, dict) else document["privacy"]}


def source_of(name, kept, rows):
    """Give the visits; with `max_rows` also 40 of a further person, of which 15 are too many."""
    source = visits_of(kept, rows)
    return (
        source
        if name != "fewer rows"
        else pa.concat_tables([source, visits_of(0, 40, 1)]).set_column(
            0, "mrn", pa.array([*source["mrn"].to_pylist(), *["q"] * 40])
        )
    )


def useful_job_of_persons(knows, **changes):
    """Give the job with ages as numbers, that asks how useful its release is."""
    document = job_of_persons(knows, usefulness={"columns": ["age", "sex", "diagnosis"]}, **changes)
    levels = {"hierarchy": {"builder": "age", "widths": [10]}, "minimum_level": 2, "maximum_level": 2}
    age = {**document["attributes"]["age"], **levels}
    return {**document, "attributes": {**document["attributes"], "age": age}}


KEY = b"k" * 32
WHOLE = {
    "any-row": useful_job_of_persons("any-row"),
    "some rows": job_of_persons({"rows": 2}),
    "all-rows": useful_job_of_persons("all-rows"),
    "fewer rows": useful_job_of_persons("all-rows", max_rows=25),
}


@pytest.mark.parametrize("name", WHOLE)
@pytest.mark.parametrize("kept", spread([300, 1_500], 1))
def test_the_report_is_the_same_for_any_number_of_records_of_few_persons(name, kept):
    """Two persons are left out: all digits tell how many records they have, and nothing that leaves the run does."""
    candidates = [6, 9, 12, 15, 20]

    made = {rows: run(WHOLE[name], source_of(name, kept, rows), rows_key=KEY) for rows in candidates}
    assert {result.report["suppressed_class"]["form"] for result in made.values()} == {"drop"}
    assert all(result.report["suppressed_class"]["records"] > K for result in made.values())
    for truth in made:
        assert consistent(lambda rows: made[rows].published, made, truth) == candidates
        assert consistent(lambda rows: made[rows].report, made, truth) == [truth]
    told_of = made[6].published
    assert (told_of["rows"], told_of["solution"]["suppressed"]) == (None, None)
    assert told_of["suppressed_class"]["below"] == K
    if name == "fewer rows":
        assert told_of["further_rows"] == {"left_out": None, "share": None}
    findings = verify(made[6].table, load_job(WHOLE[name]), told_of, source_of(name, kept, 6), rows_key=KEY)
    assert [str(finding.message) for finding in findings if not finding.holds] == []


UNKNOWN = {
    "a value": ("age", [str(age) for age in range(30, 40)]),
    "whose it is": ("mrn", [f"p{person}" for person in range(0, 300, 25)]),
}
"""What somebody who knows all else does not know of one record: its column, and the candidates."""


@pytest.mark.parametrize("unknown", UNKNOWN)
@pytest.mark.parametrize("kept", spread([300, 6_000], 1))
def test_who_knows_all_but_one_thing_of_one_record_is_not_told_it_by_usefulness(unknown, kept):
    """What the file leaves is left by what is said of usefulness; all digits leave two at most of the values."""
    column, candidates = UNKNOWN[unknown]
    source = visits_of(kept, 0)
    # persons differ in their decades, so that their means do
    ages = [str(int(age) + 10 * (row % 6 == 2)) for row, age in enumerate(source["age"].to_pylist())]
    source = source.set_column(1, "age", pa.array(ages))
    place = source.schema.names.index(column)
    job = useful_job_of_persons("any-row")

    def with_one(candidate):
        return run(job, source.set_column(place, column, pa.array([candidate, *source[column].to_pylist()[1:]])))

    made = {candidate: with_one(candidate) for candidate in candidates}
    truth = source[column][0].as_py()
    released = {candidate: sorted(map(str, result.table.to_pylist())) for candidate, result in made.items()}
    baseline = [candidate for candidate in candidates if released[candidate] == released[truth]]
    assert len(baseline) > 2
    left = consistent(lambda candidate: made[candidate].published["usefulness"], baseline, truth)
    full = consistent(lambda candidate: made[candidate].report["usefulness"], baseline, truth)
    assert truth in full
    assert len(full) <= (2 if unknown == "a value" else len(baseline) / 2)
    assert left == baseline


@pytest.mark.parametrize("kept", spread([200, 1_200, 12_000], 1))
@pytest.mark.parametrize("name", ["loss", "entropy", "estimates", "fixed", "useful"])
def test_who_knows_all_cells_but_one_is_not_told_the_last(name, kept):
    """Candidates are the ages that the file leaves; all digits leave one, or two whose figures are the same."""
    source = table_of(kept, 0)
    candidates = [str(age) for age in range(30, 40)]

    def with_age(age):
        return run(JOBS[name], source.set_column(0, "age", pa.array([age, *source["age"].to_pylist()[1:]])))

    made = {age: with_age(age) for age in candidates}
    truth = source["age"][0].as_py()
    released = {age: sorted(map(str, result.table.to_pylist())) for age, result in made.items()}
    baseline = [age for age in candidates if released[age] == released[truth]]
    left = consistent(lambda age: made[age].published, baseline, truth)
    full = consistent(lambda age: made[age].report, baseline, truth)
    assert truth in left
    assert len(full) <= 2 < len(baseline)
    assert len(left) >= len(baseline) / 2


def test_the_published_report_verifies_and_a_changed_one_does_not():
    job = load_job(JOBS["estimates"])
    result = run(job, table_of(400, 3))
    assert all(finding.holds for finding in verify(result.table, job, result.published))
    below = {**result.published["suppressed_class"], "below": K + 1}
    changed = [{"released": 399}, {"suppressed_class": below}, {"rows": 403}]
    for change in changed[:2]:
        assert not all(finding.holds for finding in verify(result.table, job, {**result.published, **change}))


def _plain(value):
    try:
        return json.loads(value)
    except (TypeError, ValueError):
        return value


def published_by(world, job, source, capfd):
    """Run a night on that table, of which some records cannot be kept; give everything that it publishes."""
    engine = create_engine(world.warehouse)
    source.to_pandas().to_sql("attacked", engine, if_exists="replace", index=False)
    engine.dispose()
    capfd.readouterr()
    night = world.run(job)
    captured = capfd.readouterr()
    assert night.state == "success"
    folder = release_of(world, job)
    with create_session() as session:
        query = select(XComModel.task_id, XComModel.key, XComModel.value).where(XComModel.run_id == night.run_id)
        xcom = [(task, key, _plain(value)) for task, key, value in session.execute(query)]
    ledger = Ledger(f"sqlite:///{world.folder}/release_ledger.sqlite")
    entry = ledger.entries(limit=1)[0]
    recorded = recorded_in(ledger, entry)
    reading = Reading(ledger, set)
    where = {"dag_id": entry.dag_id, "run_id": entry.run_id}
    paper = certificate(reading, where)
    metadata = pq.read_metadata(folder / "data.parquet")
    schema = pq.read_schema(folder / "data.parquet")
    assert set(metadata.metadata) == {b"ARROW:schema", *schema.metadata}
    files = {path.name: json.loads(path.read_text()) for path in folder.glob("*.json")}
    pages = [
        overview(reading, {}),
        history(reading, where),
        ledger_list(reading, {}),
        ledger_csv(reading, {}),
        render_alone("certificate", paper, Addresses(root="/deidentification")),
    ]
    everything = {
        "files": files,
        "said": {name: str(schema.field(name).metadata) for name in schema.names} | {"": str(schema.metadata)},
        "rows": metadata.num_rows,
        "groups": [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)],
        "xcom": {f"{task} {key}": value for task, key, value in sorted(xcom, key=lambda one: one[:2])},
        "entry": {key: value for key, value in dataclasses.asdict(entry).items() if key != "sequence"},
        "document": ledger.document(entry.sequence),
        "metrics": [one for one in _measurements(entry, recorded.smallest, recorded.series) if one[1] != "seconds"],
        "lineage": lineage_of(entry, recorded.document),
        "page": release_page(reading, where)["entry"]["content"],
    }
    return folder, captured.out + captured.err + str(pages), everything


def lineage_of(entry, document):
    facets = pytest.importorskip("airflow_anon.observe.lineage_facets")
    facet = facets.run_facet(entry, document)
    names = ("rows", "suppressed_share", "information_loss", "lower_bound", "optimal", "privacy_margin", "privacy")
    return {**{name: getattr(facet, name) for name in names}, "statistics": str(facets.statistics(document))}


NIGHTS = {
    "records": (JOBS["useful"], lambda few: table_of(1_237, few), range(1, K), 1_237),
    "persons": (useful_job_of_persons("all-rows"), lambda rows: visits_of(600, rows), [6, 9, 15, 20], 1_200),
}
"""Jobs, their tables for each candidate, the candidates, and the records that are released whichever is true."""


@pytest.mark.airflow
@pytest.mark.slow
@pytest.mark.parametrize("counted", spread(NIGHTS, 1))
def test_everything_a_night_publishes_is_the_same_for_any_number_of_records_left_out(tmp_path, world, capfd, counted):
    job, table, candidates, kept = NIGHTS[counted]
    document = {
        **job,
        "source": {"conn_id": "clinical_warehouse", "table": "attacked"},
        "output": {"path": "share", "conn_id": "research_share", "table": "attacked"},
    }
    path = tmp_path / "attacked.yaml"
    path.write_text(json.dumps(document))
    made = {}
    for few in candidates if thorough() else (candidates[0], candidates[-1]):
        source = table(few)
        folder, texts, everything = published_by(world, path, source, capfd)
        assert pq.read_metadata(folder / "data.parquet").num_rows == kept
        number = re.compile(rf"(?<![\d.]){source.num_rows}(?!\d)|(?<!\d)1,{source.num_rows - 1000}(?!\d)")
        said = [line for line in (*texts.splitlines(), json.dumps(everything, default=str)) if number.search(line)]
        assert said == []
        made[few] = everything
    for truth, all_of_it in made.items():
        for part in all_of_it:
            of_part = {few: one[part] for few, one in made.items()}
            differing = {key for few in made for key, _ in told(of_part[few]).items() ^ told(all_of_it[part]).items()}
            assert differing == set()
            assert consistent(of_part.get, made, truth) == list(made)

"""Runs with pseudonyms and shifted dates: what is released, what the report says, and that tampering is found."""

from __future__ import annotations

import datetime as dt
import hashlib
import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from engine import InvalidData, load_job, run, verify
from engine.hierarchy.builder import SUPPRESSED
from tests.reference import pseudonyms as reference

RELEASE_KEY = hashlib.sha256(b"a key of one release").digest()
SECRET = b"0123456789abcdef" * 3
PSEUDONYM = {"role": "identifying", "action": "pseudonymize"}
LINKED = {**PSEUDONYM, "accept": "linked-rows"}
MONTH = {"builder": "date", "levels": ["month", "year"]}


def job(**changes):
    attributes = {
        "mrn": LINKED,
        "visit": PSEUDONYM,
        "name": {"role": "identifying"},
        "age": {"role": "quasi-identifying", "hierarchy": {"builder": "age"}, "maximum_level": 0},
        "diagnosis": {"role": "sensitive"},
        "admitted": {"role": "insensitive", "action": "shift"},
        "discharged": {"role": "sensitive", "action": "shift"},
        **changes.pop("attributes", {}),
    }
    document = {
        "name": "visits",
        "attributes": {name: one for name, one in attributes.items() if one is not None},
        "subject": "mrn",
        "shift": {"days": 90, "ages_on": "2026-11-23"},
        "privacy": [{"model": "k-anonymity", "k": 4}],
        "suppression_limit": 0.2,
        **changes,
    }
    return load_job({key: value for key, value in document.items() if value is not None})


def visits(persons=60, seed=0):
    """Make visits; five of the persons have an age that nobody else has."""
    rng = np.random.default_rng(seed)
    mrn = np.repeat(np.arange(persons), rng.poisson(3, persons) + 1)
    admitted = pd.Timestamp("2025-01-01") + pd.to_timedelta(rng.integers(0, 300, mrn.size), "D")
    age = np.append(np.arange(70, 75), rng.choice([30, 40, 50], persons - 5))[mrn]
    stayed = pd.to_timedelta(rng.integers(0, 20, mrn.size), "D")
    return pd.DataFrame(
        {
            "mrn": mrn + 880000431000,
            "visit": np.arange(mrn.size) + 770000000000,
            "name": "Erika",
            "age": age.astype(str),
            "diagnosis": np.array(list("abcd"))[rng.integers(0, 4, mrn.size)],
            "admitted": admitted.date,
            "discharged": (admitted + stayed).strftime("%Y-%m-%d"),
        }
    )


def expected(frame, secret=RELEASE_KEY):
    """Return the source as it must be released, apart from the ages."""
    made = frame.drop(columns=["name", "age"]).copy()
    by = frame["mrn"].map(lambda mrn: reference.shift(secret, "visits", str(mrn), 90, weeks=False))
    made["admitted"] = [day + dt.timedelta(days=days) for day, days in zip(frame["admitted"], by, strict=True)]
    moved = [
        dt.date.fromisoformat(day) + dt.timedelta(days=days) for day, days in zip(frame["discharged"], by, strict=True)
    ]
    made["discharged"] = [day.isoformat() for day in moved]
    for name in ("mrn", "visit"):
        made[name] = [reference.pseudonym(secret, "visits", name, str(value)) for value in frame[name]]
    return made


def failing(findings):
    return {(finding.check, finding.column) for finding in findings if not finding.holds}


def changed(table, name, change):
    """Return a release with other values in a column."""
    values = change(table[name].to_pylist())
    return table.set_column(table.column_names.index(name), name, pa.array(values, table.schema.field(name).type))


@pytest.mark.parametrize("suppressed", ["star", "drop"])
def test_what_is_released_is_what_the_definition_says(tmp_path, suppressed):
    frame = visits()
    made = job(output={"path": str(tmp_path / "release"), "suppressed": suppressed})
    result = run(made, table=frame, release_key=RELEASE_KEY)
    released = result.table.to_pandas()
    kept = released[released["age"] != SUPPRESSED]
    assert 0 < len(kept) < len(frame)
    rows = {tuple(row) for row in expected(frame).itertuples(index=False)}
    columns = ["mrn", "visit", "diagnosis", "admitted", "discharged"]
    assert {tuple(row) for row in kept[columns].itertuples(index=False)} <= rows
    starred = released[released["age"] == SUPPRESSED]
    assert bool(len(starred)) is (suppressed == "star")
    assert starred[["mrn", "visit"]].isna().all(axis=None)
    assert {row[2:] for row in starred[columns].itertuples(index=False)} <= {row[2:] for row in rows}
    text = "".join(path.read_bytes().decode("latin-1") for path in (tmp_path / "release").iterdir())
    for hidden in (RELEASE_KEY.hex(), RELEASE_KEY.decode("latin-1"), *frame["mrn"].astype(str), "Erika"):
        assert hidden not in text


def test_persons_are_counted_as_without_pseudonyms():
    frame = visits()
    plain = job(attributes={name: {"role": "identifying"} for name in ("mrn", "visit")})
    reports = [run(one, table=frame).report for one in (job(), plain)]
    for key in ("persons", "risk", "classes", "solution", "privacy"):
        assert reports[0][key] == reports[1][key]


def test_dates_of_both_zeros_move_by_the_same_days():
    """They are one person, whose dates would else tell two."""
    frame = visits()
    frame["mrn"] = (frame["mrn"] - frame["mrn"].min()).astype("float64")
    zeros = frame.index[frame["mrn"] == 0]
    assert len(zeros) > 1
    this = job(attributes={"mrn": {"role": "identifying"}})
    plain = run(this, table=frame, release_key=RELEASE_KEY)
    frame.loc[zeros[::2], "mrn"] = -0.0
    signed = run(this, table=frame, release_key=RELEASE_KEY)
    dates = [sorted(map(repr, one.table.select(["admitted", "discharged"]).to_pylist())) for one in (plain, signed)]
    assert dates[0] == dates[1]
    assert not failing(verify(signed.table, this, signed.published, source=frame, release_key=RELEASE_KEY))


@pytest.mark.parametrize("zone", [None, "UTC"])
@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_moments_of_each_unit_are_shifted_into_a_folder(tmp_path, unit, zone):
    """Parquet has no seconds, and writes them as thousandths."""
    moments = pa.array([1_700_000_000 + place // 3 for place in range(24)]).cast(pa.timestamp("s", zone))
    flat = {"role": "quasi-identifying", "hierarchy": {"builder": "flat"}, "maximum_level": 0}
    attributes = {**dict.fromkeys(job().attributes), "mrn": {"role": "identifying"}, "area": flat}
    attributes["admitted"] = {"role": "insensitive", "action": "shift"}
    table = pa.table({"mrn": range(24), "area": ["a", "b"] * 12, "admitted": moments.cast(pa.timestamp(unit, zone))})
    this = job(attributes=attributes, output={"path": str(tmp_path / "release")})
    found = run(this, table=table, release_key=RELEASE_KEY).table["admitted"].cast(pa.timestamp("s", zone))
    days = [reference.shift(RELEASE_KEY, "visits", str(person), 90, weeks=False) for person in range(24)]
    expected = [moment + 86400 * day for moment, day in zip(moments.cast(pa.int64()).to_pylist(), days, strict=True)]
    assert sorted(found.cast(pa.int64()).to_pylist()) == sorted(expected)


def test_the_report_says_what_became_of_identifiers_and_dates():
    report = run(job(), table=visits()).published
    assert report["identifying"] == [
        {"column": "mrn", "action": "pseudonymize", "family": "mrn", "key": "fresh", "key_id": None},
        {"column": "visit", "action": "pseudonymize", "family": "visit", "key": "fresh", "key_id": None},
        {"column": "name", "action": "drop"},
    ]
    assert report["shift"] == {
        "columns": ["admitted", "discharged"],
        "days": 90,
        "weeks": False,
        "ages_over_89": "leave-out",
        "ages_on": "2026-11-23",
        "key": "fresh",
        "key_id": None,
    }
    warned = "".join(report["warnings"])
    assert "'mrn': its pseudonyms join rows" in warned
    assert "'admitted', 'discharged': are shifted by the same days" in warned
    assert report["columns"] == ["mrn", "visit", "age", "diagnosis", "admitted", "discharged"]


def test_two_releases_share_no_pseudonym_unless_the_key_stays(tmp_path):
    frame = visits()
    first, second = (set(run(job(), table=frame).table["mrn"].drop_null().to_pylist()) for _ in range(2))
    assert not first & second
    (tmp_path / "key").write_bytes(SECRET)
    (tmp_path / "key").chmod(0o600)
    place = {"key_file": str(tmp_path / "key"), "key_id": reference.key_id(SECRET)}
    lasting = job(attributes={"mrn": {**LINKED, **place}}, shift={"days": 90, **place})
    same = [set(run(lasting, table=frame).table["mrn"].drop_null().to_pylist()) for _ in range(2)]
    assert same[0] == same[1] < set(expected(frame, SECRET)["mrn"])
    report = run(lasting, table=frame).report
    assert report["identifying"][0]["key_id"] == report["shift"]["key_id"] == reference.key_id(SECRET)
    assert "followed from release to release" in "".join(report["warnings"])


def test_shifted_quasi_identifiers_are_generalized_after_the_shift():
    """Classes are of what the file shows: k persons share each shifted month, whoever knows the shifts."""
    frame = visits(200)
    made = job(
        attributes={
            "admitted": {"role": "quasi-identifying", "action": "shift", "hierarchy": MONTH, "minimum_level": 1}
        }
    )
    result = run(made, table=frame, release_key=RELEASE_KEY)
    source = expected(frame)
    level = result.report["solution"]["levels"]["admitted"]
    released = result.table.to_pandas()
    kept = released[released["age"] != SUPPRESSED]
    labels = {1: lambda day: f"{day:%Y-%m}", 2: lambda day: f"{day:%Y}", 3: lambda _: "*"}[level]
    assert set(kept["admitted"]) <= set(source["admitted"].map(labels))
    assert kept.groupby(["age", "admitted"])["mrn"].nunique().min() >= 4


def test_models_read_the_shifted_values_of_a_sensitive_date():
    frame = visits(200)
    size = {"model": "k-anonymity", "k": 4}
    made = job(privacy=[size, {"model": "l-diversity", "variant": "distinct", "attribute": "discharged", "l": 3}])
    result = run(made, table=frame, release_key=RELEASE_KEY)
    kept = result.table.to_pandas()
    assert kept[kept["age"] != SUPPRESSED].groupby("age")["discharged"].nunique().min() >= 3


def test_further_rows_are_left_out_beside_pseudonyms_and_shifts():
    # which rows stay is drawn anew: so many persons that their days repeat, whichever stay
    result = run(job(max_rows=2), table=visits(200))
    assert result.table.to_pandas().groupby("mrn").size().max() == 2


@pytest.mark.parametrize("backend", ["arrow", "duckdb"])
def test_pseudonyms_of_record_numbers_where_records_are_counted(backend):
    frame = visits().drop(columns=["mrn", "admitted", "discharged"])
    attributes = dict.fromkeys(("mrn", "admitted", "discharged"))
    made = job(subject=None, unit="record", shift=None, backend=backend, attributes=attributes)
    result = run(made, table=frame, release_key=RELEASE_KEY)
    own = {reference.pseudonym(RELEASE_KEY, "visits", "visit", str(one)) for one in frame["visit"]}
    found = result.table["visit"].drop_null().to_pylist()
    assert set(found) <= own
    assert len(found) == len(set(found)) == result.report["released"] - result.report["suppressed_class"]["records"]


def test_pseudonyms_are_made_and_verified_beside_columns_of_the_type_json():
    texts = pa.ExtensionArray.from_storage(pa.json_(), pa.array(['"a"', '"b"'] * 8))
    numbers = pa.ExtensionArray.from_storage(pa.json_(), pa.array([str(place) for place in range(16)]))
    flat = {"role": "quasi-identifying", "hierarchy": {"builder": "flat"}, "maximum_level": 0}
    attributes = {**dict.fromkeys(job().attributes), "mrn": LINKED, "area": flat}
    found = run(
        job(attributes=attributes, shift=None), pa.table({"mrn": numbers, "area": texts}), release_key=RELEASE_KEY
    )
    assert found.table["area"].to_pylist().count('"a"') == 8
    assert set(found.table["mrn"].to_pylist()) == {
        reference.pseudonym(RELEASE_KEY, "visits", "mrn", str(n)) for n in range(16)
    }


@pytest.mark.parametrize("subject", [{"subject": None, "unit": "record"}, {"subject": "visit"}])
def test_pseudonyms_that_would_join_records_are_refused(subject):
    """Five records of a class may be one person, and their pseudonym shows it."""
    frame = visits().drop(columns=["admitted", "discharged"])
    attributes = {"admitted": None, "discharged": None, "visit": {"role": "identifying"}}
    with pytest.raises(InvalidData, match=r"'mrn': several records have the same value.*accept: linked-rows"):
        run(job(shift=None, attributes={**attributes, "mrn": PSEUDONYM}, **subject), table=frame)
    assert run(job(shift=None, attributes=attributes, **subject), table=frame).table.num_rows


@pytest.fixture(scope="module")
def made():
    frame = visits()
    this = job()
    result = run(this, table=frame, release_key=RELEASE_KEY)
    return this, frame, result


def judged(made, table, report=None, **keys):
    this, frame, result = made
    return verify(table, this, report or result.report, source=frame, **keys)


def test_a_verification_with_the_key_of_the_release_holds(made):
    assert not failing(judged(made, made[2].table, release_key=RELEASE_KEY))


def test_without_the_key_only_the_form_of_pseudonyms_is_shown(made):
    found = judged(made, made[2].table)
    assert failing(found) == {("shift", "admitted"), ("shift", "discharged")}
    (told,) = [one.message for one in found if one.check == "pseudonyms" and one.column == "mrn"]
    assert "that they are those of the source is not shown: the key of this release is not given" in told


def test_the_wrong_key_is_found(made):
    found = failing(judged(made, made[2].table, release_key=RELEASE_KEY[::-1]))
    assert {("pseudonyms", "mrn"), ("pseudonyms", "visit"), ("shift", "admitted"), ("shift", "discharged")} <= found


def _hashed(value):
    return value and hashlib.sha256(value.encode()).hexdigest()[:32]


TAMPERED = [
    ("mrn", lambda values: ["880000431000", *values[1:]], {("pseudonyms", "mrn")}),
    ("mrn", lambda values: [_hashed(value) for value in values], {("pseudonyms", "mrn")}),
    ("mrn", lambda values: values[::-1], {("pseudonyms", "mrn")}),
    ("visit", lambda values: [values[0], *values[:-1]], {("pseudonyms", "visit")}),
    ("mrn", lambda values: [value or "0" * 32 for value in values], {("pseudonyms", "mrn")}),
    ("admitted", lambda values: [values[0] + dt.timedelta(days=1), *values[1:]], {("shift", "admitted")}),
    ("discharged", lambda values: [values[-1], *values[1:]], {("shift", "discharged")}),
    ("admitted", lambda values: values[::-1], {("shift", "admitted")}),
]


@pytest.mark.parametrize(("column", "change", "told"), TAMPERED)
def test_another_pseudonym_or_date_is_found(made, column, change, told):
    table = made[2].table
    altered = changed(table, column, change)
    assert altered[column] != table[column]
    assert told <= failing(judged(made, altered, release_key=RELEASE_KEY))


def test_identifiers_that_look_like_pseudonyms_are_found_in_the_release():
    """A column of hashes has the form; that they are the source's own is found without any key."""
    frame = visits()
    frame["mrn"] = [hashlib.sha256(str(one).encode()).hexdigest()[:32] for one in frame["mrn"]]
    this = job()
    result = run(this, table=frame)
    raw = frame["mrn"].tolist()
    altered = changed(result.table, "mrn", lambda values: [value and raw[0] for value in values])
    found = verify(altered, this, result.report, source=frame)
    (told,) = [one.message for one in found if one.check == "pseudonyms" and one.column == "mrn"]
    assert "identifiers of the source are among them" in told
    assert raw[0] not in told


@pytest.mark.parametrize(
    "change",
    [
        lambda report: report["identifying"][0].update(action="drop"),
        lambda report: report["identifying"][0].update(key="persistent"),
        lambda report: report["identifying"][1].update(family="mrn"),
        lambda report: report.pop("identifying"),
        lambda report: report["shift"].update(days=3650),
        lambda report: report["shift"].update(columns=["admitted"]),
        lambda report: report["shift"].update(key="persistent"),
        lambda report: report["shift"].update(ages_on="2025-01-01"),
        lambda report: report["shift"].update(ages_on="soon"),
        lambda report: report.update(shift=None),
    ],
)
def test_a_report_that_says_another_thing_is_found(made, change):
    report = json.loads(json.dumps(made[2].report))
    change(report)
    assert ("replaced", None) in failing(judged(made, made[2].table, report, release_key=RELEASE_KEY))


def test_a_source_without_the_column_or_a_subject_with_a_missing_value_ends_the_run(tmp_path):
    frame = visits()
    with pytest.raises(InvalidData, match="'mrn'"):
        run(job(), table=frame.drop(columns=["mrn"]))
    with pytest.raises(InvalidData, match="has a missing or blank value in 1 of its records"):
        run(job(), table=frame.assign(mrn=[" ", *frame["mrn"].astype(str)[1:]]))
    pq.write_table(pa.Table.from_pandas(frame), tmp_path / "visits.parquet")
    assert run(job(source={"path": str(tmp_path / "visits.parquet")})).table.num_rows

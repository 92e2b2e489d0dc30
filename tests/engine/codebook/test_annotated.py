"""What the file of records says of itself, read with Arrow from the file alone."""

from __future__ import annotations

import datetime as dt
import json

import pyarrow.parquet as pq
import pytest

from engine import column_notes, load_job, run
from engine.codebook.treatment import in_words
from tests.engine.linked_jobs import job as linked_job
from tests.engine.linked_jobs import tables_of
from tests.engine.pipeline.test_replaced import job as replaced_job
from tests.engine.pipeline.test_replaced import visits

FACTS = ("role", "what", "level", "levels", "notation")


def of_fields(path):
    """Return what the fields of a file say, as the codebook writes it."""
    return {field.name: told(field.metadata) for field in pq.read_schema(path)}


def told(metadata):
    return {key.decode(): text.decode() for key, text in metadata.items() if key != b"PARQUET:field_id"}


def expected(column):
    return {"description": in_words(column), **{key: str(column[key]) for key in FACTS if key in column}}


LOCAL = {
    "name": "visits",
    "attributes": {
        **{name: {"role": "identifying"} for name in ("mrn", "visit", "name", "discharged")},
        "age": {"role": "quasi-identifying", "hierarchy": {"builder": "age"}},
        "diagnosis": {"role": "sensitive"},
        "admitted": {"role": "insensitive"},
    },
    "unit": "record",
    "privacy": [{"model": "k-anonymity", "k": 4}],
    "suppression_limit": 0.2,
    "transformation": "local-recoding",
}
AGES = {"age": {"role": "quasi-identifying", "hierarchy": {"builder": "age"}, "maximum_level": 5}}


@pytest.mark.parametrize("changes", [{}, {"attributes": AGES}, {"local": True}], ids=["exact", "generalized", "mixed"])
def test_fields_say_what_the_codebook_says(tmp_path, changes):
    wanted = replaced_job(output={"path": str(tmp_path / "release")}, **changes) if "local" not in changes else LOCAL
    release = run(wanted, table=visits(), output=tmp_path / "release", release_id="20261123T000000Z-0123abcd").output
    columns = json.loads((release / "codebook.json").read_text())["columns"]
    assert of_fields(release / "data.parquet") == {one["column"]: expected(one) for one in columns}
    said = told(pq.read_schema(release / "data.parquet").metadata)
    today = dt.datetime.now(dt.timezone.utc).date().isoformat()
    assert (said["job"], said["release"], said["date"]) == ("visits", "20261123T000000Z-0123abcd", today)
    assert said["citation"].startswith(f"visits, release 20261123T000000Z-0123abcd, {today}; ")
    notes = {one["column"]: in_words(one) for one in columns}
    assert column_notes(release, load_job(wanted)) == notes
    (release / "codebook.json").unlink()
    assert column_notes(release, load_job(wanted)) == {}
    inside = load_job(wanted).model_copy(update={"backend": "sql"})
    assert column_notes(release, inside) == notes
    # readers without Arrow have the entries of the file
    assert pq.read_metadata(release / "data.parquet").metadata[b"job"] == b"visits"


def test_a_release_outside_of_a_share_has_no_id(tmp_path):
    release = run(replaced_job(output={"path": str(tmp_path / "release")}), table=visits()).output
    assert "release" not in told(pq.read_schema(release / "data.parquet").metadata)


def test_each_of_several_tables_says_it_of_its_columns(tmp_path):
    release = run(linked_job(output={"path": str(tmp_path / "release")}), table=tables_of(300, seed=3)).output
    tables = json.loads((release / "codebook.json").read_text())["tables"]
    for table in tables:
        assert of_fields(release / table["file"]) == {one["column"]: expected(one) for one in table["columns"]}
        assert told(pq.read_schema(release / table["file"]).metadata)["job"] == "linked"
    assert set(column_notes(release, load_job(linked_job()))) == {"table", "sex", "area", "ward", "code"}

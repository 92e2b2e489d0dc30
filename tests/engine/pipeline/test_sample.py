"""Runs that release a random sample: which records, how many, and what judges and documents say of it."""

from __future__ import annotations

import hashlib
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from engine import InvalidData, InvalidJob, load_job, run, verify
from engine.tables.altered.sampled import SampledTable
from engine.tables.sources.parquet_source import ParquetFile
from engine.tables.sources.source import ArrowTable

KEY = hashlib.sha256(b"a key of one sample").digest()


def job(fraction=0.5, **changes):
    attributes = {
        "zip": {"role": "quasi-identifying", "hierarchy": {"builder": "redaction", "length": 3}},
        "stay": {"role": "insensitive", "accept": "unique"},
    }
    document = {
        "name": "stays",
        "unit": "record",
        "attributes": attributes,
        "privacy": [{"model": "k-anonymity", "k": 4}],
        "suppression_limit": 0.2,
        "allow_empty_information": True,
        "sample": {"fraction": fraction},
        **changes,
    }
    return load_job({key: value for key, value in document.items() if value is not None})


def stays(rows=400):
    zips = np.random.default_rng(0).choice(["121", "122", "131"], rows)
    return pa.table({"zip": zips, "stay": np.arange(rows)})


def drawn(rows, fraction):
    """Return the places whose keyed hash, as a share of all hashes, is below the fraction."""

    def share(place):
        digest = hashlib.blake2b(place.to_bytes(8, "big"), key=KEY, digest_size=8).digest()
        return sum(byte / 256 ** (position + 1) for position, byte in enumerate(digest))

    return {place for place in range(rows) if share(place) < fraction}


@pytest.mark.parametrize("fraction", [0.1, 0.5, 0.9])
def test_the_records_that_the_key_draws_are_released(fraction):
    result = run(job(fraction), table=stays(), rows_key=KEY)
    assert set(result.table["stay"].to_pylist()) == drawn(400, fraction)
    assert result.report["rows"] == len(drawn(400, fraction))
    assert result.published["sample"] == {"fraction": fraction}


def test_each_reading_has_the_same_records():
    table = SampledTable(ArrowTable(stays(1000)), 0.3, KEY)
    once, again = ([batch.to_pydict() for batch in table.batches(["stay"])] for _ in range(2))
    assert once == again
    assert {place for batch in once for place in batch["stay"]} == drawn(1000, 0.3)


def test_without_a_key_two_runs_draw_two_samples():
    first, second = (set(run(job(), table=stays()).table["stay"].to_pylist()) for _ in range(2))
    assert first != second


def test_the_share_that_is_drawn_is_the_fraction():
    """Within five standard deviations."""
    table = SampledTable(ArrowTable(stays(20_000)), 0.25, KEY)
    number = sum(batch.num_rows for batch in table.batches(["stay"]))
    assert abs(number - 5000) < 5 * (20_000 * 0.25 * 0.75) ** 0.5


def test_the_estimated_uniqueness_is_of_the_fraction():
    table = stays()
    alone = run(job(0.5), table=table, rows_key=KEY).report["risk"]
    both = run(job(0.5, risk={"sampling_fraction": 0.1}), table=table, rows_key=KEY).report["risk"]
    of_sample = table.filter(pa.array([place in drawn(400, 0.5) for place in range(400)]))
    for found, fraction in ((alone, 0.5), (both, 0.05)):
        plain = run(job(sample=None, risk={"sampling_fraction": fraction}), table=of_sample).report["risk"]
        assert found == plain
        assert "estimated_population_uniqueness" in found


def test_both_of_a_wrong_number_and_a_wrong_statement_are_found():
    table, this = stays(), job()
    result = run(this, table=table, rows_key=KEY)

    def failing(report, **key):
        findings = verify(result.table, this, report, source=table, **key)
        return {finding.check for finding in findings if not finding.holds}

    assert not failing(result.report)
    assert not failing(result.report, rows_key=KEY)
    assert "sample" in failing(result.report, rows_key=b"another key".ljust(32))
    assert "sample" in failing({**result.report, "sample": {"fraction": 0.6}})
    without = {key: value for key, value in result.report.items() if key != "sample"}
    assert "sample" in failing(without)


def test_documents_for_readers_say_that_it_is_a_sample(tmp_path):
    run(job(0.25), table=stays(), output=tmp_path / "release", rows_key=KEY)
    text = (tmp_path / "release" / "README.md").read_text()
    assert "The records are a random sample, each drawn with probability 0.25" in text
    assert json.loads((tmp_path / "release" / "codebook.json").read_text())["sample"] == 0.25
    files = [path.read_bytes() for path in (tmp_path / "release").iterdir()]
    assert not any(KEY in content or KEY.hex().encode() in content for content in files)


def test_a_sample_of_too_few_records_ends_the_run():
    with pytest.raises(InvalidData, match=r"sample\.fraction: .* a class must have 4; raise the fraction of 0\.001"):
        run(job(0.001), table=stays(), rows_key=KEY)


def test_in_a_parquet_file_that_is_known_before_a_record_is_read(tmp_path, monkeypatch):
    pq.write_table(stays(), tmp_path / "stays.parquet")
    monkeypatch.setattr(ParquetFile, "batches", lambda *_: pytest.fail("a record was read"))
    document = {**job(0.001).document(), "source": {"path": str(tmp_path / "stays.parquet")}}
    with pytest.raises(InvalidData, match=r"sample\.fraction: .* a class must have 4; raise the fraction of 0\.001"):
        run(document, rows_key=KEY)


@pytest.mark.parametrize("fraction", [0, 1, -0.5, 1.5, True, "0.5"])
def test_a_fraction_out_of_range_is_refused(fraction):
    with pytest.raises(InvalidJob, match=r"sample\.fraction"):
        job(fraction)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"suppress": "small-classes"}, "suppress: small-classes"),
        ({"privacy": [{"model": "k-map", "k": 3, "subset": "some.csv"}]}, "a subset"),
        ({"backend": "sql"}, "sample"),
    ],
)
def test_what_does_not_go_with_a_sample_is_refused(changes, words):
    with pytest.raises(InvalidJob, match=words):
        job(**changes)


@pytest.mark.parametrize("name", ["rows_key", "release_key"])
@pytest.mark.parametrize("key", [b"", b"x", bytes(31), bytes(33), "0" * 32])
def test_a_key_that_is_too_short_to_be_random_is_refused(name, key):
    """An empty one was taken for none, and one of a byte is guessed by 256 draws of the sample."""
    with pytest.raises(InvalidJob, match=rf"{name}: must be 32 random bytes, such as secrets\.token_bytes\(32\) makes"):
        run(job(), table=stays(), **{name: key})

"""Pseudonyms against HMAC written out from RFC 2104, and what an attacker without the key can do with them."""

from __future__ import annotations

import hashlib
import hmac

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.tables.altered.pseudonyms import PseudonymizedTable, pseudonym_key
from engine.tables.derived_keys import derived_key, key_id
from engine.tables.sources.source import ArrowTable
from tests.profiles import examples, thorough
from tests.reference import pseudonyms as reference

SECRET = b"0123456789abcdef0123456789abcdef"


def made(values, secret=SECRET, job="visits", family="mrn"):
    source = ArrowTable(pa.table({"mrn": values, "age": pa.array(range(len(values)))}))
    table = PseudonymizedTable(source, {"mrn": pseudonym_key(secret, job, family)})
    assert table.schema.field("mrn").type == pa.string()
    return [one for batch in table.batches(["age", "mrn"]) for one in batch.column("mrn").to_pylist()]


@settings(max_examples=examples(200), deadline=None)
@given(st.binary(min_size=32, max_size=80), st.lists(st.text(max_size=9) | st.none(), max_size=20), st.text(min_size=1))
def test_they_are_those_of_the_definition(secret, values, family):
    expected = [reference.pseudonym(secret, "visits", family, one) if one and one.strip() else None for one in values]
    assert made(pa.array(values, pa.string()), secret, "visits", family) == expected
    assert key_id(secret) == reference.key_id(secret)


def test_the_reference_is_the_standard_one():
    """RFC 4231, test case 2; and a key longer than a block."""
    assert reference.hmac_sha256(b"Jefe", b"what do ya want for nothing?").hex().startswith("5bdcc146bf60754e")
    assert reference.hmac_sha256(b"k" * 100, b"text") == hmac.digest(b"k" * 100, b"text", "sha256")


def test_a_number_and_its_text_have_one_pseudonym_whatever_encodes_them():
    numbers, texts = pa.array([7, 8, None, 7]), pa.array(["7", "8", None, "7"])
    assert made(numbers) == made(texts) == made(texts.dictionary_encode()) == made(texts.cast(pa.large_string()))
    assert made(numbers)[2] is None


def test_jobs_families_and_keys_are_apart():
    found = {
        made(["4711"], secret, job, family)[0]
        for secret in (SECRET, SECRET[::-1])
        for job in ("visits", "labs")
        for family in ("mrn", "mother")
    }
    assert len(found) == 8


def test_no_two_purposes_are_alike():
    """The lengths of the parts are in what is hashed: ("ab", "c") is not ("a", "bc")."""
    assert derived_key(SECRET, "ab", "c") != derived_key(SECRET, "a", "bc")


def test_a_small_space_of_numbers_is_found_from_a_plain_hash_and_not_from_pseudonyms():
    """All record numbers of six digits, tried as an attacker can who has code and release, and knows the job."""
    numbers = [str(number) for number in (104711, 200003, 999999)]
    space = [f"{number:06}" for number in range(10**6)]
    hashed = {hashlib.sha256(number.encode()).digest()[:16].hex() for number in numbers}
    found = {one for one in space if hashlib.sha256(one.encode()).digest()[:16].hex() in hashed}
    assert found == set(numbers)
    released = set(made(numbers))
    guesses = [b"", b"visits", bytes.fromhex(key_id(SECRET))]
    for guess in guesses if thorough() else guesses[:1]:
        key = pseudonym_key(guess, "visits", "mrn")
        assert not [one for one in space if hmac.digest(key, one.encode(), "sha256")[:16].hex() in released]

"""Values: what they look like, whatever the column's name is."""

from __future__ import annotations

import uuid

import pytest

from engine.identifiers.values import kind_of_values

FOUND = {
    "email": ["a@example.org", "b.c@x.co.uk", "d+e@mail.ch", "f@g.de"],
    "url": ["https://example.org/a", "http://x.org", "www.example.org/b"],
    "ip-address": ["10.0.0.1", "192.168.1.77", "2001:db8::1"],
    "social-security-number": ["123-45-6789", "078-05-1120", "219-09-9999"],
    "phone": ["(617) 555-0199", "617-555-0134", "+41 44 268 12 34", "044 268 12 34"],
    "record-number": [str(uuid.UUID(int=number)) for number in range(5)],
    "device-number": ["00:1B:44:11:3A:B7", "00:1B:44:11:3A:B8", "00-1B-44-11-3A-B9"],
    "account-number": ["DE89 3704 0044 0532 0130 00", "CH9300762011623852957", "GB29NWBK60161331926819"],
    "photograph": ["a1.jpg", "b2.PNG", "ct_3.dcm"],
    "free-text": [
        f"The patient number {n} came in the morning and complained of pain in the left arm" for n in range(4)
    ],
}


@pytest.mark.parametrize("kind", FOUND)
def test_values_tell_the_kind(kind):
    assert kind_of_values(FOUND[kind]) == kind


def test_a_card_number_is_told_by_its_check_digit():
    assert kind_of_values(["4111111111111111", "5500005555555559", "340000000000009"]) == "account-number"
    assert kind_of_values(["4111111111111112", "5500005555555558", "340000000000008"]) is None


@pytest.mark.parametrize(
    "values",
    [
        ["1", "2", "3", "250"],
        ["02139", "94110", "10001"],
        ["2026-03-01", "2026-03-02", "2026-03-03"],
        ["E11.65", "I10", "J45.909"],
        ["1.5", "2.5", "10.25", "7.0"],
        ["12:30", "13:45", "14:00"],
        ["male", "female", "other"],
        ["120/80", "135/85", "110-70"],
        ["a@example.org", "b@example.org"],
    ],
)
def test_other_values_tell_nothing(values):
    assert kind_of_values(values) is None


def test_some_may_be_mistyped():
    assert kind_of_values([*(f"a{n}@example.org" for n in range(9)), "none"]) == "email"
    assert kind_of_values([*(f"a{n}@example.org" for n in range(8)), "none", "unknown"]) is None

"""ZIP codes: each belongs to one city of one state."""

from __future__ import annotations

from collections import defaultdict

import pytest

from airflow_anon.demo.geography import places


def test_codes_are_unique_with_five_digits_and_shares_add_up():
    listed = places()
    assert len(set(listed.zip.tolist())) == len(listed.zip)
    assert {len(code) for code in listed.zip.tolist()} == {5}
    assert all(code.isdigit() for code in listed.zip.tolist())
    assert listed.weight.sum() == pytest.approx(1)


def test_the_first_digits_fit_the_state():
    # Ranges of the United States Postal Service.
    ranges = {
        "MA": (10, 27),
        "RI": (28, 29),
        "NH": (30, 38),
        "ME": (39, 49),
        "VT": (50, 59),
        "NY": (100, 149),
        "NM": (870, 884),
    }
    listed = places()
    for code, state in zip(listed.zip.tolist(), listed.state.tolist(), strict=True):
        first, last = ranges[state]
        assert first <= int(code[:3]) <= last


def test_a_village_name_stands_for_one_place_in_its_state():
    listed, codes = places(), defaultdict(set)
    for code, city, state in zip(listed.zip.tolist(), listed.city.tolist(), listed.state.tolist(), strict=True):
        codes[city, state].add(code[:3])
    assert all(len(prefixes) == 1 for prefixes in codes.values())


def test_prefixes_below_the_safe_harbor_limit_are_small():
    # 20,000 of the roughly nine million people that the listed prefixes have.
    listed = places()
    share = dict.fromkeys(("036", "059", "878", "879", "884", "021"), 0.0)
    for code, weight in zip(listed.zip.tolist(), listed.weight.tolist(), strict=True):
        if code[:3] in share:
            share[code[:3]] += weight
    assert share.pop("021") > 0.05
    assert all(0 < part < 20_000 / 9_000_000 for part in share.values())

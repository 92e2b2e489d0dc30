"""Postcodes: the parts of real codes of each country, and what is no code."""

from __future__ import annotations

from typing import get_args

import pytest

from engine.errors import InvalidJob
from engine.hierarchy.builders.postcode import Country

CODES = {
    "AU": ("2000", ["200", "20", "2"]),
    "BR": ("01310-100", ["01310", "01", "0"]),
    "CA": ("k1a 0b1", ["K1A", "K"]),
    "CH": ("8032", ["803", "80", "8"]),
    "DE": ("01067", ["010", "01", "0"]),
    "ES": ("28013", ["280", "28"]),
    "FR": ("75008", ["750", "75"]),
    "GB": ("SW1A 1AA", ["SW1A 1", "SW1A", "SW"]),
    "IE": ("D02 AF30", ["D02", "D"]),
    "IN": ("110001", ["110", "11", "1"]),
    "IT": ("00118", ["001", "00", "0"]),
    "JP": ("100-0001", ["100", "10", "1"]),
    "NL": ("1012 AB", ["1012", "10", "1"]),
    "PL": ("00-950", ["009", "00", "0"]),
    "PT": ("1100-053", ["1100", "11", "1"]),
    "SE": ("114 55", ["114", "11", "1"]),
}


def test_each_country_has_an_example():
    assert set(CODES) == set(get_args(Country))


@pytest.mark.parametrize("country", CODES)
def test_the_parts_of_a_code(build, rows_of, country):
    code, parts = CODES[country]
    assert rows_of(build(builder="postcode", country=country), [code]) == [(code, *parts, "*")]


@pytest.mark.parametrize("code", ["M1 1AE", "B33 8TH", "CR2 6XH", "DN55 1PT", "W1A 0AX", "EC1A 1BB", "w1a0ax"])
def test_british_codes_of_every_length(build, rows_of, code):
    """The forms of the Royal Mail's Programmers' Guide."""
    ((_, sector, district, area, _),) = rows_of(build(builder="postcode", country="GB"), [code])
    compact = code.upper().replace(" ", "")
    assert (sector.replace(" ", ""), district) == (compact[:-2], compact[:-3])
    assert area == "".join(letter for letter in district[:2] if letter.isalpha())


@pytest.mark.parametrize(("country", "value"), [("GB", "12345"), ("DE", "1067"), ("NL", "0123 AB"), ("CA", "KK1 0B1")])
def test_what_is_no_code_has_no_row(build, rows_of, country, value):
    assert rows_of(build(builder="postcode", country=country), [value, ""]) == []


def test_an_unknown_country(build):
    with pytest.raises(InvalidJob, match="country"):
        build(builder="postcode", country="US")

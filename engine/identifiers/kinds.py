"""The kinds of identifiers of HIPAA Safe Harbor, 45 CFR 164.514(b)(2)(i), letters (A) to (R), as columns hold them.

In: nothing. Out: a name for each kind, and what is said of a column of it.
"""

from __future__ import annotations

from typing import Literal

Kind = Literal[
    "name",
    "address",
    "zip",
    "birth-date",
    "date",
    "phone",
    "email",
    "social-security-number",
    "record-number",
    "insurance-number",
    "account-number",
    "licence-number",
    "vehicle-number",
    "device-number",
    "url",
    "ip-address",
    "biometric",
    "photograph",
    "free-text",
]

WORDS: dict[Kind, str] = {
    "name": "names",
    "address": "addresses",
    "zip": "postcodes",
    "birth-date": "dates of birth",
    "date": "dates",
    "phone": "phone or fax numbers",
    "email": "e-mail addresses",
    "social-security-number": "social security or national identity numbers",
    "record-number": "numbers of a person or record",
    "insurance-number": "numbers of an insurance",
    "account-number": "account numbers",
    "licence-number": "numbers of a certificate or licence",
    "vehicle-number": "numbers of a vehicle",
    "device-number": "numbers of a device",
    "url": "web addresses",
    "ip-address": "IP addresses",
    "biometric": "biometric identifiers",
    "photograph": "photographs",
    "free-text": "free text, which may name somebody",
}

COARSENED: frozenset[Kind] = frozenset({"zip", "birth-date", "date"})
"""Kinds that a release may hold when they are generalized; all others stay in the source."""

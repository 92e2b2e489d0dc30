"""Names, addresses and numbers that belong to nobody, but that a leak test can recognize.

Names are made of syllables and have at least six letters, so none of them occurs in released data by chance; telephone
numbers use the exchange 555, SSN-like numbers the range 9xx, which is never issued, and mail addresses the reserved
domain example.org.
"""

from __future__ import annotations

import numpy as np

_GIVEN = (
    "Mar Kel Jor Bren Tor Lys Dan Fen Gar Hol Isa Jul Kas Lor Mil Nor Osk Pel Quin Ros Sel Tam Ulr Ver Wil Yas Zel Alv",
    "a e i o u ai ia",
    "drin lynn mund stra vard line belle nette ssa rick thea wyn bert dora",
)
_FAMILY = (
    "Bran Cald Dorn Eld Grem Hask Ing Jask Krav Lind Mork Nagl Ost Pren Quar Rusk Stav Thal Uld Vand Wex Yarr Zorn",
    "a e i o u al en or is am",
    "berg dottir feld gaard holm kamp lund mann nova owski quist rath sson tzky vik wald yama zetti",
)
_STREETS = """
    Abbey Acorn Anchor Arbor Bayberry Beacon Bluff Canal Chapel Chestnut Church Cobbler Colonial Depot Dogwood Ferry
    Foundry Garden Grange Harbor Highland Hillcrest Juniper Kettle Lantern Liberty Lincoln Linden Main Meadow
    Meetinghouse Orchard Park Pearl Pleasant Pond Prospect Quarry River School Spring Summit Tannery Union Walnut
    Washington Water Willow Windmill Wright
""".split()  # noqa: SIM905 (a list of this length would take a page)
_STREET_TYPES = ("Street", "Street", "Road", "Road", "Avenue", "Lane", "Drive", "Court")


def _combinations(syllables: tuple[str, str, str]) -> list[str]:
    first, middle, last = (part.split() for part in syllables)
    return [f"{a}{b}{c}" for a in first for b in middle for c in last]


def _draw(names: list[str], count: int, rng: np.random.Generator) -> list[str]:
    # A mild Zipf law: a few names are common, most are rare.
    weight = (rng.permutation(len(names)) + 20.0) ** -0.8
    return [names[index] for index in rng.choice(len(names), count, p=weight / weight.sum())]


def given_names(count: int, rng: np.random.Generator) -> list[str]:
    """Draw `count` given names."""
    return _draw(_combinations(_GIVEN), count, rng)


def family_names(count: int, rng: np.random.Generator) -> list[str]:
    """Draw `count` family names."""
    return _draw(_combinations(_FAMILY), count, rng)


def street_addresses(count: int, rng: np.random.Generator) -> list[str]:
    """Draw `count` street addresses such as `412 Chapel Lane`."""
    numbers = rng.integers(1, 2500, count).tolist()
    streets = rng.integers(0, len(_STREETS), count).tolist()
    types = rng.integers(0, len(_STREET_TYPES), count).tolist()
    return [f"{n} {_STREETS[s]} {_STREET_TYPES[t]}" for n, s, t in zip(numbers, streets, types, strict=True)]


def record_numbers(count: int, rng: np.random.Generator) -> list[str]:
    """Draw `count` distinct medical record numbers such as `MRN-48213377`."""
    return [f"MRN-{number}" for number in rng.choice(90_000_000, count, replace=False) + 10_000_000]


def social_security_like_numbers(count: int, rng: np.random.Generator) -> list[str]:
    """Draw `count` distinct numbers in the form of an SSN, all in the range 9xx."""
    drawn = (rng.choice(100_000_000, count, replace=False) + 900_000_000).astype(str).tolist()
    return [f"{digits[:3]}-{digits[3:5]}-{digits[5:]}" for digits in drawn]


def telephone_numbers(area_codes: list[str], rng: np.random.Generator) -> list[str]:
    """Draw a telephone number for each area code, such as `617-555-0142`."""
    return [
        f"{area}-555-{number:04d}"
        for area, number in zip(area_codes, rng.integers(0, 10_000, len(area_codes)), strict=True)
    ]


def mail_addresses(given: list[str], family: list[str], rng: np.random.Generator) -> list[str]:
    """Make a distinct mail address for each name."""
    numbers = rng.permutation(len(given)).tolist()
    return [f"{g}.{f}{n}@example.org".lower() for g, f, n in zip(given, family, numbers, strict=True)]

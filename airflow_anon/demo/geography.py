"""The places of the patients: ZIP codes of seven states, from a few large cities to villages of a few people.

Three-digit prefix, state, principal city, county and the prefix's population in thousands (2020 census, rounded) are
real, because the Safe Harbor rule counts people by prefix; 036, 059, 878, 879 and 884 are among those below 20,000.
The five-digit codes below a prefix and the villages are invented.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

RACES = (
    ("White", 8527),
    ("Black or African American", 8516),
    ("Asian", 8515),
    ("American Indian or Alaska Native", 8657),
    ("Native Hawaiian or Other Pacific Islander", 8557),
    ("Other Race", 8522),
)
"""Name and OMOP concept of each race, in the order of the shares of `MIXES`."""


class Mix(NamedTuple):
    """Shares of the races, and the share of Hispanic or Latino people among them."""

    races: tuple[float, ...]
    hispanic: float


MIXES = {
    "metro": Mix((0.560, 0.180, 0.110, 0.0040, 0.0010, 0.1450), 0.20),
    "urban": Mix((0.740, 0.080, 0.040, 0.0030, 0.0005, 0.1365), 0.15),
    "rural": Mix((0.945, 0.012, 0.011, 0.0040, 0.0004, 0.0276), 0.02),
    "southwest": Mix((0.720, 0.030, 0.020, 0.0500, 0.0010, 0.1790), 0.45),
    "tribal": Mix((0.300, 0.010, 0.010, 0.6000, 0.0010, 0.0790), 0.12),
}

AREA_CODES = {"MA": "617", "RI": "401", "NH": "603", "ME": "207", "VT": "802", "NY": "518", "NM": "505"}

# state: prefix, principal city, county, thousands of people, mix
_PREFIXES = {
    "MA": """
        010 Chicopee Hampden 300 urban; 011 Springfield Hampden 155 metro; 012 Pittsfield Berkshire 125 rural;
        013 Greenfield Franklin 78 rural; 014 Fitchburg Worcester 210 urban; 015 Shrewsbury Worcester 280 urban;
        016 Worcester Worcester 195 metro; 018 Lowell Middlesex 620 urban; 019 Lynn Essex 500 urban;
        021 Boston Suffolk 950 metro; 024 Newton Middlesex 480 urban; 025 Falmouth Barnstable 130 rural;
        026 Hyannis Barnstable 170 rural; 027 New_Bedford Bristol 420 urban""",
    "RI": "028 Warwick Kent 550 urban; 029 Providence Providence 300 metro",
    "NH": """
        030 Nashua Hillsborough 400 urban; 031 Manchester Hillsborough 110 urban; 032 Laconia Belknap 130 rural;
        033 Concord Merrimack 60 rural; 034 Keene Cheshire 90 rural; 035 Littleton Grafton 40 rural;
        036 Charlestown Sullivan 16 rural; 037 Lebanon Grafton 80 rural; 038 Portsmouth Rockingham 290 rural""",
    "ME": """
        040 Biddeford York 290 rural; 041 Portland Cumberland 105 urban; 042 Lewiston Androscoggin 160 rural;
        043 Augusta Kennebec 80 rural; 044 Bangor Penobscot 170 rural; 045 Bath Sagadahoc 65 rural;
        046 Ellsworth Hancock 75 rural; 047 Presque_Isle Aroostook 60 rural; 048 Rockland Knox 38 rural;
        049 Waterville Kennebec 130 rural""",
    "VT": """
        050 Hartford Windsor 55 rural; 051 Bellows_Falls Windham 30 rural; 052 Bennington Bennington 36 rural;
        053 Brattleboro Windham 45 rural; 054 Burlington Chittenden 220 urban; 056 Montpelier Washington 85 rural;
        057 Rutland Rutland 75 rural; 058 St._Johnsbury Caledonia 55 rural; 059 Canaan Essex 2 rural""",
    "NY": """
        122 Albany Albany 120 metro; 123 Schenectady Schenectady 160 urban; 128 Glens_Falls Warren 180 rural;
        129 Plattsburgh Clinton 150 rural; 132 Syracuse Onondaga 230 metro; 136 Watertown Jefferson 230 rural""",
    "NM": """
        871 Albuquerque Bernalillo 560 southwest; 873 Gallup McKinley 80 tribal; 874 Farmington San_Juan 120 tribal;
        875 Santa_Fe Santa_Fe 230 southwest; 877 Las_Vegas San_Miguel 50 southwest; 878 Socorro Socorro 19 southwest;
        879 Truth_or_Consequences Sierra 18 southwest; 880 Las_Cruces Doña_Ana 270 southwest;
        882 Roswell Chaves 190 southwest; 884 Tucumcari Quay 15 southwest""",
}

_STEMS = """
    Alder Amber Arden Ash Aspen Barley Beech Birch Bramble Briar Cedar Clover Copper Crane Dell Elder Elm Falcon Fern
    Flint Fox Granite Hazel Heather Heron Holly Iron Ivy Juniper Kestrel Lake Larch Laurel Lin Maple Marsh Mill Moss
    Oak Otter Pine Quarry Raven Reed Rowan Sand Sedge Slate Stone Swan Tamarack Thistle Thorn Vale Willow Winter Wood
""".split()  # noqa: SIM905 (a list of this length would take a page)
_ENDINGS = """
    ford field bury ville ton ham wick dale gate mere stead bridge port haven ridge brook _Falls _Mills _Corner
    _Hollow _Junction _Landing _Center _Springs _Notch _Crossing _Flats _Point _Harbor _Plains _Bend _Heights
""".split()  # noqa: SIM905 (a list of this length would take a page)


class Places(NamedTuple):
    """ZIP codes as parallel arrays of one dimension.

    `weight` is a place's share of all people (float64, sum 1), `mix` names an entry of `MIXES`; the others are text.
    """

    zip: np.ndarray
    city: np.ndarray
    county: np.ndarray
    state: np.ndarray
    mix: np.ndarray
    weight: np.ndarray


def _village(number: int) -> str:
    # Steps of one stem and five endings: neighbours differ in both, and a pair comes back only after 1824 villages.
    stem, ending = number % len(_STEMS), (number // len(_STEMS) + number * 5) % len(_ENDINGS)
    return (_STEMS[stem] + _ENDINGS[ending]).replace("_", " ")


def _prefixes() -> list[tuple[str, str, str, str, int, str]]:
    rows = []
    for state, block in _PREFIXES.items():
        for line in block.split(";"):
            prefix, city, county, thousands, mix = line.split()
            rows.append((state, prefix, city.replace("_", " "), county.replace("_", " "), int(thousands), mix))
    return rows


def places() -> Places:
    """List all ZIP codes; within a prefix the people fall steeply from its city's first code to its last village."""
    rows: list[tuple[str, str, str, str, str, float]] = []
    villages = 0
    for state, prefix, principal, county, thousands, mix in _prefixes():
        count = round(6 + 2.2 * thousands**0.5)
        in_city = 1 + count // 4
        shares = (np.arange(count) + 4.0) ** -2.2
        shares *= thousands / shares.sum()
        for rank in range(count):
            city = principal
            if rank >= in_city:
                city = _village(villages)
                villages += 1
            # 7 has no factor in common with 99, so no code comes twice.
            rows.append((f"{prefix}{rank * 7 % 99 + 1:02d}", city, county, state, mix, shares[rank]))
    *texts, people = (np.array(column) for column in zip(*rows, strict=True))
    return Places(*texts, weight=people / people.sum())

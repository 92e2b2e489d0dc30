"""The shapes of simulated populations: number of people and ZIP codes, areas, races.

Three shapes have no model; ten resemble the states of Xia et al., R-U policy frontiers for health data
de-identification, JAMIA 22:1029, 2015, section Materials. Their numbers of people and ZIP codes and their shares of
races have the size that the United States census of 2010 found for the whole state; everything within a state is
simulated.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

RACES = ("Amer-Indian-Eskimo", "Asian-Pac-Islander", "Black", "Other", "White")
"""As in the adult table; shares of races are in this order."""

SEXES = ("Female", "Male")


@dataclass(frozen=True)
class Shape:
    """A state to simulate.

    Attributes
    ----------
    persons : int
        Default number of people.
    zips : int
        ZIP codes, at most 100 in each three-digit area.
    areas : range
        Three-digit areas, as numbers: 10 is 010.
    races : tuple of float
        Shares in the state, in the order of `RACES`.
    small_areas : tuple of int
        Areas with 20,000 people or fewer, independent of the size of the state.
    spread : float
        Standard deviation of the logarithm of a ZIP code's people.
    mixing : float
        Concentration of the Dirichlet distribution around the state's shares of races from which those of a ZIP code
        are drawn: the lower it is, the more ZIP codes have only one race.
    """

    persons: int
    zips: int
    areas: range
    races: tuple[float, float, float, float, float]
    small_areas: tuple[int, ...] = ()
    spread: float = 1.3
    mixing: float = 4.0


_MODELLESS: Mapping[str, Shape] = {
    "urban": Shape(5_000_000, 500, range(600, 616), (0.004, 0.08, 0.24, 0.126, 0.55), (607,), 1.0, 2.5),
    "rural": Shape(1_000_000, 400, range(570, 582), (0.04, 0.01, 0.02, 0.02, 0.91), (573, 577), 1.6, 10.0),
    "hawaii": Shape(1_400_000, 95, range(967, 970), (0.003, 0.56, 0.017, 0.17, 0.25), (969,), 1.2, 8.0),
}

_STATES: Mapping[str, Shape] = {
    "HI": Shape(1_360_000, 95, range(967, 969), (0.003, 0.56, 0.016, 0.174, 0.247), (), 1.2, 8.0),
    "IL": Shape(12_830_000, 1_380, range(600, 630), (0.003, 0.046, 0.145, 0.091, 0.715), (), 1.5, 3.0),
    "MA": Shape(6_550_000, 540, range(10, 28), (0.003, 0.053, 0.066, 0.074, 0.804), (), 1.1, 5.0),
    "MN": Shape(5_300_000, 880, range(550, 568), (0.011, 0.04, 0.052, 0.044, 0.853), (556,), 1.6, 6.0),
    "NY": Shape(19_380_000, 1_790, range(100, 150), (0.006, 0.074, 0.159, 0.104, 0.657), (102,), 1.6, 3.0),
    "OH": Shape(11_540_000, 1_200, range(430, 459), (0.002, 0.017, 0.122, 0.032, 0.827), (), 1.3, 3.0),
    "PA": Shape(12_700_000, 1_800, range(150, 197), (0.002, 0.028, 0.108, 0.043, 0.819), (), 1.5, 3.0),
    "TN": Shape(6_350_000, 630, range(370, 386), (0.003, 0.015, 0.167, 0.039, 0.776), (), 1.2, 3.0),
    "WA": Shape(6_720_000, 600, range(980, 995), (0.015, 0.078, 0.036, 0.098, 0.773), (), 1.4, 8.0),
    "WI": Shape(5_690_000, 770, range(530, 550), (0.01, 0.023, 0.063, 0.042, 0.862), (), 1.4, 4.0),
}

STATES: tuple[str, ...] = tuple(_STATES)
"""The shapes that resemble a state."""

SHAPES: Mapping[str, Shape] = {**_MODELLESS, **_STATES}
"""Shapes by name."""

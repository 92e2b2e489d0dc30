"""Checks that a job's levels nest: each a function of the one below."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from decimal import Decimal
from typing import TypeVar

Width = TypeVar("Width", int, Decimal)


def check_multiples(widths: Sequence[Width]) -> None:
    """Check that bands of each width are unions of bands of the width before.

    Parameters
    ----------
    widths : sequence of int or Decimal
        Above 0, finest first; bands of one width start at multiples of it.

    Raises
    ------
    ValueError
        A width is not a multiple, 2 or more, of the one before.
    """
    for position, (fine, coarse) in enumerate(itertools.pairwise(widths), start=1):
        if coarse <= fine or coarse % fine != 0:
            raise ValueError(
                f"widths.{position} is {coarse}; it must be a multiple of widths.{position - 1}, {fine}, and larger, "
                f"such as {2 * fine}"
            )


def check_coarser(levels: Sequence[str], units: Sequence[str]) -> None:
    """Check that units follow each other from fine to coarse.

    Parameters
    ----------
    levels : sequence of str
        Units of level 1, 2, ..., all of them in `units`.
    units : sequence of str
        Every unit, finest first.

    Raises
    ------
    ValueError
        A unit is not coarser than the one before.
    """
    for position, (fine, coarse) in enumerate(itertools.pairwise(levels), start=1):
        if units.index(coarse) <= units.index(fine):
            raise ValueError(
                f"levels.{position} is {coarse!r}; it must be coarser than {fine!r}, in the order {', '.join(units)}"
            )

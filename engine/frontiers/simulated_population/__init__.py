"""Simulated populations for measuring re-identification risk without a population table.

Only the shape of a simulated population is that of a state; none of its figures is a census figure.
"""

from __future__ import annotations

from engine.frontiers.simulated_population.generator import population, write_population
from engine.frontiers.simulated_population.residence import with_zip

__all__ = ["population", "with_zip", "write_population"]

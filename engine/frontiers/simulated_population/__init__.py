"""Simulated populations, to measure re-identification risk without a population table.

No figure of a simulated population is a census figure: only its shape is that of a state.
"""

from __future__ import annotations

from engine.frontiers.simulated_population.generator import population, write_population
from engine.frontiers.simulated_population.residence import with_zip

__all__ = ["population", "with_zip", "write_population"]

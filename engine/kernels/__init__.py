"""Compiled loops: arrays in, arrays out, no policy. They import numpy and numba, and nothing from the engine."""

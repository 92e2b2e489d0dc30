"""Boxes of the lattice, which the optimal search opens, bounds and splits."""

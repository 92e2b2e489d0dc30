"""Boxes of the lattice: what the optimal search opens, bounds and splits."""

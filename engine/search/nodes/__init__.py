"""Nodes of the lattice: the common parts of algorithms that check one transformation after another."""

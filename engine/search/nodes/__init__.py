"""Nodes of the lattice: what algorithms share that look at one transformation after the other."""

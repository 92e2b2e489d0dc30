"""The generalization lattice."""

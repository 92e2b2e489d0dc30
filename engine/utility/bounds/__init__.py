"""Lower bounds of the measures over boxes of the lattice."""

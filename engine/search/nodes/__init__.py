"""Common parts of the algorithms that check lattice nodes one after another."""

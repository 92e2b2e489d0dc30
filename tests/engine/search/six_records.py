"""Six records, three values of one attribute with two of another, for ways through a lattice that are found by hand."""

from __future__ import annotations

SIX = {
    "records": [((a, b), {"s": "x"}) for a in ("a0", "a1", "a2") for b in ("b0", "b1")],
    "hierarchies": [
        [("a0", "A", "*"), ("a1", "A", "*"), ("a2", "B", "*")],
        [("b0", "C", "*"), ("b1", "C", "*"), ("b2", "D", "*"), ("b3", "D", "*")],
    ],
    "tree": [("x", "*")],
    "limit": 0.0,
    "measure": "loss",
    "combine": "arithmetic-mean",
    "weights": [1.0, 1.0],
    "f": 0.5,
}

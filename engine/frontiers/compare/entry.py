"""A policy as the report of a frontier has it: its point, and its bits or its groups too."""

from __future__ import annotations

import math

from engine.frontiers.document import ReportedPolicy, WrittenPolicy
from engine.frontiers.measures.along_paths import Point
from engine.frontiers.measures.plane import Plane
from engine.frontiers.space.domain import Bits
from engine.frontiers.space.policy import Policy
from engine.frontiers.space.stored import stored_bits


def entry(plane: Plane, bits: Bits, point: Point) -> ReportedPolicy:
    """Return a policy and its point as in the report."""
    normalized = plane.normalized(point)
    assert all(map(math.isfinite, (*point, *normalized)))  # noqa: S101 (of a table with records every measure is)
    return {
        "risk": float(point.risk),
        "utility_loss": float(point.utility_loss),
        "normalized_risk": float(normalized.risk),
        "normalized_utility_loss": float(normalized.utility_loss),
        "bits": stored_bits(bits),
    }


def written_entry(plane: Plane, bits: Bits, point: Point) -> WrittenPolicy:
    """Return a policy, its point and its groups as in the report."""
    return {**entry(plane, bits, point), "policy": Policy(plane.space, bits).document()}

"""The margin of a privacy model that a release's report states, worked out by code of its own."""

from __future__ import annotations


def margin(required: float, sense: str, observed: float | None, *, holds: bool) -> float | None:
    """Return how much of a requirement was left, 0 to 1; None where the model holds and observed nothing.

    Parameters
    ----------
    required : float
        The bound that the recount of the model declares, in the unit of the observed figure.
    sense : {"at-least", "at-most"}
        From which side the figure must keep to it.
    """
    if observed is None and holds:
        return None
    if observed is None or not holds:
        return 0.0
    larger = observed if sense == "at-least" else required
    left = observed - required if sense == "at-least" else required - observed
    return min(max(left, 0.0), larger) / larger if larger > 0 else 0.0

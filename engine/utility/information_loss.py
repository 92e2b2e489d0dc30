"""What a measure returns: one figure, or with the rank aggregate one per attribute, compared lexicographically."""

from __future__ import annotations

InformationLoss = float | tuple[float, ...]
"""A figure, or the weighted losses of the attributes in descending order (definitions: rank)."""


def ranked(loss: InformationLoss) -> tuple[float, ...]:
    """Return a loss in the form in which any two of one measure compare: lower is better."""
    return loss if isinstance(loss, tuple) else (loss,)


def leading(loss: InformationLoss) -> float:
    """Return the figure that decides first: of ranked losses the largest."""
    return ranked(loss)[0]


def original(key: tuple[float, ...], like: InformationLoss) -> InformationLoss:
    """Return a ranked loss in the form of another."""
    return key if isinstance(like, tuple) else key[0]

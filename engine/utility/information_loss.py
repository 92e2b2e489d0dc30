"""What a measure returns: one figure, or with the rank aggregate one per attribute, compared lexicographically."""

from __future__ import annotations

InformationLoss = float | tuple[float, ...]
"""A figure, or the weighted losses of the attributes in descending order (definitions: rank)."""


def ranked(loss: InformationLoss) -> tuple[float, ...]:
    """Return a loss in a form that compares with other losses of the same measure: lower is better."""
    return loss if isinstance(loss, tuple) else (loss,)


def leading(loss: InformationLoss) -> float:
    """Return the figure that decides first: the largest of ranked losses."""
    return ranked(loss)[0]


def original(key: tuple[float, ...], like: InformationLoss) -> InformationLoss:
    """Return a ranked loss in the form of another."""
    return key if isinstance(like, tuple) else key[0]

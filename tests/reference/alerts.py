"""The slow, obvious twin of the band of usual figures: exact fractions, sorted lists, no shared code."""

from __future__ import annotations

from fractions import Fraction

PER_MAD = Fraction(14826, 10000)


def middle(figures):
    """Return the median as a fraction."""
    ordered = sorted(Fraction(figure) for figure in figures)
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def band(figures, factor, relative, absolute):
    """Return lower end, median and upper end as fractions."""
    center = middle(figures)
    spread = PER_MAD * middle([abs(Fraction(figure) - center) for figure in figures])
    half = max(Fraction(factor) * spread, Fraction(relative) * abs(center), Fraction(absolute))
    return center - half, center, center + half


def learnt_from(history, job_sha256, column, most):
    """Return the figures of the last releases since the job changed: `history` is newest first, of any outcome."""
    figures = []
    for entry in history:
        if entry.outcome != "released":
            continue
        if entry.job_sha256 != job_sha256:
            break
        if getattr(entry, column) is not None:
            figures.append(getattr(entry, column))
        if len(figures) == most:
            break
    return figures

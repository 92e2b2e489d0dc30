"""What a report says of a series, compared with the vault and the job."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from engine.verification.records.series import PersonsReleased
from engine.verification.tolerance import is_number

if TYPE_CHECKING:
    from engine.job.job import Job
    from engine.series.evidence import SeriesEvidence

_ROUNDED = 0.06
"""A published share has two digits."""
_FEWEST_BESIDE = 1000
"""Records of a file from which on shares are told beside one of few persons."""


def other_figures(
    stated: Any, job: Job, evidence: SeriesEvidence, counts: NDArray[np.int64], released: PersonsReleased
) -> Iterator[str]:
    """Name the figures of the report that are others here.

    Parameters
    ----------
    counts : int64, shape (G,)
        Persons of each group of equal traces.
    """
    if not isinstance(stated, Mapping):
        yield "series"
        return
    # reports of earlier versions lack some
    yield from (key for key, value in _known(job, evidence, released) if stated.get(key, value) != value)
    if "releases" not in stated:
        yield "releases"
    smallest = int(counts.min()) if counts.size else None
    if stated.get("smallest_trace") not in [smallest, *([None] if (smallest or 0) < job.minimum_persons else [])]:
        yield "smallest_trace"
    shares = [stated.get(f"{cause}_share") for cause in ("suppressed", "held_back", "covered")]
    if not _are_shares(shares, released, job, _gone(evidence, released)):
        yield "share of persons left out"
    assert job.series is not None  # noqa: S101 (the caller has asked)
    if job.series.departures == "keep" and not _is_kept_share(stated.get("kept_share"), shares, released, job):
        yield "kept_share"
    below = int(counts[counts < job.minimum_persons].sum())
    if job.series.departures == "report" and not _is_below_share(stated, below, shares, released, job):
        yield "below_share"


def _known(job: Job, evidence: SeriesEvidence, released: PersonsReleased) -> Iterator[tuple[str, Any]]:
    """Yield what is known without the report, by its key."""
    settings, tonight = job.series, evidence.releases[-1]
    assert settings is not None  # noqa: S101 (the caller has asked)
    yield "name", job.name if settings.begin is None else f"{job.name}/{settings.begin}"
    yield "release_id", tonight.release_id
    yield "memory", settings.memory
    yield "arrivals", settings.arrivals
    yield "departures", settings.departures
    yield "releases", len(evidence.releases)
    yield "levels_changed", _levels_changed(evidence)
    yield "max_nights", settings.most_nights if settings.departures == "keep" else None
    cohorts = None
    if tonight.cohorts is not None:
        of_released = tonight.cohorts.of_person[released.places[released.inside]]
        cohorts = {"levels": int(np.unique(of_released).size)}
    yield "cohorts", cohorts


def _levels_changed(evidence: SeriesEvidence) -> dict[str, dict[str, int]] | None:
    """Return the levels that are others than in the release before; None for the first release."""
    if len(evidence.releases) == 1:
        return None
    before, now = (dict(release.levels) for release in evidence.releases[-2:])
    return {
        name: {"before": before[name], "now": now[name]} for name in now if name in before and now[name] != before[name]
    }


def _gone(evidence: SeriesEvidence, released: PersonsReleased) -> int:
    """Count the persons of remembered releases who are neither in the source nor released."""
    there = np.zeros(evidence.ids.shape[0], np.bool_)
    for release in evidence.releases:
        there[: release.classes.size] |= release.classes >= 0
    there[released.places[released.places >= 0]] = False
    return int(there.sum())


def _are_shares(shares: list[Any], released: PersonsReleased, job: Job, gone: int) -> bool:
    """Tell whether shares of persons who are not in the release add up; those withheld are of few persons each.

    Of a small file all are withheld where one may be of few. That of covers, the last one, is withheld where few are
    gone, however many cover them.
    """
    if _are_withheld(shares, released):
        return True
    known = [share for share in shares if is_number(share)]
    withheld = shares.count(None)
    left_out, total = float(np.mean(~released.inside)) if released.inside.size else 0.0, sum(known)
    most = withheld * (_smallest(job) - 1) / max(1, released.inside.size)
    any_covers = shares[-1] is None and 0 < gone < job.minimum_persons
    return (
        len(known) + withheld == len(shares)
        and min(known, default=0.0) >= 0
        and total <= left_out * (1 + _ROUNDED) + 1e-9
        and (any_covers or total + most >= left_out * (1 - _ROUNDED) - 1e-9)
    )


def _is_kept_share(stated: Any, shares: list[Any], released: PersonsReleased, job: Job) -> bool:
    """Tell whether a share of who is kept is as it may be stated.

    It has two digits, or is withheld where it is of few persons, or with all others where those left out are few, or
    may be few by one cause.
    """
    share = released.kept_share
    if stated is None:
        few_out = shares == [None] * len(shares) and int((~released.inside).sum()) < _smallest(job)
        return few_out or _are_withheld(shares, released) or round(share * released.inside.size) < job.minimum_persons
    return is_number(stated) and abs(stated - share) <= _ROUNDED * share + 1e-9


def _is_below_share(
    stated: Mapping[str, Any], below: int, shares: list[Any], released: PersonsReleased, job: Job
) -> bool:
    """Tell whether a share of who has a trace that fails a model is as it may be stated.

    It is withheld where it is of few persons, or with all others where those left out are few. Of a job with other
    models than k-anonymity, traces of `below` persons fail by their size, and others may fail too. Reports of earlier
    versions lack it.
    """
    if "below_share" not in stated:
        return True
    told, exact = stated["below_share"], all(model.model == "k-anonymity" for model in job.privacy)
    if told is None:
        few = below < job.minimum_persons and (below > 0 or not exact)
        return shares == [None] * len(shares) or few
    share = below / max(1, released.inside.size)
    least, most = share * (1 - _ROUNDED) - 1e-9, share * (1 + _ROUNDED) + 1e-9
    return is_number(told) and least <= told <= (most if exact else 1.0)


def _are_withheld(shares: list[Any], released: PersonsReleased) -> bool:
    """Tell whether all shares of a small file are withheld: nobody sees by which cause few are left out."""
    return shares == [None] * len(shares) and int(released.inside.sum()) < _FEWEST_BESIDE


def _smallest(job: Job) -> int:
    return max(job.minimum_class_size, job.minimum_persons)

"""Alerts on attempts that somebody should look at: rules over entries of the ledger, in plain Python.

In: an entry and the earlier releases of its job. Out: alerts, as text for a person, without a value of a record and
without a share of fewer records than the job allows.

The band of usual figures is the Hampel identifier: median ± factor · 1.4826 · MAD, where MAD is the median of the
absolute deviations from the median, and 1.4826 · MAD estimates the standard deviation of a normal distribution. One
outlier among the earlier releases hardly moves it, but would move mean and standard deviation.

C. Leys, C. Ley, O. Klein, P. Bernard, L. Licata: Detecting outliers: Do not use standard deviation around the mean, use
absolute deviation around the median. Journal of Experimental Social Psychology 49(4), 2013, 764-766.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice, takewhile
from statistics import median
from typing import TYPE_CHECKING, Literal

from airflow_anon.disclosure.ledger_rows import row_figures
from airflow_anon.observe.moments import moment_words

if TYPE_CHECKING:
    from airflow_anon.ledger import Entry, Ledger
    from airflow_anon.ledger.form_parts import Reason, Series
    from airflow_anon.ledger.form_publication import Delivered

Kind = Literal[
    "refused",
    "failed",
    "tampered",
    "older",
    "margin",
    "loss",
    "suppression",
    "levels",
    "withheld",
    "recalled",
    "given-up",
    "pending",
]
RELEASED, RECALLED, GIVEN_UP = "released", "recalled", "given-up"
NOTICES = (RECALLED, GIVEN_UP)
"""Outcomes of entries that are of no run: the runs after them tell of them."""
NORMAL = 1.4826
"""Standard deviations of a normal distribution per MAD: 1 / Φ⁻¹(3/4)."""

_BANDS: tuple[tuple[Kind, str], ...] = (("loss", "information loss"), ("suppression", "share of suppressed records"))


@dataclass(frozen=True, kw_only=True)
class AlertSettings:
    """Thresholds.

    Attributes
    ----------
    margin_below : float
        Alert if the privacy margin (0 to 1) of a release is below it. 0 is off: an optimal search leaves little margin
        by design, so no value suits all jobs.
    withheld_above : float
        Alert if the share of persons (0 to 1) whom a series holds back or withholds as covers is above it. 1 is off:
        how many wait is a matter of the job's levels.
    pending_hours : float
        Alert if a publication has been pending for more hours: longer than its tries take, shorter than from one night
        to the next.
    releases : int
        Largest number of earlier releases to learn from.
    at_least : int
        With fewer releases there is no band.
    factor : float
        Half-width of the band in estimated standard deviations; 3 is what Leys et al. call very conservative.
    relative, absolute : float
        The half-width is at least this share of the median, and at least this much: if all releases were alike, the
        MAD would be 0 and every other figure outside.

    Raises
    ------
    ValueError
        A value is outside its range.
    """

    margin_below: float = 0.0
    withheld_above: float = 1.0
    pending_hours: float = 12.0
    releases: int = 20
    at_least: int = 5
    factor: float = 3.0
    relative: float = 0.1
    absolute: float = 0.01

    def __post_init__(self) -> None:
        _check("margin_below", self.margin_below, 0, 1)
        _check("withheld_above", self.withheld_above, 0, 1)
        _check("pending_hours", self.pending_hours, 0, math.inf)
        _check("at_least", self.at_least, 1, math.inf)
        _check("releases", self.releases, self.at_least, math.inf)
        for name in ("factor", "relative", "absolute"):
            _check(name, getattr(self, name), 0, math.inf)


def _check(name: str, value: float, lowest: float, highest: float) -> None:
    if not lowest <= value <= highest:
        allowed = f"at least {lowest}" if highest == math.inf else f"{lowest} to {highest}"
        raise ValueError(f"{name} is {value!r}, must be {allowed}")


@dataclass(frozen=True)
class Alert:
    """A reason to look at an attempt.

    Attributes
    ----------
    kind : str
        One of `Kind`.
    text : str
        One sentence, plain text; it may hold names from a job, so a page must escape it.
    what : str
        The part of it that does not name job, DAG and run.
    job : str or None
        None if no entry names it.
    sequence : int or None
        The ledger's entry; None if there is none.
    """

    kind: Kind
    text: str
    what: str
    job: str | None = None
    sequence: int | None = None


@dataclass(frozen=True)
class Band:
    """The usual range of a figure, both ends included."""

    lower: float
    center: float
    upper: float


def band_of(figures: Sequence[float], settings: AlertSettings) -> Band:
    """Return the band of figures: median ± the half-width of the settings; there must be at least one figure."""
    center = median(figures)
    deviation = NORMAL * median(abs(figure - center) for figure in figures)
    half = max(settings.factor * deviation, settings.relative * abs(center), settings.absolute)
    return Band(center - half, center, center + half)


def alerts_of(
    entry: Entry,
    earlier: Iterable[Entry],
    settings: AlertSettings | None = None,
    *,
    smallest: int | None,
    reason: Reason | None = None,
    delivered: Delivered | None = None,
    series: Series | None = None,
    notices: Iterable[Entry] = (),
) -> list[Alert]:
    """Judge one attempt.

    Parameters
    ----------
    entry : Entry
    earlier : iterable of Entry
        Releases of the same job before it, newest first. The band is learnt from those since the job's last change, by
        its SHA-256; a release whose figure is missing or withheld is skipped.
    settings : AlertSettings, optional
    smallest : int or None
        The smallest class that the job allows; if None, no share of records is shown.
    reason : Reason, optional
        Why there is no release, from the attempt's document.
    delivered : Delivered, optional
        What readers had before it, from the attempt's document.
    series : Series, optional
        Its series, from the attempt's document; withheld shares make no alert.
    notices : iterable of Entry, optional
        Recalls of the job, and shares of it that were given up, of which the ones after the release before this attempt
        are told. They are of no run, so the runs after them tell of them until one has released.
    """
    if entry.outcome in NOTICES:
        return [_notice(entry)]
    settings = settings or AlertSettings()
    before = list(_releases(earlier))
    notices = list(notices)
    since = max((one.sequence for one in before if one.dag_id == entry.dag_id), default=0)
    found = [_notice(one) for one in notices if one.sequence > since]
    found += [] if delivered is None else _tampered(entry, delivered)
    if entry.outcome != RELEASED:
        return [_unreleased(entry, reason), *found]
    same = takewhile(lambda one: one.job_sha256 == entry.job_sha256, before)
    nights = [] if series is None else _nights(entry, series, settings)
    found += _older(entry, before, notices)
    return [*found, *_margin(entry, settings), *_outside(entry, list(same), settings, smallest), *nights]


def _releases(entries: Iterable[Entry]) -> Iterable[Entry]:
    return (entry for entry in entries if entry.outcome == RELEASED)


def notices_of(entry: Entry, entries: Iterable[Entry]) -> list[Entry]:
    """Return the notices among entries that are of the same job and DAG as an attempt, oldest first."""
    found = [one for one in entries if one.outcome in NOTICES and one.job == entry.job and one.dag_id == entry.dag_id]
    return sorted(found, key=lambda one: one.sequence)


def notices_in(ledger: Ledger, entry: Entry) -> list[Entry]:
    """Return the same of a ledger.

    Raises
    ------
    LedgerError
        The ledger cannot be read.
    """
    return notices_of(entry, [one for outcome in NOTICES for one in ledger.of_job(entry.job, outcome=outcome)])


def _notice(entry: Entry) -> Alert:
    """Tell of what was said of no run; its reason is a person's words, so it stays in the ledger and on the page."""
    return _given_up(entry) if entry.outcome == GIVEN_UP else _recalled(entry)


def _given_up(entry: Entry) -> Alert:
    happened = (
        f"releases in one of its shares were given up as gone for good on {moment_words(entry.recorded_at)}: "
        "they may still lie where they were"
    )
    text = f"Job {entry.job} (DAG {entry.dag_id}): {happened}; ledger entry {entry.sequence}"
    return Alert("given-up", text, happened, entry.job, entry.sequence)


def _recalled(entry: Entry) -> Alert:
    happened = f"was recalled on {moment_words(entry.recorded_at)}: readers do not get it any more, and may have copies"
    text = f"Job {entry.job}, release {entry.release_id} (DAG {entry.dag_id}) {happened}; ledger entry {entry.sequence}"
    return Alert("recalled", text, f"release {entry.release_id} {happened}", entry.job, entry.sequence)


def _unreleased(entry: Entry, reason: Reason | None) -> Alert:
    kind: Kind = "refused" if entry.outcome == "refused" else "failed"
    ended = "was refused" if kind == "refused" else "failed"
    if reason is None or not reason.task or not reason.message:
        return _alert(kind, entry, f"{ended}, nothing was published")
    return _alert(kind, entry, f"{ended} in task {reason.task}, nothing was published: {reason.message}")


def _tampered(entry: Entry, delivered: Delivered) -> Iterable[Alert]:
    from airflow_anon.ledger.delivery import harm_words  # noqa: PLC0415 (a DAG file imports this module)

    for harm in harm_words(delivered.model_dump()):
        yield _alert("tampered", entry, f"found a change in what readers had before it: {harm}")


def _older(entry: Entry, before: Sequence[Entry], notices: Sequence[Entry]) -> Iterable[Alert]:
    """Tell of a release that readers do not get: after a clock that ran ahead, nights are green and unread."""
    recalled = {one.release_id for one in notices if one.outcome == RECALLED}
    kept = (one.release_id or "" for one in before if one.dag_id == entry.dag_id and one.release_id not in recalled)
    newest = max(kept, default="")
    if newest > (entry.release_id or ""):
        yield _alert(
            "older", entry, f"is older than {newest}, which readers keep; if the date of that one is wrong, recall it"
        )


def _margin(entry: Entry, settings: AlertSettings) -> Iterable[Alert]:
    margin = entry.privacy_margin
    if margin is not None and margin < settings.margin_below:
        yield _alert("margin", entry, f"has the privacy margin {margin:.4g}, below {settings.margin_below:g}")


def _nights(entry: Entry, series: Series, settings: AlertSettings) -> Iterable[Alert]:
    """Judge what differs from the release before of a series, and what it costs."""
    changed = series.levels_changed or {}
    if changed:
        levels = ", ".join(f"{name} from {one.before} to {one.now}" for name, one in changed.items())
        yield _alert("levels", entry, f"has other levels than the release before: {levels}")
    share = (series.held_back_share or 0.0) + (series.covered_share or 0.0)
    if share > settings.withheld_above:
        yield _alert(
            "withheld", entry, f"holds back or withholds {share:.2g} of the persons, above {settings.withheld_above:g}"
        )


def _outside(entry: Entry, same: Sequence[Entry], settings: AlertSettings, smallest: int | None) -> Iterable[Alert]:
    if entry.job_sha256 is None:
        return
    for kind, name in _BANDS:
        figure = _figure(kind, entry, smallest)
        known = (_figure(kind, before, smallest) for before in same)
        figures = list(islice((value for value in known if value is not None), settings.releases))
        if figure is None or len(figures) < settings.at_least:
            continue
        band = band_of(figures, settings)
        if not band.lower <= figure <= band.upper:
            usual = f"{max(band.lower, 0.0):.4g} to {band.upper:.4g}, by the {len(figures)} releases before it"
            yield _alert(kind, entry, f"has the {name} {figure:.4g}, outside the usual {usual}")


def _figure(kind: Kind, entry: Entry, smallest: int | None) -> float | None:
    """Return the figure for a band; None if it is withheld or not known."""
    return entry.information_loss if kind == "loss" else row_figures(entry, smallest)["suppressed_share"]["value"]


def _alert(kind: Kind, entry: Entry, happened: str) -> Alert:
    what = f"release {entry.release_id}" if entry.outcome == RELEASED else f"attempt {entry.attempt}"
    text = f"Job {entry.job}, {what} (DAG {entry.dag_id}, run {entry.run_id}) {happened}; ledger entry {entry.sequence}"
    return Alert(kind, text, happened, entry.job, entry.sequence)

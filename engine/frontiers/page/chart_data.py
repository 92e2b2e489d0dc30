"""The data that the charts of a frontier draw, from its report.

In: the report. Out: plain lists and texts: the points with their series, and each distinct treatment of an attribute
once. A frontier has thousands of policies of hundreds of groups, most of which several policies share; each is listed
once, so the page stays small.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from engine.frontiers.document import PolicyDocument
from engine.frontiers.page.beaten import why_beaten
from engine.frontiers.page.policy_words import group_text, short_words
from engine.frontiers.space.stored import policy_reader
from engine.job.frontier_measures import RISKS, USUAL_RISK, USUAL_UTILITY, UTILITIES

STRICTER = "The figures are of the rule itself; a policy of whole groups has to be stricter"
"""The note on Safe Harbor if no policy is equal to the rule."""
DECADES = 1.5
"""The risk axis is logarithmic if risks span at least this many powers of ten."""


def chart_data(report: Mapping[str, Any]) -> dict[str, Any]:
    """Collect what a chart shows.

    Parameters
    ----------
    report : mapping
        The report of a frontier.

    Returns
    -------
    dict
        ``entries``: ``[risk, utility loss, both normalized, treatments]`` each, the frontier's first; the last is an
        index into ``treatments`` of each of ``attributes``, or null. ``series``: kind, label and the entries' places,
        and a note where the figures are not those of a policy.
        ``shortlist``: entry and reason. ``beaten``: pairs of an entry and why it is shown although another mark beats
        it. ``numbers``: pairs of an entry of another series and the number of the same policy on the frontier.
        ``attributes``: name, the groups' texts, and the treatments, each its words and its groups. ``risk``, ``loss``:
        texts of the axes. ``logarithmic``: whether the risk axis is.

    Raises
    ------
    ValueError, KeyError, TypeError, IndexError
        The report has another form.
    """
    collected = _Collected(_attributes(report), policy_reader(report))
    series = [
        {"kind": kind, "label": label, "entries": collected.add(entries), **_noted(entries)}
        for kind, label, entries in _series(report)
    ]
    placed = list(enumerate(entry for _, _, entries in _series(report) for entry in entries))
    settings = report.get("settings") or {}
    risk, loss = settings.get("risk", USUAL_RISK), settings.get("utility", USUAL_UTILITY)
    return {
        "entries": collected.entries,
        "series": [found for found in series if found["entries"]],
        "shortlist": [{"entry": chosen["index"], "why": chosen["why"]} for chosen in report.get("shortlist") or ()],
        "beaten": [[place, text] for place, entry in placed if (text := why_beaten(report, entry)) is not None],
        "numbers": [[place, entry["number"]] for place, entry in placed if entry.get("number") is not None],
        "attributes": collected.attributes(),
        "risk": RISKS[risk].axis if risk in RISKS else f"Risk ({risk})",
        "loss": UTILITIES[loss].axis if loss in UTILITIES else f"Utility loss ({loss})",
        "logarithmic": spans_decades(entry[0] for entry in collected.entries),
    }


def spans_decades(values: Iterable[float]) -> bool:
    """Return whether positive values need a logarithmic axis."""
    found = list(values)
    return bool(found) and min(found) > 0 and max(found) >= min(found) * 10**DECADES


def _series(report: Mapping[str, Any]) -> Iterable[tuple[str, str, Sequence[Mapping[str, Any]]]]:
    yield "frontier", "Frontier", report["frontier"]
    anonymous = report.get("k_anonymity") or {}
    for k in sorted(anonymous, key=int):
        yield "k-anonymity", f"{k}-anonymity", anonymous[k]
    for kind, label in (("safe_harbor", "Safe Harbor"), ("current", "Policy in use")):
        entry = report.get(kind)
        yield kind.replace("_", "-"), label, [] if entry is None else [entry]


def _noted(entries: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    return {"note": STRICTER} if any(entry.get("exact") is False for entry in entries) else {}


def _attributes(report: Mapping[str, Any]) -> list[str]:
    """Return the attributes of all policies, in the order in which they first occur."""
    if "domains" in report:
        return [domain["attribute"] for domain in report["domains"]]
    names: dict[str, None] = {}
    for _, _, entries in _series(report):
        for entry in entries:
            names.update(dict.fromkeys(entry.get("policy") or ()))
    return list(names)


class _Collected:
    """Entries so far, and how their policies treat each attribute."""

    def __init__(self, attributes: Sequence[str], policy_of: Callable[[Mapping[str, Any]], PolicyDocument]) -> None:
        self.entries: list[list[Any]] = []
        self._policy_of = policy_of
        self._treatments = {name: _Treatments() for name in attributes}

    def add(self, entries: Iterable[Mapping[str, Any]]) -> list[int]:
        """Add entries of the report; return their indexes."""
        first = len(self.entries)
        self.entries.extend(self._row(entry) for entry in entries)
        return list(range(first, len(self.entries)))

    def _row(self, entry: Mapping[str, Any]) -> list[Any]:
        policy = self._policy_of(entry)
        figures = [entry[key] for key in ("risk", "utility_loss", "normalized_risk", "normalized_utility_loss")]
        if not policy:
            return [*figures, None]
        return [*figures, [found.place(policy.get(name) or ()) for name, found in self._treatments.items()]]

    def attributes(self) -> list[dict[str, Any]]:
        """Return each attribute with the texts of its groups and its treatments."""
        return [
            {"name": name, "groups": list(found.texts), "treatments": found.rows}
            for name, found in self._treatments.items()
        ]


class _Treatments:
    """The distinct ways in which policies treat one attribute."""

    def __init__(self) -> None:
        self.texts: dict[str, int] = {}
        self.rows: list[dict[str, Any]] = []
        self._places: dict[tuple[int, ...], int] = {}

    def place(self, groups: Sequence[Mapping[str, Any]]) -> int:
        """Return the index of a treatment, a new one if no earlier policy had it."""
        key = tuple(self.texts.setdefault(group_text(group), len(self.texts)) for group in groups)
        if key not in self._places:
            self._places[key] = len(self.rows)
            self.rows.append({"words": short_words(groups), "groups": list(key)})
        return self._places[key]

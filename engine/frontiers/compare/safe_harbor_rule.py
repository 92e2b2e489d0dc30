"""HIPAA Safe Harbor as a policy: 45 CFR 164.514(b)(2)(i), elements (B) and (C).

Ages over 89 become 90 and older, ZIP codes their first three digits, or 000 if their area has 20,000 people or fewer,
dates become their year, and years so long ago that whoever was born in them may be 90 become one; everything else is
kept. Xia et al., JAMIA 22:1029, 2015, compare frontiers with it.

The groups of a policy of an ordered domain are runs of neighbouring values, and 000 joins areas that may lie far apart.
So the rule is given twice: as its own classes, by which its risk and utility loss are measured, and as the finest
policy of the space that does not separate values that the rule joins, which can be executed. They differ only if
restricted areas are not neighbours: the policy then also joins the values between them, so its risk is not higher and
its utility loss not lower. In a ZIP hierarchy of the builder `zip`, without an order, 000 is a node of its own and they
are the same.

Element (C) asks to aggregate all dates, years included, that tell an age over 89. Any date of a person that long ago
does, be it of a birth or of a visit, so nothing must be known of a column but that it holds dates. Whether somebody
born in a year may be 90 depends on the day, which is given.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import NDArray

from engine.errors import InvalidData, InvalidJob
from engine.frontiers.space.coarsening import finest_policy
from engine.frontiers.space.domain import Bits, Domain, PolicySpace
from engine.hierarchy.builder import SUPPRESSED, HierarchyBuilder
from engine.hierarchy.builders.zip import RESTRICTED_AREA
from engine.hierarchy.builders.zip_areas import SAFE_HARBOR
from engine.job.frontier_settings import Kind
from engine.message import Count, Message

OLDEST = 90
"""Completed years; this age and all above are one."""

_UNREADABLE = ""
_ZIP = re.compile(r"([0-9]{5})(?:-?[0-9]{4})?|([0-9]{3,4})")
_YEAR = re.compile(r"([0-9]{4})(?:-(?:0[1-9]|1[0-2]))?")
_AGE = re.compile(r"([0-9]{1,3})(?:\.[0-9]+)?\+?")
_FORMS: Mapping[Kind, str] = {
    "zip": "ZIP codes of five digits or ZIP+4",
    "age": "ages in years, such as 42 or 90+",
    "date": "dates such as 2026-03-01, or their months or years",
}


@dataclass(frozen=True, eq=False)
class SafeHarbor:
    """The rule in a policy space.

    Attributes
    ----------
    classes : tuple of int32, shape (d,)
        For each quasi-identifier the class of each position: the rule itself.
    bits : bool, shape (size,)
        The finest policy of the space that does not separate values that the rule joins.
    is_exact : bool
        Whether the policy's groups are the rule's classes.
    """

    classes: tuple[NDArray[np.int32], ...]
    bits: Bits
    is_exact: bool


def safe_harbor(space: PolicySpace, kinds: Mapping[str, Kind], areas: Collection[str], ages_on: dt.date) -> SafeHarbor:
    """Find the rule in a policy space.

    Parameters
    ----------
    kinds : mapping of attribute to Kind
        Attributes without an entry are kept.
    areas : collection of str
        The first three digits of the areas with more than 20,000 people; see `census_areas` of
        `engine.hierarchy.builders.zip_areas`, and `populated_areas`.
    ages_on : date
        The day on which nobody may be known to be 90 or older by a date.

    Raises
    ------
    InvalidJob
        `kinds` names an attribute that is no quasi-identifier, or the rule joins values that a hierarchy never joins.
    InvalidData
        Values are not of the kind. The message gives their number, but no values.
    """
    unknown = sorted(set(kinds) - {domain.attribute for domain in space.domains})
    if unknown:
        raise InvalidJob(f"safe_harbor: {', '.join(map(repr, unknown))} is no quasi-identifying attribute of the job")
    last = ages_on.year - OLDEST
    classes = tuple(_classes(domain, kinds.get(domain.attribute, "kept"), areas, last) for domain in space.domains)
    bits = finest_policy(space, classes)
    groups = space.groups(bits)
    is_exact = all(own.max(initial=0) == group.max(initial=0) for own, group in zip(classes, groups, strict=True))
    return SafeHarbor(classes, bits, is_exact)


def kinds_of(builders: Mapping[str, HierarchyBuilder], named: Mapping[str, Kind] | None = None) -> dict[str, Kind]:
    """Return the kind of each attribute by the builder of its hierarchy, unless the job names the kind.

    Parameters
    ----------
    builders : mapping of attribute to HierarchyBuilder
        The quasi-identifiers; those of the builders `zip`, `age` and `date` are of these kinds, all others are kept.
    named : mapping of attribute to Kind, optional
        Takes precedence over the builders.
    """
    found: dict[str, Kind] = {
        name: cast("Kind", builder.builder) if builder.builder in _FORMS else "kept"
        for name, builder in builders.items()
    }
    return found | dict(named or {})


def populated_areas(domain: Domain, codes: NDArray[np.int32], persons: NDArray[np.int64]) -> frozenset[str]:
    """Return the first three digits of the areas with more than 20,000 people in a population table.

    Parameters
    ----------
    domain : Domain
        ZIP codes.
    codes : int32, shape (R,)
        Leaf codes of the ZIP codes of a frequency table.
    persons : int64, shape (R,)
        Its people.

    Raises
    ------
    InvalidData
        Values are no ZIP codes.
    """
    by_position = np.zeros(domain.size, np.int64)
    np.add.at(by_position, domain.leaf_positions[codes], persons)
    people: dict[str, int] = {}
    for area, here in zip(_read(domain, "zip", _area), by_position.tolist(), strict=True):
        if area is not None:
            people[area] = people.get(area, 0) + here
    return frozenset(area for area, total in people.items() if total > SAFE_HARBOR)


def _classes(domain: Domain, kind: Kind, areas: Collection[str], last: int) -> NDArray[np.int32]:
    """Return the class of each position, numbered by first appearance, shape (d,).

    Parameters
    ----------
    last : int
        The years up to this one are one class.
    """
    if kind == "kept":
        return np.arange(domain.size, dtype=np.int32)

    def area(value: str) -> str:
        found = _area(value)
        return found if found in areas or found == _UNREADABLE else RESTRICTED_AREA

    def year(value: str) -> str:
        found = _year(value)
        return found if found == _UNREADABLE else str(max(int(found), last))

    reads: Mapping[Kind, Callable[[str], str]] = {"zip": area, "age": _years, "date": year}
    labels = _read(domain, kind, reads[kind])
    numbers = {label: number for number, label in enumerate(dict.fromkeys(labels))}
    return np.array([numbers[label] for label in labels], np.int32)


def _read(domain: Domain, kind: Kind, read: Callable[[str], str]) -> list[str | None]:
    """Read the values of a domain; a missing value stays None, and the root stays itself."""
    found = [label if label is None or label == SUPPRESSED else read(label) for label in domain.labels]
    wrong = found.count(_UNREADABLE)
    if wrong:
        raise InvalidData(
            Message.of(
                "column {name!r}: distinct values that are not {form}: {wrong}; correct them in the source, or say "
                "frontier.safe_harbor.{name}: kept if the column is of another kind",
                name=domain.attribute,
                wrong=Count(wrong),
                form=_FORMS[kind],
            )
        )
    return found


def _area(value: str) -> str:
    match = _ZIP.fullmatch(value)
    return _UNREADABLE if match is None else (match[1] or match[2].zfill(5))[:3]


def _years(value: str) -> str:
    match = _AGE.fullmatch(value)
    return _UNREADABLE if match is None else str(min(int(match[1]), OLDEST))


def _year(value: str) -> str:
    match = _YEAR.fullmatch(value)
    if match is not None:
        return match[1]
    try:
        return str(dt.datetime.fromisoformat(value.replace("Z", "+00:00")).year)
    except ValueError:
        return _UNREADABLE

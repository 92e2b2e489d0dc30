"""A policy of full-subtree generalization as a hierarchy: the value, its group, `*`.

The groups are runs of ordered values, or the leaves below nodes of another hierarchy (Iyengar, KDD 2002, section 3).
That hierarchy still defines the possible values. A run holds every value between its ends, including values that did
not occur when the policy was made; a value in no group has no row.
"""

from __future__ import annotations

import bisect
import contextlib
import functools
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, model_validator
from typing_extensions import Self

from engine.errors import InvalidJob
from engine.hierarchy.builder import SUPPRESSED, Extent, HierarchyBuilder, Row
from engine.hierarchy.group_labels import group_labels
from engine.hierarchy.registry import AnySource, Source, csv_by_default
from engine.hierarchy.value_keys import KEYS, OrderName

EVERYTHING: dict[str, Any] = {"node": SUPPRESSED}
"""The group that holds every value, named or not, if it is the only one."""
MISSING_ALONE: dict[str, Any] = {"value": None}
"""The group of missing values alone."""
_SHAPES = ({"from", "to"}, {"value"}, {"node"}, {"node", "values"})


def _shaped(group: Any) -> Any:
    if not isinstance(group, Mapping) or set(group) not in _SHAPES:
        raise ValueError("must be {from, to}, {value} or {node}")
    texts = [*group.get("values", ()), *(text for key, text in group.items() if key != "values")]
    if not all(isinstance(text, str) or (text is None and "node" not in group) for text in texts):
        raise ValueError("values and nodes must be text: put them in quotes; a missing value is null")
    return dict(group)


Group = Annotated[dict[str, Any], BeforeValidator(_shaped)]


class PolicyGroups(HierarchyBuilder):
    """The groups of one quasi-identifier."""

    notation: ClassVar[str] = "a-b, or a to b, stands for the values from a to b, both included"

    builder: Literal["policy"] = "policy"
    hierarchy: AnySource = Field(description="The hierarchy that the groups rest on, with any builder but policy.")
    groups: tuple[Group, ...] = Field(
        min_length=1, description="{from, to} or {value} in the order of the values; without order {node} or {value}."
    )
    order: OrderName | None = Field(default=None, description="How the values are ordered; none: groups are nodes.")
    minimum_level: int = Field(default=0, ge=0, strict=True, description="Labels of this level are not split.")
    maximum_level: int | None = Field(
        default=None, ge=0, strict=True, description="No group joins labels of this level; any may if absent."
    )

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        # a file may be found only relative to the job file: `resolved` looks again
        with contextlib.suppress(InvalidJob):
            self._check_height()
        if self.order is None:
            self._check_nodes()
        elif not self._holds_everything:
            self._check_runs(KEYS[self.order])
        return self

    def _check_height(self) -> None:
        for key in ("minimum_level", "maximum_level"):
            level = getattr(self, key)
            if level is not None and level >= self.hierarchy.level_count:
                raise ValueError(f"{key} is {level}, the hierarchy ends at {self.hierarchy.level_count - 1}")

    def _check_nodes(self) -> None:
        seen: dict[tuple[Any, ...], int] = {}
        for position, group in enumerate(self.groups):
            if "from" in group:
                raise ValueError(f"groups.{position}: a run needs an order; name a node of the hierarchy, or add order")
            name = (*group.keys(), *(text for text in group.values() if not isinstance(text, list)))
            first = seen.setdefault((*name, *group.get("values", ())), position)
            if first != position:
                raise ValueError(f"groups.{position}: equals groups.{first}; remove one")

    def _check_runs(self, key: Callable[[str], Any]) -> None:
        last = None
        for position, group in enumerate(self.groups):
            if "node" in group:
                raise ValueError(
                    f"groups.{position}: the values are ordered; give {{from, to}} or {{value}}, or "
                    f"{{node: '{SUPPRESSED}'}} alone for all values together"
                )
            ends = [_placed(text, key, position, str(self.order)) for text in _ends(group)]
            if ends[0] > ends[1]:
                raise ValueError(f"groups.{position}: from comes after to; exchange them")
            if last is not None and ends[0] <= last:
                raise ValueError(
                    f"groups.{position}: begins before groups.{position - 1} ends; order and separate them"
                )
            last = ends[1]

    def resolved(self, base: Path) -> Self:
        """Make the path of the hierarchy below absolute.

        Raises
        ------
        InvalidJob
            That hierarchy is not there, or has fewer levels than the policy names.
        """
        found = self.model_copy(update={"hierarchy": self.hierarchy.resolved(base)})
        try:
            found._check_height()  # noqa: SLF001 (another of this class)
        except ValueError as problem:
            raise InvalidJob(f"policy: {problem}") from None
        return found

    @property
    def level_count(self) -> int:
        """The value, its group, `*`; only the value and `*` if everything is one group."""
        return 2 if self.is_root else 3

    @property
    def is_root(self) -> bool:
        """Whether everything is one group; that of missing values alone holds no other value."""
        return len(self.groups) == 1 and not self.is_of_missing_values

    @property
    def is_of_missing_values(self) -> bool:
        """Whether the only group is that of missing values, which every record of the file has."""
        return self.groups == (MISSING_ALONE,)

    @property
    def _holds_everything(self) -> bool:
        """Whether the one group is that of all values, whichever they are."""
        return self.is_root and self.groups[0] == EVERYTHING

    def check_column(self, name: str, values: Collection[str]) -> None:
        """Look at the rows of the hierarchy below."""
        self.hierarchy.check_column(name, values)

    def definition(self) -> Iterator[Row]:
        """Give that of the hierarchy below: its groups are in the report of the run that executes them."""
        return self.hierarchy.definition()

    @property
    def file(self) -> str | None:
        """The file of the hierarchy below."""
        return self.hierarchy.file

    @property
    def takes_missing(self) -> bool:
        """Whether a missing value is in a group: it is listed, or it joins the root."""
        if self._holds_everything or any(None in group.values() for group in self.groups):
            return True
        node = self.groups[0].get("node")
        return self.is_root and node is not None and self.hierarchy.is_label(node, self.hierarchy.level_count - 1)

    @property
    def joins_missing(self) -> bool:
        """Whether missing values share a group with some but not all other values: no release can show that."""
        return not self.is_root and any("from" in group and group["from"] is None for group in self.groups)

    @functools.cached_property
    def labels(self) -> tuple[str, ...]:
        """The label of each group; all are different."""
        return (SUPPRESSED,) if self.is_root else group_labels(self.groups)

    def rows(self, values: Sequence[str]) -> list[Row]:
        """Return those rows of the hierarchy below whose value is in a group.

        Raises
        ------
        InvalidJob
            A value is in two groups, or the groups violate the lowest or the highest level.
        """
        below = self.hierarchy.rows(values)
        # a classification has a hundred thousand values, and a rule tries many policies
        found = zip(below, map(self._group(), below), strict=True)
        placed = [(row, group) for row, group in found if group is not None]
        self._check_levels(placed)
        if self.is_root:
            return [(row[0], SUPPRESSED) for row, _ in placed]
        return [(row[0], self.labels[group], SUPPRESSED) for row, group in placed]

    def example(self) -> tuple[str | None, ...]:
        """Return the labels of one value: one that a group names, else one of the hierarchy below.

        The value is None if the groups name only nodes and the value that the hierarchy below offers is in none of
        them: only the data has the other values.
        """
        # the label of missing values names their group and is never released
        shown = [place for place, group in enumerate(self.groups) if group.get("value", "") is not None] or [0]
        middle = len(shown) // 2
        places = [*shown[middle:], *shown[:middle]]
        named = [text for place in places for text in _named(self.groups[place])]
        offered = self.hierarchy.example_value
        candidates = named if offered is None else [*named, offered]
        rows = self.rows(candidates)
        of = {row[0]: row for row in rows}
        for value in candidates:
            if value in of:
                return of[value]
        if rows:
            return rows[len(rows) // 2]
        return (None, SUPPRESSED) if self.is_root else (None, self.labels[places[0]], SUPPRESSED)

    def is_label(self, label: str, level: int) -> bool:
        """Look the label up among those of the groups; a value must be one of the hierarchy below and in a group."""
        if level == self.level_count - 1:
            return label == SUPPRESSED
        if level == 1:
            return label in self._label_set
        return self.hierarchy.is_label(label, 0) and any(row[0] == label for row in self.rows([label]))

    def extent(self, label: str, level: int) -> Extent | None:
        """Return a value's own; a group has none, since its ends are values of one policy's table."""
        return self.hierarchy.extent(label, 0) if level == 0 else None

    def place(self, label: str, level: int) -> Decimal | None:
        """Return the place among the groups, or that of a value in the hierarchy below."""
        if level == 0:
            return self.hierarchy.place(label, 0)
        return Decimal(self.labels.index(label)) if label in self._label_set and not self.is_root else None

    @functools.cached_property
    def _label_set(self) -> frozenset[str]:
        missing = {
            label for label, group in zip(self.labels, self.groups, strict=True) if group.get("value", "") is None
        }
        return frozenset(self.labels) - missing

    def _group(self) -> Callable[[Row], int | None]:
        """Return what tells the group of a row."""
        if self._holds_everything:
            return lambda _: 0
        return self._node_group if self.order is None else self._run_group

    def _run_group(self, row: Row) -> int | None:
        assert self.order is not None  # noqa: S101 (the caller looked)
        place = _place(row[0], KEYS[self.order])
        if place is None:
            return None
        group = bisect.bisect_right(self._starts, place) - 1
        return group if group >= 0 and place <= self._stops[group] else None

    def _node_group(self, row: Row) -> int | None:
        value, *labels = row
        found, nodes = self._values.get(value), self._nodes
        for label in labels:
            for group, members in nodes.get(label, ()):
                if group == found or not (members is None or value in members):
                    continue
                if found is not None:
                    places = " and ".join(f"groups.{one}" for one in sorted((found, group)))
                    raise InvalidJob(
                        f"policy: {places} hold the same value of the hierarchy; a value belongs in one group"
                    )
                found = group
        return found

    @functools.cached_property
    def _starts(self) -> list[Any]:
        return [_place(_ends(group)[0], KEYS[self.order or "text"]) for group in self.groups]

    @functools.cached_property
    def _stops(self) -> list[Any]:
        return [_place(_ends(group)[1], KEYS[self.order or "text"]) for group in self.groups]

    @functools.cached_property
    def _values(self) -> dict[str | None, int]:
        return {group["value"]: position for position, group in enumerate(self.groups) if "value" in group}

    @functools.cached_property
    def _nodes(self) -> dict[str, list[tuple[int, frozenset[str] | None]]]:
        found: dict[str, list[tuple[int, frozenset[str] | None]]] = {}
        for position, group in enumerate(self.groups):
            if "node" in group:
                members = frozenset(group["values"]) if "values" in group else None
                found.setdefault(group["node"], []).append((position, members))
        return found

    def _check_levels(self, placed: Sequence[tuple[Row, int]]) -> None:
        """Check that the groups split no label of the lowest level and join none of the highest."""
        groups: dict[str, int] = {}
        labels: dict[int, str] = {}
        for row, group in placed:
            if groups.setdefault(row[self.minimum_level], group) != group:
                raise InvalidJob(
                    f"policy: splits a label of level {self.minimum_level} of the hierarchy, which minimum_level "
                    "forbids; join the groups, or lower minimum_level"
                )
            if self.maximum_level is None:
                continue
            if labels.setdefault(group, row[self.maximum_level]) != row[self.maximum_level]:
                raise InvalidJob(
                    f"policy: groups.{group} joins labels of level {self.maximum_level} of the hierarchy, which "
                    "maximum_level forbids; split the group, or raise maximum_level"
                )


AnyHierarchy = Annotated[
    Annotated[Source | PolicyGroups, Field(discriminator="builder")],
    BeforeValidator(csv_by_default),
]
"""The hierarchies a job can name."""


def _named(group: Mapping[str, Any]) -> list[str]:
    """Return the values that a group names, without a missing one."""
    values = group.get("values", [group.get(key) for key in ("value", "from", "to")])
    return [value for value in values if value is not None]


def _ends(group: Mapping[str, str | None]) -> tuple[str | None, str | None]:
    return (group["value"], group["value"]) if "value" in group else (group["from"], group["to"])


def _place(text: str | None, key: Callable[[str], Any]) -> Any:
    """Return the sort key of values; a missing value comes first. None for a value that the order cannot read."""
    if text is None:
        return (0,)
    try:
        return (1, key(text), text)
    except (ValueError, ArithmeticError):
        return None


def _placed(text: str | None, key: Callable[[str], Any], position: int, order: str) -> Any:
    place = _place(text, key)
    if place is None:
        raise ValueError(f"groups.{position}: has a value that is not of the type {order}; correct it, or change order")
    return place

"""Groups that are listed in the job: `widowed`, `not married`, `*`.

One mapping per level: a label, and its members (values, or labels of the level below).
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, model_validator
from typing_extensions import Self

from engine.hierarchy.builder import ANY_VALUE, SUPPRESSED, HierarchyBuilder, Row


def _quoted(value: Any) -> Any:
    # YAML reads 02134 as 1116, 12:30 as 750 and no as false: the original text is lost.
    if not isinstance(value, str):
        raise ValueError("must be text: put it in quotes")  # noqa: TRY004 (pydantic needs a ValueError)
    if value == SUPPRESSED:
        raise ValueError(f"{SUPPRESSED!r} is reserved for the highest level: choose another label")
    return value


def _named(label: str) -> str:
    if not label:
        raise ValueError("a label must not be empty")
    return label


Value = Annotated[str, BeforeValidator(_quoted)]
Label = Annotated[Value, AfterValidator(_named)]
Groups = dict[Label, Annotated[tuple[Value, ...], Field(min_length=1)]]


class Grouping(HierarchyBuilder):
    """Explicit groups."""

    builder: Literal["grouping"] = "grouping"
    groups: tuple[Annotated[Groups, Field(min_length=1)], ...] = Field(
        min_length=1, description="Per level, label: [values, or labels of the level below]."
    )
    other: Label | None = Field(
        default=None,
        description="Label at level 1 of every value in no group; it stays unchanged above, unless a group lists it.",
    )

    @model_validator(mode="after")
    def _functions(self) -> Self:
        below: frozenset[str] = frozenset()
        for position, groups in enumerate(self.groups):
            parents = _parents(position, groups)
            if position:
                self._check_complete(position, parents, below)
            below = self._labels_above(groups, parents, below, lowest=position == 0)
        return self

    def _check_complete(self, position: int, parents: Mapping[str, str], below: frozenset[str]) -> None:
        """Every label of the level below is in a group, and nothing else is."""
        missing = sorted(below - parents.keys() - {self.other})
        if missing:
            names = ", ".join(map(repr, missing))
            raise ValueError(f"groups.{position}: labels of the level below that are in no group: {names}; add them")
        for label, members in self.groups[position].items():
            for index, member in enumerate(members):
                if member not in below:
                    raise ValueError(
                        f"groups.{position}.{label}.{index}: is no label of the level below; these are "
                        f"{', '.join(map(repr, sorted(below)))}"
                    )

    def _labels_above(
        self, groups: Groups, parents: Mapping[str, str], below: frozenset[str], *, lowest: bool
    ) -> frozenset[str]:
        stays = self.other is not None and (lowest or (self.other in below and self.other not in parents))
        return frozenset(groups) | ({self.other} if stays and self.other is not None else frozenset())

    @property
    def level_count(self) -> int:
        """The value, one level per mapping, `*`."""
        return len(self.groups) + 2

    def rows(self, values: Sequence[str]) -> list[Row]:
        """One row for each value listed at level 1, and with `other` for each further value of `values`."""
        others = (value for value in values if self.other is not None and value != SUPPRESSED)
        return [self._row(value) for value in dict.fromkeys((*self._levels[0], *others))]

    @property
    def admits(self) -> str:
        """See `HierarchyBuilder.admits`."""
        return super().admits if self.other is None else ANY_VALUE

    @property
    def example_value(self) -> str:
        """The value in the middle of those listed at level 1."""
        listed = list(self._levels[0])
        return listed[len(listed) // 2]

    def is_label(self, label: str, level: int) -> bool:
        """Look the label up among those of its level; `other` makes every text a value."""
        if level == self.level_count - 1:
            return label == SUPPRESSED
        if level == 0:
            return label in self._levels[0] or (self.other is not None and label != SUPPRESSED)
        return label in self._labels[level - 1]

    @functools.cached_property
    def _levels(self) -> tuple[dict[str, str], ...]:
        """The group of each member, per level."""
        return tuple(_parents(position, groups) for position, groups in enumerate(self.groups))

    @functools.cached_property
    def _labels(self) -> tuple[frozenset[str], ...]:
        """Labels of the levels between the value and `*`."""
        below: frozenset[str] = frozenset()
        labels = []
        for position, (groups, parents) in enumerate(zip(self.groups, self._levels, strict=True)):
            below = self._labels_above(groups, parents, below, lowest=position == 0)
            labels.append(below)
        return tuple(labels)

    def _row(self, value: str) -> Row:
        row = [value, self._levels[0].get(value) or self.other or SUPPRESSED]
        for parents in self._levels[1:]:
            row.append(parents.get(row[-1], row[-1]))
        return (*row, SUPPRESSED)


def _parents(position: int, groups: Groups) -> dict[str, str]:
    """Return the group of each member.

    Raises
    ------
    ValueError
        A member is listed twice. The message gives its place, because at level 1 it is a value of the data.
    """
    parents: dict[str, str] = {}
    for label, members in groups.items():
        for index, member in enumerate(members):
            if member in parents:
                raise ValueError(
                    f"groups.{position}.{label}.{index}: is in the group {parents[member]!r} already; "
                    "a member belongs in one group"
                )
            parents[member] = label
    return parents

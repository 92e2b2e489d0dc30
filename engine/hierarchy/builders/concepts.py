"""Concepts of SNOMED CT and LOINC, by the user's own release file: the concept, its ancestors, higher and higher, `*`.

In: the file that says which concept is below which. A concept may have several parents there, and a hierarchy needs one
path: the parent with the shortest way to a root is taken, of several such the one whose identifier comes first as text.
Both systems are protected and large, so no part of them is shipped.

Sources: SNOMED International, *Release File Specifications* (RF2), "Relationship File Specification"; Regenstrief
Institute, *LOINC Users' Guide*, "LOINC Multiaxial Hierarchy" (since 2.70 "Component Hierarchy by System").
"""

from __future__ import annotations

import functools
import itertools
from abc import abstractmethod
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, ClassVar, Literal, NamedTuple

from pydantic import Field, model_validator
from typing_extensions import Self

from engine.errors import InvalidData, InvalidJob, is_file, unreadable
from engine.file_state import FileState
from engine.hierarchy.builder import SUPPRESSED, HierarchyBuilder, Row
from engine.hierarchy.utf8_text import FIX, LET_READ, refuse_utf_16
from engine.spec import FileName

_DEEPEST = 50
_IS_A = "116680003"
"""The type of the relationships of SNOMED CT that make its hierarchy."""


class Tree(NamedTuple):
    """Of each concept its only parent, None for a root, and its depth: the steps to its root."""

    parents: Mapping[str, str | None]
    depths: Mapping[str, int]


class Concepts(HierarchyBuilder):
    """Concepts of a file of parents, cut at depths."""

    file_key: ClassVar[str] = "path"

    path: FileName = Field(description="The file of your own release, relative to the job file.")
    depths: tuple[Annotated[int, Field(ge=1, le=_DEEPEST, strict=True)], ...] = Field(
        default=(5, 3, 2),
        min_length=1,
        description="Depth of the ancestors of level 1, 2, ..., each less than the one before; a root has depth 0. A "
        "concept that is not as deep stays.",
    )

    @model_validator(mode="after")
    def _nested(self) -> Self:
        for place, (deeper, higher) in enumerate(itertools.pairwise(self.depths), start=1):
            if higher >= deeper:
                raise ValueError(f"depths.{place} is {higher}; it must be less than depths.{place - 1}, {deeper}")
        return self

    def resolved(self, base: Path) -> Self:
        """Make the path absolute."""
        return self.model_copy(update={"path": str(base / self.path)})

    @property
    def level_count(self) -> int:
        """The concept, one level per depth, `*`."""
        return len(self.depths) + 2

    def rows(self, values: Sequence[str]) -> list[Row]:
        """One row for each concept of the file among `values`."""
        tree = self._tree()
        return [(value, *self._ancestors(tree, value), SUPPRESSED) for value in values if value in tree.depths]

    @property
    def admits(self) -> str:
        """See `HierarchyBuilder.admits`."""
        return "the identifiers that its file lists"

    @property
    def example_value(self) -> str:
        """One of the deepest concepts of the file, the first by its identifier."""
        depths = self._tree().depths
        deepest = max(depths.values())
        return min(concept for concept, depth in depths.items() if depth == deepest)

    def is_label(self, label: str, level: int) -> bool:
        """Return whether the label is a concept of the file that is not deeper than the level."""
        if level == self.level_count - 1:
            return label == SUPPRESSED
        depth = self._tree().depths.get(label)
        return depth is not None and (level == 0 or depth <= self.depths[level - 1])

    def _contents(self) -> Iterable[Row]:
        return ((concept, parent or "") for concept, parent in self._tree().parents.items())

    def _ancestors(self, tree: Tree, concept: str) -> Iterable[str]:
        for depth in self.depths:
            while tree.depths[concept] > depth:
                parent = tree.parents[concept]
                assert parent is not None  # noqa: S101 (what has a depth above 0 has a parent)
                concept = parent
            yield concept

    def _tree(self) -> Tree:
        if not is_file(Path(self.path)):
            raise InvalidJob(f"hierarchy file {self.path}: not found; the path is relative to the job file")
        return _read(type(self), self.path, FileState.of(self.path))

    @staticmethod
    @abstractmethod
    def _pairs(path: str) -> Iterable[tuple[str, str]]:
        """Give concept and parent of each line; a root has the parent ''."""


class SnomedCt(Concepts):
    """Concept identifiers of SNOMED CT, by the relationships of the kind is-a."""

    notation: ClassVar[str] = (
        "a concept of SNOMED CT stands for itself and for concepts below it, each counted below one of its parents only"
    )

    builder: Literal["snomed-ct"] = "snomed-ct"

    @staticmethod
    def _pairs(path: str) -> Iterable[tuple[str, str]]:
        columns = ["id", "active", "sourceId", "destinationId", "typeId"]
        ids, active, below, above, kinds = _columns(path, columns, delimiter="\t", quoted=False)
        if len(set(ids)) < len(ids):
            raise InvalidData(
                f"hierarchy file {path}: has several states of one relationship; name the Snapshot file of the "
                "relationships (sct2_Relationship_Snapshot_…), not the Full one"
            )
        states = zip(active, kinds, below, above, strict=True)
        return ((low, high) for state, kind, low, high in states if state == "1" and kind == _IS_A)


class Loinc(Concepts):
    """Codes and parts of LOINC, by its component hierarchy."""

    notation: ClassVar[str] = "a part of LOINC, such as LP14082-9, stands for codes below it, each below one part only"

    builder: Literal["loinc"] = "loinc"

    @staticmethod
    def _pairs(path: str) -> Iterable[tuple[str, str]]:
        return zip(*_columns(path, ["CODE", "IMMEDIATE_PARENT"], delimiter=",", quoted=True), strict=True)


def _columns(path: str, names: list[str], *, delimiter: str, quoted: bool) -> list[list[str]]:
    """Read columns of a file as text."""
    import pyarrow as pa  # noqa: PLC0415 (only jobs with such a hierarchy need it here)
    from pyarrow import csv  # noqa: PLC0415

    try:
        refuse_utf_16(path, "hierarchy file")
        table = csv.read_csv(
            path,
            parse_options=csv.ParseOptions(delimiter=delimiter, quote_char='"' if quoted else False),
            convert_options=csv.ConvertOptions(
                include_columns=names, column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False
            ),
        )
    except KeyError:
        raise InvalidData(
            f"hierarchy file {path}: needs the columns {', '.join(names)}; name the file that your release has for it"
        ) from None
    except OSError as problem:
        raise InvalidData(f"hierarchy file {path}: cannot be read ({unreadable(problem)}); {LET_READ}") from None
    except pa.ArrowInvalid as problem:
        raise InvalidData(
            f"hierarchy file {path}: cannot be read as UTF-8 text ({unreadable(problem)}); {FIX}"
        ) from None
    return [table[name].to_pylist() for name in names]


@functools.lru_cache(maxsize=4)
def _read(kind: type[Concepts], path: str, state: FileState) -> Tree:
    del state  # part of the cache's key
    below: dict[str, list[str]] = defaultdict(list)
    concepts: set[str] = set()
    has_parent: set[str] = set()
    for concept, parent in kind._pairs(path):  # noqa: SLF001 (of this file)
        concepts.add(concept)
        if parent:
            concepts.add(parent)
            has_parent.add(concept)
            below[parent].append(concept)
    parents: dict[str, str | None] = dict.fromkeys(sorted(concepts - has_parent))
    depths = dict.fromkeys(parents, 0)
    reached, depth = list(parents), 0
    while reached:
        depth += 1
        found: list[str] = []
        for parent in sorted(reached):
            for concept in below[parent]:
                if concept not in depths:
                    parents[concept], depths[concept] = parent, depth
                    found.append(concept)
        reached = found
    if not depths:
        raise InvalidData(f"hierarchy file {path}: has no concept without a parent; is it the whole file of a release?")
    lost = len(concepts) - len(depths)
    if lost:
        raise InvalidData(f"hierarchy file {path}: {lost} concepts are below each other in a circle; read it again")
    return Tree(parents, depths)

"""How a job's lattice is searched."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator
from typing_extensions import Self

from engine.search.registry import ALGORITHMS, POLICY
from engine.spec import FileName, Spec


class Search(Spec):
    """How the lattice is searched."""

    algorithm: str = Field(
        default="optimal", description="See docs/search.md; policy: the groups of a file, without a search."
    )
    file: FileName | None = Field(default=None, description="The policy file of algorithm policy.")
    time_limit_seconds: float | None = Field(
        default=None,
        gt=0,
        strict=True,
        description="Stop with the best solution so far; before a local recoding 60, if absent.",
    )
    gap: float = Field(
        default=0.0, ge=0, lt=1, strict=True, description="The solution may miss the optimum by this share of its loss."
    )
    start: dict[str, Annotated[int, Field(strict=True)]] | None = Field(
        default=None, description="A level for each quasi-identifying column, checked first: such as last night's."
    )
    threads: int = Field(default=1, ge=1, le=64, strict=True, description="Parallel threads of the search.")
    memory_megabytes: int = Field(
        default=1024,
        ge=0,
        strict=True,
        description="Memory for waiting parts of the search; others are made again.",
    )

    @model_validator(mode="after")
    def _known_algorithm(self) -> Self:
        allowed = (*ALGORITHMS, POLICY)
        if self.algorithm not in allowed:
            raise ValueError(f"algorithm is {self.algorithm!r}, allowed are {', '.join(map(repr, allowed))}")
        fields = type(self).model_fields
        settings = ("gap", "start", "threads", "memory_megabytes")
        foreign = {name for name in settings if getattr(self, name) != fields[name].default}
        if foreign and self.algorithm != "optimal":
            raise ValueError(f"{', '.join(sorted(foreign))}: only for algorithm optimal")
        if self.file is not None and self.algorithm != POLICY:
            raise ValueError("file: only for algorithm policy")
        return self

"""A column of a job: its role, and what may become of its values."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator
from typing_extensions import Self

from engine.hierarchy.policy_groups import AnyHierarchy
from engine.hierarchy.value_keys import OrderName
from engine.job.key_place import KEY_FIELDS, KeyPlace
from engine.job.perturbed import Noise, Pram
from engine.job.replaced import LINKED_ROWS
from engine.job.transformed import GROUPED, OF_NUMBERS, Aggregate, Coding

Role = Literal["quasi-identifying", "sensitive", "identifying", "insensitive"]


def _hierarchy_shorthand(value: Any) -> Any:
    return {"builder": "csv", "path": value} if isinstance(value, str) else value


WrittenHierarchy = Annotated[AnyHierarchy, BeforeValidator(_hierarchy_shorthand)]
"""A hierarchy as a job file has it: a builder with its keys, or the path of a file."""


class Attribute(KeyPlace):
    """The role of a column, how it may be generalized, and the key of its pseudonyms."""

    role: Role = Field(
        description="quasi-identifying: others may know it, so it is generalized. sensitive: released as it is, and "
        "privacy models limit what a class tells of it. identifying: stays in the source. insensitive: released as it "
        "is."
    )
    hierarchy: WrittenHierarchy | None = Field(
        default=None,
        description="How a quasi-identifying column is generalized: a builder with its keys, the path of a file, or "
        "{shared: NAME}. Of a sensitive column: for hierarchical t-closeness.",
    )
    weight: float = Field(default=1.0, ge=0, strict=True, description="Weight in the utility measure's aggregate.")
    minimum_level: int = Field(
        default=0, ge=0, strict=True, description="Lowest generalization level the search may choose."
    )
    maximum_level: int | None = Field(
        default=None, ge=0, strict=True, description="Highest level; the hierarchy's last if absent."
    )
    nulls: Literal["value", "error"] = Field(
        default="value", description="Missing values count as a separate value, or are an error."
    )
    missing: tuple[str, ...] = Field(
        default=(), description="Texts that mean a missing value, such as an empty one or '?'."
    )
    unseen: Literal["error", "suppress", "root"] = Field(
        default="error",
        description="Values without a hierarchy entry: an error, or suppress their records, or they become the root.",
    )
    order: OrderName | None = Field(
        default=None,
        description="How the values are ordered. Sensitive, if absent: by the column's type. Quasi-identifying: groups "
        "of policies are then runs of values; if absent, nodes of the hierarchy.",
    )
    action: Literal["drop", "pseudonymize", "shift"] = Field(
        default="drop",
        description="An identifying column is dropped, or released as pseudonyms by a secret key. Other columns are "
        "released; shift: as dates, moved by the days of the person.",
    )
    family: str | None = Field(
        default=None,
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$",
        description="Pseudonymized columns of one family have the same pseudonym for the same value; the column's name "
        "if absent.",
    )
    coding: Coding | None = Field(
        default=None,
        description="Top and bottom coding and rounding of a sensitive, insensitive or microaggregated column of "
        "numbers.",
    )
    microaggregation: Aggregate | None = Field(
        default=None,
        description="Of a quasi-identifying column, instead of a hierarchy: every record has the mean, the median, the "
        "mode or the interval of the values of its equivalence class, which the other columns form. mdav, of a "
        "sensitive or insensitive column: the mean of a group of records of the class that are alike in all such "
        "columns, as many as the models demand of a class.",
    )
    noise: Noise | None = Field(
        default=None, description="Random noise on the numbers of a sensitive or insensitive column."
    )
    pram: Pram | None = Field(
        default=None, description="Random changes of the categories of a sensitive or insensitive column."
    )
    accept: Literal["unique", "linked-rows"] | None = Field(
        default=None,
        description="unique: the values of a sensitive or insensitive column may be nearly unique, or look like "
        "identifiers; linked-rows: the pseudonyms of a column may join rows of the release. Else that is an error.",
    )

    @model_validator(mode="after")
    def _role_fits(self) -> Self:
        if self.is_aggregated:
            self._aggregate_fits()
        elif self.role == "quasi-identifying":
            if self.hierarchy is None:
                raise ValueError(
                    "a quasi-identifying column needs a hierarchy, such as hierarchy: {builder: flat}, or the path of "
                    "a file; or microaggregation"
                )
        else:
            foreign = {"weight", "minimum_level", "maximum_level", "unseen"} & self.model_fields_set
            if foreign:
                raise ValueError(f"{', '.join(sorted(foreign))}: only for quasi-identifying columns")
            foreign = {"hierarchy", "missing"} & self.model_fields_set
            foreign -= {"missing"} if self.is_shifted or self.coding is not None or self.is_perturbed else set()
            if foreign and self.role != "sensitive":
                raise ValueError(
                    f"{', '.join(sorted(foreign))}: only for quasi-identifying and sensitive columns; missing also for "
                    "those with action: shift, coding, noise or pram"
                )
        has_numbers = self.coding is not None or self.noise is not None or self.is_aggregated
        if self.role not in {"sensitive", "quasi-identifying"} and self.order is not None and not has_numbers:
            raise ValueError(
                "order: only for sensitive and quasi-identifying columns, and for those with coding, noise or "
                "microaggregation"
            )
        self._accepts_what_it_has()
        self._action_fits()
        self._coding_fits()
        self._perturbation_fits()
        if self.maximum_level is not None and self.maximum_level < self.minimum_level:
            raise ValueError(f"maximum_level {self.maximum_level} is below minimum_level {self.minimum_level}")
        return self

    def _aggregate_fits(self) -> None:
        if self.microaggregation == GROUPED and self.role not in {"sensitive", "insensitive"}:
            raise ValueError(
                "microaggregation: mdav: only for sensitive and insensitive columns, since its groups are smaller than "
                "the classes of which the risk is told; use mean or median, or another role"
            )
        if self.role != "quasi-identifying" and self.microaggregation != GROUPED:
            raise ValueError("microaggregation: only for quasi-identifying columns, but mdav only for others")
        own = {"hierarchy", "weight", "minimum_level", "maximum_level", "unseen", "action"} & self.model_fields_set
        if own:
            raise ValueError(
                f"{', '.join(sorted(own))}: not for a column with microaggregation, which has no levels; take it out, "
                "or take microaggregation out"
            )
        if self.microaggregation in OF_NUMBERS and self.order in {"text", "date"}:
            raise ValueError(
                f"microaggregation: {self.microaggregation} is of numbers, and order is {self.order}; use mode, or "
                "order: integer or decimal"
            )

    def _coding_fits(self) -> None:
        if self.coding is None:
            return
        if self.role == "identifying" or (self.role == "quasi-identifying" and not self.is_aggregated):
            raise ValueError(
                "coding: only for sensitive and insensitive columns, and those with microaggregation; a column with a "
                "hierarchy is coded by its levels: set minimum_level"
            )
        if self.is_shifted or self.hierarchy is not None:
            raise ValueError("coding: is of numbers, and goes with neither action: shift nor a hierarchy; take one out")
        if self.order in {"text", "date"}:
            raise ValueError(f"coding: is of numbers, and order is {self.order}; use order: integer or decimal")

    def _perturbation_fits(self) -> None:
        named = [key for key in ("noise", "pram") if getattr(self, key) is not None]
        if not named:
            return
        key = " and ".join(named)
        if self.role not in {"sensitive", "insensitive"}:
            raise ValueError(
                f"{key}: only for sensitive and insensitive columns: classes of drawn values would prove nothing; give "
                "a quasi-identifying column a hierarchy"
            )
        beside = [*(named if len(named) > 1 else []), *(["coding"] if self.coding is not None else [])]
        beside += ["microaggregation"] if self.is_aggregated else []
        beside += ["action: shift"] if self.is_shifted else []
        beside += ["hierarchy"] if self.hierarchy is not None else []
        if beside:
            raise ValueError(f"{key}: does not go with {', '.join(beside)} of the same column; take one out")
        if self.noise is not None and self.order in {"text", "date"}:
            raise ValueError(f"noise: is on numbers, and order is {self.order}; use order: integer or decimal")

    def _accepts_what_it_has(self) -> None:
        if self.accept == "unique" and self.role not in {"sensitive", "insensitive"}:
            raise ValueError("accept: only for sensitive and insensitive columns, which are released as they are")
        if self.accept == LINKED_ROWS and not self.is_pseudonymized:
            raise ValueError(f"accept: {LINKED_ROWS}: only for identifying columns with action: pseudonymize")

    def _action_fits(self) -> None:
        allowed = {"drop", "pseudonymize"} if self.role == "identifying" else {"shift"}
        if "action" in self.model_fields_set and self.action not in allowed:
            raise ValueError("action: only for identifying columns: drop or pseudonymize; only for others: shift")
        foreign = {"family", *KEY_FIELDS} & self.model_fields_set
        if foreign and not self.is_pseudonymized:
            raise ValueError(
                f"{', '.join(sorted(foreign))}: only for identifying columns with action: pseudonymize; the key of "
                "shifted dates is in shift"
            )

    @property
    def is_pseudonymized(self) -> bool:
        """Whether pseudonyms of its values are released."""
        return self.role == "identifying" and self.action == "pseudonymize"

    @property
    def is_shifted(self) -> bool:
        """Whether it holds dates that are moved."""
        return self.role != "identifying" and self.action == "shift"

    @property
    def is_aggregated(self) -> bool:
        """Whether each record has the aggregate of its class."""
        return self.microaggregation is not None

    @property
    def is_perturbed(self) -> bool:
        """Whether its values are drawn at random about those of the source."""
        return self.noise is not None or self.pram is not None

    @property
    def domain_order(self) -> OrderName | None:
        """The order of a quasi-identifier's values, if the job gives one: policies then cut it anywhere."""
        return self.order if self.role == "quasi-identifying" else None

    def resolved(self, base: Path) -> Self:
        """Make the paths of the hierarchy and of the key absolute."""
        below = {} if self.hierarchy is None else {"hierarchy": self.hierarchy.resolved(base)}
        moved = {**below, **self.moved_key(base)}
        return self.model_copy(update=moved) if moved else self

"""Codes of a fixed length whose characters are redacted step by step: `02139`, `0213*`, `021**`, ..., `*`.

A ZIP code cut to its first three digits is level 2 of `{builder: redaction, length: 5}`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, cycle, islice
from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator
from typing_extensions import Self

from engine.hierarchy.builder import SUPPRESSED, HierarchyBuilder, Row

DIGITS = frozenset("0123456789")


class Redaction(HierarchyBuilder):
    """Characters replaced from one end."""

    notation: ClassVar[str] = "each * stands for a character that is not told"

    builder: Literal["redaction"] = "redaction"
    length: int = Field(
        ge=1, le=64, strict=True, description="Characters of a code; values of another length have no row."
    )
    steps: tuple[Annotated[int, Field(ge=1, strict=True)], ...] | None = Field(
        default=None, min_length=1, description="Further characters that each level redacts; by default 1 per level."
    )
    direction: Literal["right-to-left", "left-to-right"] = Field(
        default="right-to-left", description="Where redaction starts: the right end or the left."
    )
    character: str = Field(default="*", min_length=1, max_length=1, description="Replaces a redacted character.")
    alphabet: Literal["digits", "any"] = Field(
        default="digits", description="Characters of a code: 0 to 9, or any but '*' and the redaction character."
    )

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if sum(self.steps or ()) > self.length:
            raise ValueError(f"steps add up to {sum(self.steps or ())}; they may redact at most length, {self.length}")
        if self.alphabet == "digits" and self.character in DIGITS:
            raise ValueError("character: must not be a digit when alphabet is 'digits'")
        return self

    @property
    def level_count(self) -> int:
        """The code, one level for each step that leaves a character, `*`."""
        return len(self._redacted()) + 2

    def rows(self, values: Sequence[str]) -> list[Row]:
        """One row for each code among `values`."""
        return [
            (value, *(self._redact(value, count) for count in self._redacted()), SUPPRESSED)
            for value in values
            if self._is_code(value, self.length)
        ]

    @property
    def admits(self) -> str:
        """See `HierarchyBuilder.admits`."""
        return f"codes of {self.length} {'digits' if self.alphabet == 'digits' else 'characters'}"

    @property
    def example_value(self) -> str:
        """Digits in a row, without the redaction character."""
        digits = [digit for digit in "1234567890" if digit != self.character]
        return "".join(islice(cycle(digits), self.length))

    def is_label(self, label: str, level: int) -> bool:
        """Return whether exactly the characters of this level are redacted."""
        if level == self.level_count - 1:
            return label == SUPPRESSED
        count = (0, *self._redacted())[level]
        kept = self.length - count
        code = label[:kept] if self.direction == "right-to-left" else label[count:]
        return self._is_code(code, kept) and self._redact(label, count) == label

    def _redacted(self) -> tuple[int, ...]:
        """Count the redacted characters at each level between the code and `*`."""
        steps = (1,) * self.length if self.steps is None else self.steps
        return tuple(count for count in accumulate(steps) if count < self.length)

    def _redact(self, code: str, count: int) -> str:
        stars = self.character * count
        return code[: self.length - count] + stars if self.direction == "right-to-left" else stars + code[count:]

    def _is_code(self, text: str, length: int) -> bool:
        if len(text) != length:
            return False
        if self.alphabet == "digits":
            return DIGITS.issuperset(text)
        # A code that contains one of these could look like a redacted one.
        return self.character not in text and SUPPRESSED not in text

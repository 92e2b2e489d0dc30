"""The base of everything a job file can hold: frozen values that refuse unknown keys.

In: plain mappings from YAML or Python. Out: values, or an `InvalidJob` that names every wrong key at once.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError
from typing_extensions import Self

from engine.errors import InvalidJob
from engine.spec.mistakes import TOLD, mistakes
from engine.spec.one_line import shortened
from engine.spec.unwritable import is_unicode, is_writable, unwritable

_LONGEST_NAME = 255


def _file_name(value: str) -> str:
    if "\0" in value or not is_unicode(value):
        raise ValueError("has a character that no file name can have, such as NUL")
    if any(len(part.encode()) > _LONGEST_NAME for part in value.split("/")):
        raise ValueError(f"names a file or folder in more than {_LONGEST_NAME} bytes, which no file system takes")
    return value


FileName = Annotated[str, AfterValidator(_file_name)]
"""A path in a job file."""


class Spec(BaseModel):
    """A frozen part of a job."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        populate_by_name=True,
        allow_inf_nan=False,
        # a part of a job is checked within its whole, whose validator has that of the part: it needs none of its own
        defer_build=True,
    )

    def resolved(self, base: Path) -> Self:
        """Return the same with relative paths made absolute against `base`, the folder of the job file."""
        del base
        return self


def parse(kind: type[BaseModel], document: Mapping[str, Any], where: str) -> Any:
    """Validate `document` as a `kind`.

    Raises
    ------
    InvalidJob
        One line per problem: the key's path, what is wrong, what is allowed.
    """
    if not is_writable(document):
        places = itertools.islice(unwritable(document, ()), TOLD)
        raise InvalidJob(f"{where}: " + "; ".join(f"{shortened(place)}: {why}" for place, why in places))
    try:
        return kind.model_validate(document)
    except ValidationError as problem:
        lines = mistakes(problem.errors(include_url=False), document, kind)
        raise InvalidJob(f"{where}: " + "; ".join(lines)) from None

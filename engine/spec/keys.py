"""Which keys, words and ranges a model of pydantic has at a place, for the errors of whoever missed them.

In: a model, and the place of a value in a document: keys, positions in lists, and the tags that pydantic puts between
them. Out: the models and keys that may stand there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

ENDS = ("ge", "gt", "le", "lt")
"""Ends of ranges, as pydantic names them."""


def known_keys(kind: Any, seen: frozenset[Any] = frozenset()) -> Iterator[str]:
    """Yield the keys of `kind` and of everything it holds, for the hint at a misspelt key."""
    if kind in seen:
        return
    seen |= {kind}
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        for name, field in kind.model_fields.items():
            yield field.alias or name
            yield from known_keys(field.annotation, seen)
        return
    for part in get_args(kind):
        if not isinstance(part, str):
            yield from known_keys(part, seen)


def literals_in(annotation: Any) -> Iterator[str]:
    """Yield the words that an annotation allows."""
    if get_origin(annotation) is Literal:
        yield from (word for word in get_args(annotation) if isinstance(word, str))
        return
    for part in get_args(annotation):
        yield from literals_in(part)


def patterns_at(kind: Any, place: Sequence[Any]) -> Iterator[str]:
    """Yield the pattern of each text that may stand at a place."""
    for field in fields_at(kind, place):
        yield from (one.pattern for one in field.metadata if isinstance(getattr(one, "pattern", None), str))


def limits_at(kind: Any, place: Sequence[Any]) -> Iterator[dict[str, Any]]:
    """Yield the ends of the range of each key that may stand at a place."""
    for field in fields_at(kind, place):
        yield {end: getattr(one, end) for one in field.metadata for end in ENDS if hasattr(one, end)}


def fields_at(kind: Any, place: Sequence[Any]) -> Iterator[FieldInfo]:
    """Yield each key that may stand at a place."""
    for model in models_at(kind, place[:-1]) if place else ():
        yield from (field for name, field in model.model_fields.items() if place[-1] in (name, field.alias))


def models_at(kind: Any, place: Sequence[Any]) -> Iterator[type[BaseModel]]:
    """Yield the models whose keys may stand at a place; positions in lists lead nowhere, tags to their kind."""
    if not place:
        yield from _models(kind)
        return
    fields = list(fields_at(kind, place[:1]))
    tagged = [model for model in _models(kind) if place[0] in _tags(model)]
    for one in [field.annotation for field in fields] or tagged or [kind]:
        yield from models_at(one, place[1:])


def keys_of(model: type[BaseModel]) -> list[str]:
    """Return the keys of a model, as they are written."""
    return [field.alias or name for name, field in model.model_fields.items()]


def _tags(model: type[BaseModel]) -> set[str]:
    return {word for field in model.model_fields.values() for word in literals_in(field.annotation)}


def _models(kind: Any) -> Iterator[type[BaseModel]]:
    """Yield the models that an annotation names."""
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        yield kind
    for part in get_args(kind):
        if not isinstance(part, str):
            yield from _models(part)

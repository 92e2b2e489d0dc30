"""Base of everything a job file can hold: frozen values that refuse unknown keys.

In: plain mappings from YAML or Python. Out: values, or an `InvalidJob` that names every wrong key at once.
"""

from __future__ import annotations

import difflib
import itertools
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin

from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError
from pydantic.fields import FieldInfo
from typing_extensions import Self

from engine.errors import InvalidJob

MOST_RECORDS = 10**15
"""The largest number of records or people that a job can name: all above are refused, before they overflow a count."""
_TOLD = 20
"""Mistakes that one error names; whoever made more learns their number."""
_LONGEST = 200
"""Characters of one key or text that an error repeats."""
_LONGEST_NAME = 255
_PER_CENT = 100
_LEAST, _MOST = -(2**63), 2**63 - 1
"""Ends of the whole numbers that arrays and databases hold."""


def _file_name(value: str) -> str:
    if "\0" in value or not _is_unicode(value):
        raise ValueError("has a character that no file name can have, such as NUL")
    if any(len(part.encode()) > _LONGEST_NAME for part in value.split("/")):
        raise ValueError(f"names a file or folder in more than {_LONGEST_NAME} bytes, which no file system takes")
    return value


def _is_unicode(value: str) -> bool:
    """Tell whether a text can be written as UTF-8: half of a surrogate pair cannot."""
    # a policy names a hundred thousand values
    if value.isascii():
        return True
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


FileName = Annotated[str, AfterValidator(_file_name)]
"""A path in a job file."""


class Spec(BaseModel):
    """A frozen part of a job."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True, allow_inf_nan=False)

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
    unwritable = [] if _is_writable(document) else list(itertools.islice(_unwritable(document, ()), _TOLD))
    if unwritable:
        raise InvalidJob(f"{where}: " + "; ".join(f"{_short(place)}: {why}" for place, why in unwritable))
    try:
        return kind.model_validate(document)
    except ValidationError as problem:
        keys = sorted(_known_keys(kind))
        errors = _of_the_kind_meant([dict(error) for error in problem.errors(include_url=False)])
        first = list(itertools.islice((error for error in errors if not _follows(error, errors)), _TOLD))
        lines = list(dict.fromkeys(_line(error, keys, document, kind) for error in first))
        if len(errors) > _TOLD:
            lines.append(f"{len(errors)} mistakes in all, of which these are the first")
        raise InvalidJob(f"{where}: " + "; ".join(lines)) from None


def _is_writable(part: Any) -> bool:
    """Tell whether files, arrays and databases can hold a document: `_unwritable` yields nothing."""
    if isinstance(part, str):
        return _is_unicode(part)
    if isinstance(part, int):
        return _LEAST <= part <= _MOST
    if isinstance(part, Mapping):
        return all(not isinstance(key, str) or _is_unicode(key) for key in part) and all(
            map(_is_writable, part.values())
        )
    return not isinstance(part, list | tuple) or all(map(_is_writable, part))


def _unwritable(part: Any, place: tuple[object, ...]) -> Iterator[tuple[str, str]]:
    """Yield the places of what no file, array or database can hold, and why."""
    if isinstance(part, int) and not _LEAST <= part <= _MOST:
        yield _joined(place), "a whole number must be from -2^63 to 2^63 - 1"
    if isinstance(part, str) and not _is_unicode(part):
        yield _joined(place), "has half of a surrogate pair, which is no character; leave it out"
    pairs = part.items() if isinstance(part, Mapping) else enumerate(part) if isinstance(part, list | tuple) else ()
    for key, inner in pairs:
        if isinstance(key, str) and not _is_unicode(key):
            yield _joined(place), "has a key with half of a surrogate pair, which is no character; leave it out"
        else:
            yield from _unwritable(inner, (*place, key))


def _joined(place: tuple[object, ...]) -> str:
    return ".".join(_on_a_line(str(key)) for key in place)


def _of_the_kind_meant(errors: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return one problem of a key that takes words or a mapping: pydantic names what each of both lacks."""
    words = {error["loc"][:-1]: error for error in errors if error["type"] == "literal_error"}
    mappings = {error["loc"][:-1]: error for error in errors if _KINDS.get(error["type"]) == _MAPPING}
    below = {error["loc"][:depth] for error in errors for depth in range(len(error["loc"]) - 1)}
    left = []
    for error in errors:
        place = error["loc"][:-1]
        if error is words.get(place):
            if isinstance(error["input"], Mapping) and place in below:
                continue
            error["or_mapping"] = place in mappings
        elif error is mappings.get(place) and place in words:
            continue
        left.append(error)
    return left


def _follows(error: dict[str, Any], errors: list[dict[str, Any]]) -> bool:
    """Whether a list only seems too short because its items are wrong."""
    place = error["loc"]
    return error["type"] == "too_short" and any(
        len(other["loc"]) > len(place) and other["loc"][: len(place)] == place for other in errors
    )


def _line(error: dict[str, Any], keys: list[str], document: Mapping[str, Any], kind: type[BaseModel]) -> str:
    path = ".".join(_path(error, document))
    if error["type"] in _ENDS:
        text = _out_of_range(error, kind)
    elif error["type"] in _WHOLE:
        text = _not_whole(error, kind)
    elif error["type"] == "float_type":
        text = _no_number(error, kind)
    elif error["type"] == "union_tag_not_found":
        text = _without_tag(error, kind)
    elif error["type"] == "missing":
        text = _missing(error, kind)
    else:
        text = _text(error, keys, kind)
    return f"{path}: {text}" if path else text


def _path(error: dict[str, Any], document: Any) -> list[str]:
    """Return the keys that lead to an error, without the tags that pydantic puts between them."""
    keys = []
    for position, part in enumerate(error["loc"]):
        last = position == len(error["loc"]) - 1
        # At the key of a mapping itself pydantic ends the place with '[key]', for any value of that key.
        inside = isinstance(document, list | tuple) and isinstance(part, int) and part < len(document)
        if inside or (isinstance(document, Mapping) and part in document):
            document = document[part]
        elif not (last and error["type"] == "missing"):
            continue
        keys.append(_on_a_line(str(part)))
    return keys


def _on_a_line(key: str) -> str:
    """Return a key for an error, which is one line: line ends and marks that nobody sees as their codes."""
    short = _short(key)
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in short)


def _short(text: str, longest: int = _LONGEST) -> str:
    return text if len(text) <= longest else text[:longest] + "..."


def _text(error: dict[str, Any], keys: list[str], kind: type[BaseModel]) -> str:
    context = error.get("ctx", {})
    if error["type"] == "extra_forbidden":
        key = _short(str(error["loc"][-1]))
        here = sorted({name for model in _models_at(kind, error["loc"][:-1]) for name in _names(model)})
        # a key of another place is none here, whatever looks like it there
        near = _hint(key, here) or (None if key in keys else _hint(key, keys))
        return f"unknown key {key!r}, {near or 'remove it'}"
    if error["type"] == "union_tag_invalid":
        tags = context["expected_tags"]
        return (
            f"{context['discriminator']} is {context['tag']!r}, allowed are {tags}{_meant(str(context['tag']), tags)}"
        )
    if error["type"] == "string_type" and isinstance(error["input"], int | float):
        form = next((_PATTERNS[one] for one in _patterns(kind, error["loc"]) if one in _PATTERNS), None)
        if form is not None:
            return form
    if error["type"] in _KINDS:
        return _KINDS[error["type"]] + _instead(error)
    if error["type"] in _FORMS:
        return _FORMS[error["type"]](error)
    return _short(str(error["msg"]).removeprefix("Value error, "), 10 * _LONGEST)


def _instead(error: dict[str, Any]) -> str:
    """Say how what was written becomes the mapping, or the list, that its key takes."""
    given, kind = error["input"], _KINDS[error["type"]]
    if kind == _MAPPING:
        if isinstance(given, list | tuple):
            return ", and is a list; write its keys without '- '"
        key = next((part for part in reversed(error["loc"]) if isinstance(part, str)), "")
        if ":{" in key or (":" in key and given is None):
            return "; write a blank after the colon of the key"
        above = next((part for part in error["loc"][-2:-1] if isinstance(part, str)), "")
        example = _EXAMPLES.get(above) or _EXAMPLES.get(key, "{key: value}")
        return f", such as {example}" if isinstance(given, str) else ""
    if kind == _LIST and isinstance(given, Mapping):
        return ", and is a mapping; write '- ' before each entry"
    return "; put [ ] around its entries" if kind == _LIST and isinstance(given, str | int | float) else ""


def _without_tag(error: dict[str, Any], kind: type[BaseModel]) -> str:
    tag, given = error["ctx"]["discriminator"].strip("'"), error["input"]
    if not isinstance(given, Mapping):
        return _MAPPING
    near = next((key for key in map(str, given) if _hint(key, [tag])), None)
    meant = f", did you write it {near!r}?" if near else _words(kind, (*error["loc"], tag))
    return f"the key {tag!r} is required{meant}"


def _missing(error: dict[str, Any], kind: type[BaseModel]) -> str:
    return f"this key is required{_words(kind, error['loc'])}"


def _words(kind: type[BaseModel], place: Sequence[Any]) -> str:
    """Return, after a comma, the words that a key takes, or what its number must be."""
    fields = list(_fields(kind, place))
    words = dict.fromkeys(word for field in fields for word in _literals(field.annotation))
    if words:
        return f", {'allowed are' if len(words) > 1 else 'as'} {', '.join(map(repr, words))}"
    return _range(kind, place)


def _literals(annotation: Any) -> Iterator[str]:
    if get_origin(annotation) is Literal:
        yield from (word for word in get_args(annotation) if isinstance(word, str))
        return
    for part in get_args(annotation):
        yield from _literals(part)


def _out_of_range(error: dict[str, Any], kind: type[BaseModel]) -> str:
    """Say what a number is, and both ends of what its key allows."""
    end = _ENDS[error["type"]]
    known = [limits for limits in _limits(kind, error["loc"]) if limits.get(end) == error["ctx"][end]]
    allowed = known[0] if known and all(one == known[0] for one in known) else {end: error["ctx"][end]}
    told = {one: value for one, value in allowed.items() if one == end or value != MOST_RECORDS}
    return f"must be {_in_words(told)}, and is {_short(str(error['input']))}{_per_cent(error, allowed)}"


def _per_cent(error: dict[str, Any], allowed: Mapping[str, Any]) -> str:
    """Say how per cent are written, where a share is above 1."""
    most, given = allowed.get("le", allowed.get("lt", math.inf)), error["input"]
    is_share = isinstance(most, float | int) and most <= 1 and error["type"].startswith("less")
    if not is_share or not isinstance(given, float | int) or not 1 < given <= _PER_CENT:
        return ""
    return f"; {_number(float(given))} per cent are {given / _PER_CENT:g}"


def _not_whole(error: dict[str, Any], kind: type[BaseModel]) -> str:
    """Say that a number must be whole, and what its key allows where all keys at its place allow the same."""
    told = f"must be a whole number{_range(kind, error['loc'])}"
    # other input may be of any size and kind
    if isinstance(error["input"], int | float):
        return f"{told}, and is {_short(str(error['input']))}"
    return f"{told}; write it without quotes" if isinstance(error["input"], str) else told


def _no_number(error: dict[str, Any], kind: type[BaseModel]) -> str:
    """Say that a text is no number, what its key allows, and how a share is written that is meant."""
    told, given = f"must be a number{_range(kind, error['loc'])}", error["input"]
    if not isinstance(given, str):
        return told
    meant = _WRITTEN_NUMBER.fullmatch(given)
    if meant is None:
        return f"{told}; write it without quotes and unit"
    number = float(meant[1].replace(",", "."))
    return f"{told}; write {number / _PER_CENT if meant[2] else number:g}, without quotes"


def _range(kind: type[BaseModel], place: Sequence[Any]) -> str:
    """Return, after a comma, what a number must be, where all keys at its place allow the same."""
    known = list(_limits(kind, place))
    if not known or any(one != known[0] for one in known):
        return ""
    allowed = _in_words({end: value for end, value in known[0].items() if value != MOST_RECORDS})
    return allowed and f", {allowed}"


def _in_words(limits: Mapping[str, Any]) -> str:
    return " and ".join(f"{text} {_number(limits[one])}" for one, text in _WORDS.items() if one in limits)


def _not_among(error: Mapping[str, Any]) -> str:
    """Say which words a key takes, and which of them may be meant."""
    expected, given = str(error["ctx"]["expected"]), error["input"]
    allowed = f"allowed {'are' if ' or ' in expected else 'is'} {_YAML_WORDS.get(expected, expected)}"
    allowed += ", or a mapping" if error.get("or_mapping") else ""
    if not isinstance(given, str | int | float):
        return allowed
    told = repr(_short(given)) if isinstance(given, str) else _YAML_WORDS.get(str(given), str(given))
    return f"is {told}, {allowed}" + (_meant(given, expected) if isinstance(given, str) else "")


def _meant(word: str, allowed: str) -> str:
    """Return a hint at one of the words that are allowed, which stand in quotes; case and hyphens come first."""
    words = re.findall(r"'([^']*)'", allowed)
    near = word.strip().lower().replace("_", "-").replace(" ", "-")
    hint = f"did you mean {near!r}?" if near in words and near != word else _hint(word, words)
    return f"; {hint}" if hint else ""


def told_form(error: Mapping[str, Any]) -> str:
    """Say in words what a text must look like, of which pydantic tells the pattern."""
    pattern = str(error["ctx"]["pattern"])
    most = re.fullmatch(r"\^\[A-Za-z0-9\]\[A-Za-z0-9\._-\]\{0,([0-9]+)\}\$", pattern)
    if most:
        return (
            f"must be at most {int(most[1]) + 1} letters from A to Z without accents, digits, points, underscores and "
            "hyphens, and begin with a letter or a digit"
        )
    return _PATTERNS.get(pattern, f"must match the pattern {pattern}")


def _too_long(error: Mapping[str, Any]) -> str:
    most = error["ctx"]["max_length"]
    if most > 1:
        return f"has more than {most} characters"
    tab = '; a tab is "\\t" in double quotes' if error["loc"][-1] == "delimiter" else ""
    return f"must be one character{tab}"


def _too_short(error: Mapping[str, Any]) -> str:
    least = error["ctx"]["min_length"]
    return "must not be empty" if least == 1 else f"must have at least {least} characters"


def _too_few(error: Mapping[str, Any]) -> str:
    least = error["ctx"]["min_length"]
    return f"needs at least {least} {'entry' if least == 1 else 'entries'}"


_FORMS: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "string_pattern_mismatch": told_form,
    "string_too_long": _too_long,
    "string_too_short": _too_short,
    "too_short": _too_few,
    "literal_error": _not_among,
    "finite_number": lambda _: "must be a number, and neither infinite (.inf) nor none (.nan)",
}
"""Errors of texts, words, lists and numbers, and how each is told."""
_PATTERNS = {
    r"^[0-9a-f]{16}$": "must be the check value of a key, which has 16 characters from 0 to 9 and a to f: take that of "
    "the error that a job without key_id ends with, and put it in quotes",
    r"^[0-9]{1,9}(\.[0-9]{1,3})? ?[MGT]B$": "must be a size such as 512MB, 4GB or 1.5TB",
    r"^[1-9][0-9]{0,4}[mhd]$": "must be a number of minutes, hours or days, such as 30m, 20h or 7d",
    r"^[1-9][0-9]{0,8}(Mi|Gi|Ti|M|G|T)$": "must be a size as Kubernetes writes it, such as 16Gi",
    r"^\S{1,500}$": "must be the name of an image, without blanks",
    r"^sc://": "must be the address of a Spark Connect server, such as sc://host:15002",
}
"""What a text must look like, by the pattern of its key."""
_WRITTEN_NUMBER = re.compile(r" *([0-9]{1,15}(?:[.,][0-9]{1,15})?(?:e-?[0-9]{1,2})?) *(%?) *")
"""A number as people write it: with a comma, in quotes, or in per cent."""
_WHOLE = {"int_from_float", "int_type", "int_parsing"}
"""Errors of what is no whole number."""


def _number(value: Any) -> str:
    """Write a number, or a date, which has ends as well."""
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() else f"{value:g}"
    return str(value)


def _patterns(kind: Any, place: Sequence[Any]) -> Iterator[str]:
    """Yield the pattern of each text that may stand at a place."""
    for field in _fields(kind, place):
        yield from (one.pattern for one in field.metadata if isinstance(getattr(one, "pattern", None), str))


def _limits(kind: Any, place: Sequence[Any]) -> Iterator[dict[str, Any]]:
    """Yield the ends of the range of each key that may stand at a place."""
    for field in _fields(kind, place):
        yield {end: getattr(one, end) for one in field.metadata for end in _WORDS if hasattr(one, end)}


def _fields(kind: Any, place: Sequence[Any]) -> Iterator[FieldInfo]:
    """Yield each key that may stand at a place."""
    for model in _models_at(kind, place[:-1]) if place else ():
        yield from (field for name, field in model.model_fields.items() if place[-1] in (name, field.alias))


def _models_at(kind: Any, place: Sequence[Any]) -> Iterator[type[BaseModel]]:
    """Yield the models whose keys may stand at a place; positions in lists lead nowhere, tags to their kind."""
    if not place:
        yield from _models(kind)
        return
    fields = list(_fields(kind, place[:1]))
    tagged = [model for model in _models(kind) if place[0] in _tags(model)]
    for one in [field.annotation for field in fields] or tagged or [kind]:
        yield from _models_at(one, place[1:])


def _names(model: type[BaseModel]) -> list[str]:
    return [field.alias or name for name, field in model.model_fields.items()]


def _tags(model: type[BaseModel]) -> set[str]:
    return {word for field in model.model_fields.values() for word in _literals(field.annotation)}


def _models(kind: Any) -> Iterator[type[BaseModel]]:
    """Yield the models that an annotation names."""
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        yield kind
    for part in get_args(kind):
        if not isinstance(part, str):
            yield from _models(part)


_ENDS = {
    "greater_than": "gt",
    "greater_than_equal": "ge",
    "less_than": "lt",
    "less_than_equal": "le",
}
"""Errors of numbers, and the end of a range that each is about."""
_WORDS = {
    "ge": "at least",
    "gt": "above",
    "le": "at most",
    "lt": "below",
}


def _hint(key: str, keys: list[str]) -> str | None:
    near = difflib.get_close_matches(key, [known for known in keys if known != key], n=1)
    return f"did you mean {near[0]!r}?" if near else None


_YAML_WORDS = {"True": "true", "False": "false"}
_MAPPING = "must be a mapping"
_LIST = "must be a list"
_EXAMPLES = {
    "source": "{path: stays.csv}, or {conn_id: warehouse, table: clinic.stays}",
    "output": "{path: share}",
    "approval": "{by: [data.custodian]}",
    "dag": '{schedule: "45 2 * * *"}',
    "privacy": "{model: k-anonymity, k: 5}",
    "utility": "{measure: loss}",
    "search": "{algorithm: optimal}",
    "attributes": "{role: identifying}",
}
"""Mappings of a job as they may be written, by their keys, or by the key of which they are an entry."""
_DATE = "must be a date such as 2026-01-31, without a time"
_KINDS = {
    "tuple_type": _LIST,
    "dict_type": _MAPPING,
    "model_type": _MAPPING,
    "model_attributes_type": _MAPPING,
    "bool_type": "must be true or false, without quotes",
    "date_type": _DATE,
    "date_parsing": _DATE,
    "date_from_datetime_parsing": _DATE,
    "date_from_datetime_inexact": _DATE,
    "string_type": "must be text; put it in quotes if it is a number, a date, or a word such as no or null",
}


def _known_keys(kind: Any, seen: frozenset[Any] = frozenset()) -> Iterator[str]:
    """Yield the keys of `kind` and of everything it holds, for the hint at a misspelt key."""
    if kind in seen:
        return
    seen |= {kind}
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        for name, field in kind.model_fields.items():
            yield field.alias or name
            yield from _known_keys(field.annotation, seen)
        return
    for part in get_args(kind):
        if not isinstance(part, str):
            yield from _known_keys(part, seen)

"""The mistakes of a document, one line each: the place, what is wrong, what is allowed, and what may be meant.

In: what pydantic found. Out: the lines.
"""

from __future__ import annotations

import difflib
import itertools
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pydantic import BaseModel

from engine.spec.keys import fields_at, keys_of, known_keys, limits_at, literals_in, models_at, patterns_at
from engine.spec.most_records import MOST_RECORDS
from engine.spec.one_line import LONGEST, on_a_line, shortened

TOLD = 20
"""Mistakes that one error names; whoever made more learns their number."""
_PER_CENT = 100


def mistakes(errors: Sequence[Mapping[str, Any]], document: Mapping[str, Any], kind: type[BaseModel]) -> list[str]:
    """Return a line per mistake, and one that tells how many there are where these are not all.

    Parameters
    ----------
    errors : sequence of mappings
        Of a `ValidationError`.
    """
    keys = sorted(known_keys(kind))
    meant = _of_the_kind_meant([dict(error) for error in errors])
    first = list(itertools.islice((error for error in meant if not _follows(error, meant)), TOLD))
    lines = list(dict.fromkeys(_line(error, keys, document, kind) for error in first))
    if len(meant) > TOLD:
        lines.append(f"{len(meant)} mistakes in all, of which these are the first")
    return lines


def _of_the_kind_meant(errors: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return one problem of a key that takes words or a mapping, or numbers of two kinds: pydantic names both."""
    decimals = {error["loc"][:-1] for error in errors if error["type"] == "float_type" and error["loc"][-1] == "float"}
    words = {error["loc"][:-1]: error for error in errors if error["type"] == "literal_error"}
    mappings = {error["loc"][:-1]: error for error in errors if _KINDS.get(error["type"]) == _MAPPING}
    below = {error["loc"][:depth] for error in errors for depth in range(len(error["loc"]) - 1)}
    left = []
    for error in errors:
        place = error["loc"][:-1]
        if error["type"] in _WHOLE and error["loc"][-1] == "int" and place in decimals:
            continue
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
        keys.append(on_a_line(str(part)))
    return keys


def _text(error: dict[str, Any], keys: list[str], kind: type[BaseModel]) -> str:
    context = error.get("ctx", {})
    if error["type"] == "extra_forbidden":
        key = shortened(str(error["loc"][-1]))
        here = sorted({name for model in models_at(kind, error["loc"][:-1]) for name in keys_of(model)})
        # a key of another place is none here, whatever looks like it there
        near = _hint(key, here) or (None if key in keys else _hint(key, keys))
        return f"unknown key {key!r}, {near or 'remove it'}"
    if error["type"] == "union_tag_invalid":
        tags = context["expected_tags"]
        return (
            f"{context['discriminator']} is {context['tag']!r}, allowed are {tags}{_meant(str(context['tag']), tags)}"
        )
    if error["type"] == "string_type" and isinstance(error["input"], int | float):
        form = next((_PATTERNS[one] for one in patterns_at(kind, error["loc"]) if one in _PATTERNS), None)
        if form is not None:
            return form
    if error["type"] in _KINDS:
        return _KINDS[error["type"]] + _instead(error)
    if error["type"] in _FORMS:
        return _FORMS[error["type"]](error)
    return shortened(str(error["msg"]).removeprefix("Value error, "), 10 * LONGEST)


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
    fields = list(fields_at(kind, place))
    words = dict.fromkeys(word for field in fields for word in literals_in(field.annotation))
    if words:
        return f", {'allowed are' if len(words) > 1 else 'as'} {', '.join(map(repr, words))}"
    return _range(kind, place)


def _out_of_range(error: dict[str, Any], kind: type[BaseModel]) -> str:
    """Say what a number is, and both ends of what its key allows."""
    end = _ENDS[error["type"]]
    known = [limits for limits in limits_at(kind, error["loc"]) if limits.get(end) == error["ctx"][end]]
    allowed = known[0] if known and all(one == known[0] for one in known) else {end: error["ctx"][end]}
    told = {one: value for one, value in allowed.items() if one == end or value != MOST_RECORDS}
    return f"must be {_in_words(told)}, and is {shortened(str(error['input']))}{_per_cent(error, allowed)}"


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
        return f"{told}, and is {shortened(str(error['input']))}"
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
    known = list(limits_at(kind, place))
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
    told = repr(shortened(given)) if isinstance(given, str) else _YAML_WORDS.get(str(given), str(given))
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
    "decimal_whole_digits": lambda error: (
        f"must have at most {error['ctx']['whole_digits']} digits before the point; choose another"
    ),
    "decimal_max_places": lambda error: (
        f"must have at most {error['ctx']['decimal_places']} digits after the point; round it"
    ),
    "decimal_max_digits": lambda error: f"must have at most {error['ctx']['max_digits']} digits; round it",
    "decimal_parsing": lambda _: "must be a number, such as 5 or 2.5",
    "decimal_type": lambda _: "must be a number, such as 5 or 2.5",
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

"""A text that knows which of its numbers count records or persons.

In: words and counts. Out: the text for a person, and its parts, so that code which shows the text can withhold counts
that are too small.
"""

from __future__ import annotations

from collections.abc import Iterable
from string import Formatter
from typing import Any

from typing_extensions import Self


class Count(int):
    """A number of records, persons, values, rows or classes in a text.

    Settings of a job (k, levels, limits, seconds) are not counts: everyone may read the job.
    """


Part = str | Count


class Message(str):
    """A text for a person, and the counts in it.

    It is a `str`, so it is read like any other. Only methods of this class keep the counts: an f-string or `str.join`
    of messages is plain text, in which counts cannot be told from other numbers.

    Parameters
    ----------
    *parts : str, Count or Message
        Words and counts in the order of the text; the parts of a message are taken over.

    Examples
    --------
    >>> found = Message.of("{few} of 40 classes in column {name!r}", few=Count(2), name="age")
    >>> print(found)
    2 of 40 classes in column 'age'
    >>> Message("refused: ", found).parts
    ['refused: ', {'count': 2}, " of 40 classes in column 'age'"]
    """

    __slots__ = ("_parts",)
    _parts: tuple[Part, ...]

    def __new__(cls, *parts: str | Count) -> Self:  # noqa: D102 (documented by its class)
        merged = _merged(parts)
        made = super().__new__(cls, "".join(map(str, merged)))
        made._parts = merged
        return made

    def __getnewargs__(self) -> tuple[Part, ...]:  # type: ignore[override]
        """Return the arguments for a copy: a copy of the text alone would lose the counts."""
        return self._parts

    @property
    def parts(self) -> list[str | dict[str, int]]:
        """The parts as plain data for JSON: words as they are, a count as `{"count": n}`."""
        return [{"count": int(part)} if isinstance(part, Count) else part for part in self._parts]

    @property
    def on_one_line(self) -> Self:
        """The same with line ends and marks that nobody sees, as names of columns may hold them, as their codes."""
        return type(self)(*(part if isinstance(part, Count) else visible(part) for part in self._parts))

    @classmethod
    def of(cls, template: str, **values: object) -> Self:
        """Fill a template as `str.format` does with names; counts, also inside messages, stay counts.

        The template must be a literal; pass data as values, because a name may hold a brace.
        """
        parts: list[str | Count] = []
        for words, name, form, conversion in Formatter().parse(template):
            parts.append(words)
            if name is not None:
                parts.append(_filled(values[name], conversion, form or ""))
        return cls(*parts)

    @classmethod
    def joined(cls, separator: str, messages: Iterable[str | Count]) -> Self:
        """Join messages or words as `separator.join` does; their counts stay counts."""
        parts: list[str | Count] = []
        for number, message in enumerate(messages):
            parts += [separator, message] if number else [message]
        return cls(*parts)

    @classmethod
    def from_parts(cls, parts: Any) -> Self:
        """Read a message from the plain data of `parts`.

        Raises
        ------
        ValueError
            It is not a list of words and counts.
        """
        if not isinstance(parts, list):
            raise ValueError("the parts of a message must be a list of texts and counts")  # noqa: TRY004 (a wrong document, not a wrong argument)
        return cls(*map(_read, parts))


def visible(text: str) -> str:
    """Return a text on one line: line ends and marks that nobody sees as their codes."""
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in text)


def _filled(value: object, conversion: str | None, form: str) -> str | Count:
    if isinstance(value, Count | Message):
        return value
    return format(Formatter().convert_field(value, conversion), form)


def _merged(parts: Iterable[str | Count]) -> tuple[Part, ...]:
    """Take over the parts of messages, and merge adjacent words into one part."""
    merged: list[Part] = []
    for part in parts:
        for single in part._parts if isinstance(part, Message) else (part,):  # noqa: SLF001 (of this class)
            if isinstance(single, str) and merged and isinstance(merged[-1], str):
                merged[-1] += single
            elif single != "":
                merged.append(single)
    return tuple(merged)


def _read(part: Any) -> Part:
    if isinstance(part, str):
        return part
    if isinstance(part, dict) and list(part) == ["count"] and type(part["count"]) is int:
        return Count(part["count"])
    raise ValueError('a part of a message must be a text or {"count": n} with a whole number n')

"""YAML as job files use it: plain data, no key twice in one mapping, and no more of it than a person writes.

A few hundred bytes of YAML can expand to gigabytes (an alias of a list of aliases), nest deeper than any reader can
follow, or have a tag that does not fit its value. Every text is either read or refused with a `ValueError`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from engine.errors import InvalidJob, is_file

DEEPEST = 50
"""Mappings and lists inside each other; a job has about ten."""
MOST = 1_000_000
"""Keys, values and list items, with aliases expanded; a policy of all ZIP codes has some 100,000."""

_NUMBERS = {"tag:yaml.org,2002:int", "tag:yaml.org,2002:float"}
_OTHER_BASE = re.compile(r"[-+]?0[0-7_]+|.*:.*")
"""Numbers that mean another one to YAML 1.1 than to whoever wrote them, such as k: 011 and a ZIP code."""
_READ_AS = {"int": "a number", "float": "a number", "bool": "true or false", "timestamp": "a date"}
"""What YAML takes a text without quotes for, by its tag."""
_SURROGATES = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_WITHOUT_POINT = ("tag:yaml.org,2002:float", re.compile(r"[-+]?[0-9]+[eE][-+][0-9]+$"), [*"-+0123456789"])
"""Numbers such as 1e-6: YAML 1.1 asks for a point in them. Without a sign, 1e6 may be a code, and stays a text."""


class _RefusedError(ValueError):
    """What this module says itself."""


class _Loader(yaml.SafeLoader):
    """PyYAML's safe loader, which takes the last of equal keys without a word; this one refuses them."""

    def __init__(self, stream: str) -> None:
        super().__init__(stream)
        self._depth = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        self._depth += 1
        if self._depth > DEEPEST:
            line = 1 if parent is None else parent.start_mark.line + 1
            raise _RefusedError(f"line {line}: is nested deeper than {DEEPEST} levels; write it flatter")
        try:
            return super().compose_node(parent, index)
        finally:
            self._depth -= 1

    def get_single_node(self) -> yaml.Node | None:
        root = super().get_single_node()
        if root is not None and _size(root, {}) > MOST:
            raise _RefusedError(f"unfolds to more than {MOST} entries; remove aliases of aliases")
        return root

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        if isinstance(node, yaml.ScalarNode) and node.tag in _NUMBERS and _OTHER_BASE.fullmatch(node.value):
            raise _RefusedError(
                f"line {node.start_mark.line + 1}: YAML reads a number that begins with 0 to the base 8, and one with "
                "a colon to the base 60; put it in quotes if it is a code or a time, else write it in decimal"
            )
        try:
            return super().construct_object(node, deep)
        except (yaml.YAMLError, _RefusedError, RecursionError):
            raise
        except Exception:  # noqa: BLE001 (constructors of tags raise whatever their types do; the text may be a value)
            tag = node.tag.removeprefix("tag:yaml.org,2002:")
            line = node.start_mark.line + 1
            raise _RefusedError(
                f"line {line}: a value cannot be read as {tag}; correct it, or put it in quotes"
            ) from None

    def construct_scalar(self, node: yaml.Node) -> Any:
        text = super().construct_scalar(node)  # type: ignore[arg-type]
        if isinstance(text, str) and _SURROGATES.search(text):
            # JSON escapes a character beyond 16 bits as a pair of surrogates, which PyYAML reads one by one
            return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
        return text

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and key.tag != "tag:yaml.org,2002:merge":
                if key.value in seen:
                    raise _RefusedError(
                        f"line {key.start_mark.line + 1}: the key {key.value!r} occurs twice; remove one"
                    )
                if key.tag != "tag:yaml.org,2002:str":
                    tag = key.tag.removeprefix("tag:yaml.org,2002:")
                    kind = _READ_AS.get(tag, tag)
                    raise _RefusedError(
                        f"line {key.start_mark.line + 1}: the key {key.value!r} is read as {kind}; put it in quotes"
                    )
                seen.add(key.value)
        return super().construct_mapping(node, deep)


_Loader.add_implicit_resolver(*_WITHOUT_POINT)


class Dumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]
    """PyYAML's safe dumper, which puts texts in quotes that `read_yaml` would take for something else.

    The one in C, ten times as fast, where PyYAML was built with it: a night writes its job a dozen times.
    """


Dumper.add_implicit_resolver(*_WITHOUT_POINT)


def _size(node: yaml.Node, known: dict[int, int]) -> int:
    """Count the nodes of a document as if each alias were a copy; beyond `MOST` they are not counted on."""
    if id(node) in known:
        return known[id(node)]
    known[id(node)] = MOST + 1  # an alias of what it stands in never ends
    parts: list[yaml.Node] = []
    if isinstance(node, yaml.MappingNode):
        parts = [part for pair in node.value for part in pair]
    elif isinstance(node, yaml.SequenceNode):
        parts = node.value
    size = 1
    for part in parts:
        size = min(size + _size(part, known), MOST + 1)
    known[id(node)] = size
    return size


def read_yaml(text: str) -> Any:
    """Read one YAML document.

    Raises
    ------
    ValueError
        It is not YAML, a mapping holds a key twice, a value does not fit its tag, or it is too deep or too large. The
        line is named where there is one, no value is.
    """
    try:
        return yaml.load(text, _Loader)  # noqa: S506 (a safe loader)
    except yaml.MarkedYAMLError as problem:
        raise ValueError(_told(problem)) from None
    except (yaml.YAMLError, RecursionError):
        raise ValueError("is not YAML; check for characters that are not text") from None


def _told(problem: yaml.MarkedYAMLError) -> str:
    """Return what is wrong with a text that is not YAML, where, and what may be changed."""
    words, context = str(problem.problem), str(problem.context)
    begin = problem.context_mark
    if "quoted scalar" in context and "end of stream" in words and begin:
        return f"line {begin.line + 1}: is not YAML, the quote that opens here is not closed; close it"
    # what has no colon is found to be no key only behind it
    mark = begin if "simple key" in context else problem.problem_mark
    line = f"line {mark.line + 1}: " if mark else ""
    told = f"{line}is not YAML, {words}"
    if "flow" in context and begin:
        opened = "{" if "mapping" in context else "["
        return f"{told}; close the {opened} of line {begin.line + 1}, or write a comma between its entries"
    fix = next((fix for part, fix in _FIXES.items() if part in words), None)
    return told if fix is None else f"{told}; {fix}"


_FIXES = {
    "found character '\\t'": "write blanks instead of the tab",
    "found character": "put a text that begins with it in quotes",
    "escape": "a backslash in double quotes begins an escape: use single quotes, or / in a path",
    "another document": "a file has one: take out the line --- and what follows, or put it in a file of its own",
    "<document start>": "begin all keys of the file in the first column; a line of three points ends a document",
    "<block mapping start>": "indent the keys of one mapping alike",
    "<block sequence start>": "indent the entries of one list alike",
    "found '-'": "a list stands where a key belongs: take out the '- ', or indent the list below its key",
    "found '?'": "a key stands where '- ' belongs: take out the '- ' of the lines before it, or "
    "indent the key below one",
    "<scalar>": "a text goes on after its quote: put all of it in one pair of quotes, write a quote in it twice, or "
    "close the quote of a line before",
    "mapping values": "write a blank after the colon of each key, indent the keys of one mapping alike, and put a text "
    "that has a colon and a blank in quotes",
    "expected ':'": "write it as a key, a colon and a blank, or as part of the text before it by indenting it",
    "alphabetic or numeric": "put a text that begins with * or & in quotes",
    "undefined alias": "put a text that begins with * in quotes",
    "constructor for the tag": "put a text that begins with ! in quotes",
    "indentation indicators": "put a text that begins with | or > in quotes",
}
"""What may be changed, by a part of what PyYAML says; the first that fits."""


def looked_for_in(path: Path, problem: OSError) -> str:
    """Say where a relative path was looked for: the process that reads it may work in another folder than expected."""
    if isinstance(problem, PermissionError):
        return "; let the user who runs this read it"
    return "" if path.is_absolute() else f"; a relative path belongs to the working directory, here {Path.cwd()}"


def read_yaml_file(path: Path, where: str, shown: Callable[[str], str] = str) -> Any:
    """Read a file that holds one YAML document.

    Parameters
    ----------
    where : str
        What the file is, for errors.
    shown : callable
        What an error may show of a message about the text.

    Raises
    ------
    InvalidJob
        It cannot be read, is not UTF-8, or `read_yaml` refuses it.
    """
    try:
        # a device without an end, or a pipe that nobody writes to, would never be read
        if path.exists() and not is_file(path):
            kind = "is a folder; name a file in it" if path.is_dir() else "cannot be read (it is not a file)"
            raise InvalidJob(f"{where}: {kind}")
        return read_yaml(path.read_text(encoding="utf-8"))
    except OSError as problem:
        raise InvalidJob(f"{where}: cannot be read ({problem.strerror}){looked_for_in(path, problem)}") from None
    except UnicodeDecodeError:
        raise InvalidJob(f"{where}: is not UTF-8 text; save it as UTF-8") from None
    except ValueError as problem:
        raise InvalidJob(f"{where}: {shown(str(problem))}") from None

"""What several job files share: a file that a job extends, and a library of hierarchies.

In: the document of a job file, and its folder. Out: the document without the keys `extends` and `hierarchies`, with
what they stand for in their place, and every path of another file as seen from the job's folder.

    extends: _hospital.yaml            # or a list of files; of what two of them say, the later file's counts
    hierarchies: _hierarchies.yaml     # name to hierarchy; or such a mapping itself
    attributes:
      gender: {role: quasi-identifying, hierarchy: {shared: gender}}

A job extends a file key by key: mappings are joined, anything else of the job takes the place of what the file says.
Null in place of a mapping or a list of the file removes it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from engine.errors import InvalidJob
from engine.job.attribute import WrittenHierarchy
from engine.job.yaml_text import read_yaml_file
from engine.spec import Spec, parse

EXTENDS, LIBRARY, SHARED = "extends", "hierarchies", "shared"
PATHS = (
    "path",
    "file",
    "population",
    "populations",
    "subset",
    "current",
    "key_file",
    "vault",
    "blocks",
    "facts",
    "kept_in",
)
"""Keys of a job's document whose texts are paths."""
JOB_KEYS = "with the keys name, source, attributes, privacy, ..."
_FRONTIER = "frontier"
"""What `choose.from` may name besides a file."""


class _Library(Spec):
    """What a library is checked by: also the entries that no attribute names."""

    hierarchies: dict[str, WrittenHierarchy]


def read_document(path: Path, what: str, of: str = JOB_KEYS) -> Mapping[str, Any]:
    """Read a YAML file that holds a mapping.

    Parameters
    ----------
    path : Path
    what : str
        What the file is, for the error.
    of : str
        What the mapping is of, for the error.

    Raises
    ------
    InvalidJob
        It cannot be read, or is no mapping.
    """
    document = read_yaml_file(path, f"{what} {path}")
    if not isinstance(document, Mapping):
        raise InvalidJob(f"{what} {path}: must be a mapping {of}")
    return document


def expanded(document: Mapping[str, Any], folder: Path, where: str) -> dict[str, Any]:
    """Return the document of a job with everything that it shares in its place.

    Parameters
    ----------
    document : mapping
        As in the job file.
    folder : Path
        Folder to which its relative paths belong.
    where : str
        What it is, for errors.

    Raises
    ------
    InvalidJob
        A file cannot be read, extends itself, or the library has a wrong hierarchy, or none of a name.
    """
    found = _extended(document, folder, where, ())
    library = _library(found.pop(LIBRARY, {}), folder, where)
    found |= _with_library(found, library, where)
    tables = found.get("tables")
    if isinstance(tables, Mapping):
        found["tables"] = {
            name: {**one, **_with_library(one, library, f"{where}: tables.{name}")} if isinstance(one, Mapping) else one
            for name, one in tables.items()
        }
    return found


def _with_library(part: Mapping[str, Any], library: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Return the attributes of a job or of one of its tables, hierarchies of the library in place of their names."""
    attributes = part.get("attributes")
    if not isinstance(attributes, Mapping):
        return {}
    return {"attributes": {name: _with_shared(one, name, library, where) for name, one in attributes.items()}}


def _extended(document: Mapping[str, Any], folder: Path, where: str, inside: tuple[Path, ...]) -> dict[str, Any]:
    """Return the document joined with the files that it extends; `inside` are those that are being read."""
    own = {key: value for key, value in document.items() if key != EXTENDS}
    joined: dict[str, Any] = {}
    for name in _names(document.get(EXTENDS, []), where):
        path = (folder / name).resolve()
        if path in inside:
            raise InvalidJob(f"{where}: {EXTENDS}: {name} extends itself; take it out of one of the files")
        what = f"{where}: {EXTENDS}: file"
        other = _extended(
            _other_document(path, what, JOB_KEYS), path.parent, f"{where}: {EXTENDS} {name}", (*inside, path)
        )
        joined = _joined(joined, _moved(other, path.parent, folder))
    return _joined(joined, own)


def _other_document(path: Path, what: str, of: str) -> Mapping[str, Any]:
    """Read a file that another one names."""
    if not path.exists():
        raise InvalidJob(f"{what} {path}: not found; the path is relative to the file that names it")
    return read_document(path, what, of)


def _names(named: Any, where: str) -> Sequence[str]:
    names = [named] if isinstance(named, str) else named
    if not isinstance(names, list) or not all(isinstance(one, str) and one and "\0" not in one for one in names):
        raise InvalidJob(f"{where}: {EXTENDS}: must be the path of a file, or a list of paths")
    return names


def _joined(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Join two mappings; what `above` says counts, and its nulls remove what `below` says."""
    found = dict(below)
    for key, value in above.items():
        under = found.get(key)
        if value is None and isinstance(under, Mapping | list):
            del found[key]
        elif isinstance(under, Mapping) and isinstance(value, Mapping):
            found[key] = _joined(under, value)
        else:
            found[key] = value
    return found


def _library(named: Any, folder: Path, where: str) -> Mapping[str, Any]:
    """Return the hierarchies by name."""
    if isinstance(named, str):
        path = folder / named
        found = _other_document(path, f"{where}: {LIBRARY}: file", "of names to hierarchies")
        named = {name: _moved_hierarchy(one, path.resolve().parent, folder) for name, one in found.items()}
    if not isinstance(named, Mapping):
        raise InvalidJob(f"{where}: {LIBRARY}: must be the path of a file, or a mapping of names to hierarchies")
    for name, one in named.items():
        if isinstance(one, Mapping) and SHARED in one:
            raise InvalidJob(
                f"{where}: {LIBRARY}.{name}: names another hierarchy of the library; give it a builder with its keys, "
                "or the path of a file"
            )
    parse(_Library, {LIBRARY: named}, where)
    return named


def _with_shared(attribute: Any, name: str, library: Mapping[str, Any], where: str) -> Any:
    """Return an attribute in which a hierarchy of the library stands in place of its name."""
    hierarchy = attribute.get("hierarchy") if isinstance(attribute, Mapping) else None
    if not isinstance(hierarchy, Mapping) or SHARED not in hierarchy:
        return attribute
    wanted = hierarchy[SHARED]
    if len(hierarchy) > 1:
        raise InvalidJob(f"{where}: attributes.{name}.hierarchy: {SHARED} stands alone; remove the other keys")
    if not isinstance(wanted, str) or wanted not in library:
        known = (
            f"known are: {', '.join(map(str, library))}"
            if library
            else (
                f"the job has none; add {LIBRARY} with the path of a file that has it, or with a mapping of names to "
                "hierarchies"
            )
        )
        raise InvalidJob(f"{where}: attributes.{name}.hierarchy.{SHARED}: is not in {LIBRARY}; {known}")
    return {**attribute, "hierarchy": library[wanted]}


def _moved(document: Mapping[str, Any], old: Path, new: Path) -> dict[str, Any]:
    """Return the document of a file in one folder as it is written in another one."""
    return {key: _moved_part(key, part, old, new) for key, part in document.items()}


def _moved_part(key: str, part: Any, old: Path, new: Path) -> Any:
    if isinstance(part, str):
        return _moved_path(part, old, new) if key in {*PATHS, LIBRARY, "hierarchy"} else part
    if isinstance(part, Mapping):
        if key == "choose" and part.get("from", _FRONTIER) != _FRONTIER:
            return {**_moved(part, old, new), "from": _moved_path(str(part["from"]), old, new)}
        if key == LIBRARY:
            return {name: _moved_hierarchy(one, old, new) for name, one in part.items()}
        return _moved(part, old, new)
    return [_moved_part("", one, old, new) for one in part] if isinstance(part, list) else part


def _moved_hierarchy(hierarchy: Any, old: Path, new: Path) -> Any:
    return _moved_part("hierarchy", hierarchy, old, new)


def named_paths(part: Any, key: str = "") -> Iterator[str]:
    """Yield the paths that a document of a job names."""
    if isinstance(part, str):
        if key in {*PATHS, "hierarchy"}:
            yield part
    elif isinstance(part, Mapping):
        for name, one in part.items():
            yield from named_paths(one, str(name))
    elif isinstance(part, list):
        for one in part:
            yield from named_paths(one, key)


def _moved_path(path: str, old: Path, new: Path) -> str:
    if "://" in path or Path(path).is_absolute() or "\0" in path:
        return path
    return os.path.relpath(old / path, new)

"""Policies in files that a person can read and write: one line per group, and nothing that depends on the date.

In: the document of a policy, attribute to list of groups. Out: YAML; the same policy gives the same bytes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from engine.errors import InvalidJob
from engine.job.yaml_text import read_yaml_file

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
_QUOTED = re.compile(r"'(?!<)[^']*'|\"[^\"]*\"")
"""What a message about YAML repeats of the file; `'<block end>'` is a name of the grammar."""
_ESCAPED = {'"': '\\"', "\\": "\\\\"}


def policy_text(name: str, policy: Mapping[str, Any]) -> str:
    """Write a policy as text.

    Parameters
    ----------
    name : str
        Name of the job whose columns it groups.
    policy : mapping of attribute to list of groups
    """
    lines = [f"name: {_key(name)}", "policy:"]
    for attribute, groups in policy.items():
        lines.append(f"  {_key(attribute)}:")
        lines += [f"    - {{{', '.join(f'{key}: {_flow(part)}' for key, part in group.items())}}}" for group in groups]
    return "\n".join(lines) + "\n"


def _key(text: str) -> str:
    """Write a name, without quotes if YAML reads it as the same text."""
    return text if _PLAIN.fullmatch(text) and yaml.safe_load(text) == text else _quoted(text)


def _flow(part: str | list[str] | None) -> str:
    if isinstance(part, list):
        return f"[{', '.join(map(_quoted, part))}]"
    return "null" if part is None else _quoted(part)


def _quoted(text: str) -> str:
    """Write a text in double quotes, invisible characters as their numbers: YAML reads some of them as line breaks."""
    return '"' + "".join(_character(character) for character in text) + '"'


def _character(character: str) -> str:
    if character in _ESCAPED:
        return _ESCAPED[character]
    return character if character.isprintable() else f"\\U{ord(character):08x}"


def read_policy(path: str | Path) -> dict[str, Any]:
    """Read a policy from a file.

    Returns
    -------
    dict of attribute to list of groups
        Its groups are not checked: that needs the job to which they belong.

    Raises
    ------
    InvalidJob
        The file cannot be read, or holds no policy.
    """
    where = f"policy file {Path(path).name}"
    document = read_yaml_file(Path(path), where, shown=lambda text: _QUOTED.sub("...", text))
    policy = document.get("policy") if isinstance(document, Mapping) else None
    if not isinstance(policy, Mapping) or not all(isinstance(groups, list) for groups in policy.values()):
        raise InvalidJob(f"{where}: must be a mapping with the key policy, which gives each column a list of groups")
    foreign = len(set(map(str, document)) - {"name", "policy"})
    if foreign:
        raise InvalidJob(f"{where}: unknown keys: {foreign}; allowed are 'name', 'policy'")
    return {str(attribute): list(groups) for attribute, groups in policy.items()}

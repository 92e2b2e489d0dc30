"""YAML as job files use it: plain data, and no key twice in one mapping."""

from __future__ import annotations

from typing import Any

import yaml


class _Loader(yaml.SafeLoader):
    """PyYAML's safe loader silently takes the last of equal keys; this loader refuses them."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and key.tag != "tag:yaml.org,2002:merge":
                if key.value in seen:
                    raise ValueError(f"line {key.start_mark.line + 1}: the key {key.value!r} occurs twice; remove one")
                seen.add(key.value)
        return super().construct_mapping(node, deep)


def read_yaml(text: str) -> Any:
    """Read one YAML document.

    Raises
    ------
    ValueError
        It is not YAML, or a mapping has a key twice. The message names the line.
    """
    try:
        return yaml.load(text, _Loader)  # noqa: S506 (a safe loader)
    except yaml.MarkedYAMLError as problem:
        line = f"line {problem.problem_mark.line + 1}: " if problem.problem_mark else ""
        raise ValueError(f"{line}is not YAML, {problem.problem}") from None
    except (yaml.YAMLError, RecursionError):
        raise ValueError("is not YAML; check for characters that are not text") from None

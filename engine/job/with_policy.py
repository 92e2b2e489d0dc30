"""A job's quasi-identifiers with the groups of a policy in place of their levels.

In: the attributes of a job and the document of a policy. Out: the same attributes, each with a hierarchy of the builder
`policy` on top of its own one, fixed at the level of the groups. Counting, transformation and verification need nothing
else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from engine.errors import InvalidJob
from engine.hierarchy.policy_groups import PolicyGroups
from engine.job.attribute import Attribute
from engine.spec import parse

LEVEL = 1
"""The level of the groups."""


def is_policy(attribute: Attribute) -> bool:
    """Tell whether a column has the groups of a policy."""
    return isinstance(attribute.hierarchy, PolicyGroups)


def with_policy(
    attributes: Mapping[str, Attribute], policy: Mapping[str, Any], *, chosen: bool = False
) -> dict[str, Attribute]:
    """Return quasi-identifying columns with the groups of a policy.

    Parameters
    ----------
    chosen : bool
        Whether a rule chose it, so that records in no group are those that its release leaves out.

    Raises
    ------
    InvalidJob
        The policy has other columns, or invalid groups.
    """
    unnamed = [name for name in attributes if name not in policy]
    foreign = sum(name not in attributes for name in policy)
    if unnamed or foreign:
        raise InvalidJob(
            f"policy: must hold the quasi-identifying columns and no others; it lacks {_listed(unnamed)}; "
            f"others that it has: {foreign}"
        )
    return {name: _with_groups(name, attribute, policy[name], chosen) for name, attribute in attributes.items()}


def _with_groups(name: str, attribute: Attribute, groups: Any, chosen: bool) -> Attribute:
    settings = {"hierarchy": without_policy(attribute).hierarchy, **_settings(attribute, groups)}
    hierarchy: PolicyGroups = parse(PolicyGroups, settings, f"policy of column {name!r}")
    if hierarchy.joins_missing:
        raise InvalidJob(
            f"policy of column {name!r}: joins missing values with some others; a release can show missing values only "
            "alone or together with all others; split the group after the missing value"
        )
    unseen = _unseen(attribute, chosen=chosen)
    levels = {"minimum_level": LEVEL, "maximum_level": LEVEL}
    return attribute.model_copy(update={"hierarchy": hierarchy, **levels, "unseen": unseen})


def _unseen(attribute: Attribute, *, chosen: bool) -> str:
    return "suppress" if chosen and leaves_out_groups(attribute) else attribute.unseen


def without_policy(attribute: Attribute) -> Attribute:
    """Return a quasi-identifying column with its own hierarchy and levels instead of a policy's groups."""
    groups = attribute.hierarchy
    if not isinstance(groups, PolicyGroups):
        return attribute
    below = {
        "hierarchy": groups.hierarchy,
        "minimum_level": groups.minimum_level,
        "maximum_level": groups.maximum_level,
    }
    return attribute.model_copy(update=below)


def leaves_out_groups(attribute: Attribute) -> bool:
    """Tell whether a policy that a rule chose is told without groups of which the file has no value.

    All values in no group are suppressed then; where they become the root no group is left out.
    """
    return attribute.unseen != "root"


def has_values_of_table(attribute: Attribute) -> bool:
    """Tell whether the groups of a policy that a rule chose end at values of the file.

    They do where the values of the hierarchy are those of the table.
    """
    below = without_policy(attribute).hierarchy
    return below is not None and not below.fixed_domain and leaves_out_groups(attribute)


def groups_of(attributes: Mapping[str, Attribute]) -> dict[str, list[dict[str, Any]]]:
    """Return the document of the policy whose groups these columns have."""
    return {
        name: [dict(group) for group in attribute.hierarchy.groups]
        for name, attribute in attributes.items()
        if isinstance(attribute.hierarchy, PolicyGroups)
    }


def written_with_policy(
    document: Mapping[str, Any], attributes: Mapping[str, Attribute], policy: Mapping[str, Any], *, chosen: bool
) -> dict[str, Any]:
    """Return a job's document with the groups of a policy; the paths of files are kept as they were written."""
    entries = dict(document["attributes"])
    for name, attribute in attributes.items():
        below = entries[name]["hierarchy"]
        below = below["hierarchy"] if below["builder"] == "policy" else below
        settings = _settings(attribute, [dict(group) for group in policy[name]])
        kept = {key: value for key, value in settings.items() if value is not None}
        entries[name] = {
            **entries[name],
            "hierarchy": {"builder": "policy", "hierarchy": below, **kept},
            "minimum_level": LEVEL,
            "maximum_level": LEVEL,
            "unseen": _unseen(attribute, chosen=chosen),
        }
    search = {key: value for key, value in document["search"].items() if key != "file"}
    written = {**document, "attributes": entries, "search": {**search, "algorithm": "policy"}}
    written.pop("choose", None)
    return written


def _settings(attribute: Attribute, groups: Any) -> dict[str, Any]:
    own = without_policy(attribute)
    return {
        "groups": groups,
        "order": own.domain_order,
        "minimum_level": own.minimum_level,
        "maximum_level": own.maximum_level,
    }


def missing_outside(attributes: Mapping[str, Attribute], with_missing: Sequence[str]) -> list[str]:
    """Return those columns with missing values whose policy has no group for them."""
    return [
        name
        for name in with_missing
        if isinstance(groups := attributes[name].hierarchy, PolicyGroups) and not groups.takes_missing
    ]


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names)) if names else "none"

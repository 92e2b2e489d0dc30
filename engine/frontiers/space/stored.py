"""A policy space and its policies as plain data, so that a report need not repeat the groups of every policy.

In: a space, and the bits of a policy. Out: the domains once, and a short text for each policy; and back, to the groups.
docs/frontier.md describes both for programs that do not use this one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from engine.errors import InvalidJob
from engine.frontiers.document import PolicyDocument, StoredDomain
from engine.frontiers.space.domain import Bits, Domain, PolicySpace
from engine.frontiers.space.policy import Policy
from engine.json_document import strict_json


def stored_space(space: PolicySpace) -> list[StoredDomain]:
    """Return the domains of a space as plain data."""
    return [
        {
            "attribute": domain.attribute,
            "ordered": domain.ordered,
            "values": list(domain.labels),
            "names": list(domain.names),
            "parents": [] if domain.ordered else domain.parents.tolist(),
            "separators": [] if domain.ordered else domain.separators.tolist(),
        }
        for domain in space.domains
    ]


def stored_bits(bits: Bits) -> str:
    """Return bits, shape (size,), as hexadecimal digits: the first bit is the highest one of the first digit."""
    return np.packbits(bits).tobytes().hex()


def read_space(domains: Sequence[Mapping[str, Any]]) -> PolicySpace:
    """Return the space of stored domains.

    Raises
    ------
    ValueError, KeyError, TypeError, IndexError
        They have another form.
    """
    return PolicySpace([_domain(domain) for domain in domains])


def read_bits(text: str, size: int) -> Bits:
    """Return the bits of a stored policy, shape (size,).

    Raises
    ------
    ValueError
        The text has another number of digits, or is not hexadecimal.
    """
    octets = np.frombuffer(bytes.fromhex(text), np.uint8)
    if octets.size != -(-size // 8):
        raise ValueError(f"bits: are {8 * octets.size}, must be {size}")
    return np.unpackbits(octets, count=size).astype(np.bool_)


def policy_reader(report: Mapping[str, Any]) -> Callable[[Mapping[str, Any]], PolicyDocument]:
    """Return the function that gives the groups of the policy of an entry of a frontier's report.

    Raises
    ------
    ValueError, KeyError, TypeError, IndexError
        The report has another form; the function that is returned raises these too.
    """
    # reports of earlier versions have the groups in each entry, and no domains
    space = read_space(report["domains"]) if "domains" in report else None

    def read(entry: Mapping[str, Any]) -> PolicyDocument:
        if "policy" in entry or space is None:
            found: PolicyDocument = entry["policy"]
            return found
        return Policy(space, read_bits(entry["bits"], space.size)).document()

    return read


def frontier_policies(report: Mapping[str, Any]) -> list[PolicyDocument]:
    """Return the groups of each policy of a frontier, policy 1 first, from its report.

    Parameters
    ----------
    report : mapping
        Of `engine.frontier`, or read from `frontier.json`.

    Raises
    ------
    ValueError, KeyError, TypeError, IndexError
        It has another form.
    """
    return list(map(policy_reader(report), report["frontier"]))


def read_policies(path: str | Path, where: str) -> tuple[str, list[PolicyDocument]]:
    """Return the name of the job and the groups of each policy of a frontier, from the file of its report.

    Parameters
    ----------
    where : str
        How messages name the file.

    Raises
    ------
    InvalidJob
        The file cannot be read, or holds no report of a frontier.
    """
    try:
        report = strict_json(Path(path).read_bytes())
        documents: list[Any] = list(frontier_policies(report))
        name = str(report.get("name", ""))
    except OSError as problem:
        raise InvalidJob(f"{where} cannot be read ({problem.strerror})") from None
    except (ValueError, LookupError, TypeError, AttributeError, OverflowError):
        raise InvalidJob(f"{where} is no report of a frontier; write one with airflow-anon frontier --report") from None
    if not all(isinstance(document, Mapping) for document in documents):
        raise InvalidJob(f"{where} holds an entry without a policy; write it with airflow-anon frontier --report")
    return name, documents


def _domain(stored: Mapping[str, Any]) -> Domain:
    values = tuple(stored["values"])
    if not all(isinstance(text, str) for text in (stored["attribute"], *stored["names"])):
        raise TypeError("domains: their names must be texts")
    if stored["ordered"]:
        parents, separators = np.full(max(len(values) - 1, 0), -1, np.int32), np.arange(len(values) - 1, dtype=np.int32)
    else:
        parents, separators = np.array(stored["parents"], np.int32), np.array(stored["separators"], np.int32)
    if separators.size != max(len(values) - 1, 0) or len(stored["names"]) != (0 if stored["ordered"] else parents.size):
        raise ValueError("domains: their lists do not fit each other")
    return Domain(
        attribute=stored["attribute"],
        labels=values,
        ordered=bool(stored["ordered"]),
        parents=parents,
        names=tuple(stored["names"]),
        leaf_positions=np.arange(len(values), dtype=np.int32),
        separators=separators,
    )

"""The picture of the rooms: what it is made from, and what it refuses."""

from __future__ import annotations

import itertools
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.places import ROOT
from tools import rooms


def test_the_committed_picture_is_that_of_the_code() -> None:
    done = subprocess.run(
        [sys.executable, "tools/rooms.py", "--check"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_every_import_between_rooms_leads_to_a_row_below() -> None:
    uses = rooms.imports()
    for package in rooms.PACKAGES:
        row = {room: number for number, row in enumerate(rooms.layers(package)) for room in row}
        for room, targets in rooms.between_rooms(uses, package).items():
            assert all(row[target] > row[room] for target in targets), room


@pytest.mark.parametrize(
    ("uses", "members"),
    [
        ({"a": {"b"}, "b": {"c"}, "c": set()}, set()),
        ({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}, {"a", "b", "c"}),
        ({"a": {"b"}, "b": {"a"}}, {"a", "b"}),
    ],
)
def test_a_circle_is_found_with_its_members(uses: dict[str, set[str]], members: set[str]) -> None:
    assert set(rooms.circle(uses)) == members


@given(st.sets(st.tuples(st.integers(0, 6), st.integers(0, 6)).filter(lambda pair: pair[0] < pair[1])))
def test_arrows_that_are_drawn_lead_wherever_imports_lead_and_none_can_be_spared(pairs: set[tuple[int, int]]) -> None:
    uses: dict[str, set[str]] = {}
    for start, end in pairs:
        uses.setdefault(str(start), set()).add(str(end))
    drawn = set(rooms.direct(uses))
    assert reachable(drawn) == reachable({(str(start), str(end)) for start, end in pairs})
    assert all(arrow not in reachable(drawn - {arrow}) for arrow in drawn)


def reachable(pairs: set[tuple[str, str]]) -> set[tuple[str, str]]:
    """Return all pairs that a chain of pairs joins, by adding one after the other."""
    found = set(pairs)
    while True:
        longer = {(a, d) for (a, b), (c, d) in itertools.product(found, found) if b == c} - found
        if not longer:
            return found
        found |= longer

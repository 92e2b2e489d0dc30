"""Flat: any value, kept or removed."""

from __future__ import annotations

import pytest

from engine.errors import InvalidJob


def test_every_value_has_a_row_but_the_label_of_removed_ones(build, rows_of):
    builder = build(builder="flat")
    assert rows_of(builder, ["f", "m", "", "*", "1.5"]) == [("f", "*"), ("m", "*"), ("", "*"), ("1.5", "*")]


def test_labels(build):
    builder = build(builder="flat")
    assert builder.is_label("anything", 0)
    assert builder.is_label("*", 1)
    assert not builder.is_label("*", 0)
    assert not builder.is_label("anything", 1)


def test_it_has_no_keys(build):
    with pytest.raises(InvalidJob, match="unknown key 'groups'"):
        build(builder="flat", groups=[])

"""A trace of fewer persons than a class is told nowhere."""

import pytest

from airflow_anon.disclosure.traces import smallest_trace


@pytest.mark.parametrize(
    ("persons", "smallest", "told"),
    [(5, 5, 5), (1_500, 5, 1_500), (4, 5, None), (1, 5, None), (0, 5, None), (None, 5, None), (9, None, None)],
)
def test_a_trace_is_told_from_the_smallest_class_on(persons, smallest, told):
    assert smallest_trace(persons, smallest) == told

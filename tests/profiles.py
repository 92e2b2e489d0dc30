"""How many examples and cases are tried: `fast` in the gate, `thorough` in `make test-thorough`.

`--hypothesis-profile=thorough` chooses; `fast` is what pytest runs without it. In `fast` the examples are the same in
each run, so that a change is never refused for what another one brought in; `thorough` draws new ones each time, and
finds what those do not show. Tests say with `examples` how many they need, and the profile takes its share of them.
Of a long list of cases, `spread` and `only` leave the gate some.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest
from _pytest.mark.structures import ParameterSet
from hypothesis import HealthCheck, settings

FULL = 100
"""Examples of a property that asks for no number: Hypothesis's own default."""
MOST = 20
"""Examples of any property in `fast`: those that ask for most are the slowest ones."""

# The first example of a property may compile kernels; how long one takes says nothing about the code.
_ALWAYS = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True)

settings.register_profile("fast", parent=_ALWAYS, max_examples=FULL // 10, derandomize=True)
settings.register_profile("thorough", parent=_ALWAYS, max_examples=FULL, derandomize=False)


def choose() -> None:
    """Take `fast`; the option `--hypothesis-profile` comes after this and may choose another one."""
    settings.load_profile("fast")


def examples(number: int) -> int:
    """Return the profile's share of a number of examples: all in `thorough`, a tenth and at most `MOST` in `fast`."""
    return number if thorough() else max(1, min(number // 10, MOST))


def thorough() -> bool:
    """Whether everything is tried, and not only what the gate has time for."""
    return settings.get_current_profile_name() == "thorough"


def spread(cases: Iterable[Any], number: int) -> list[ParameterSet]:
    """Give cases for `parametrize`, of which the gate tries a number, evenly spread with the first and the last one.

    A case is the value of one argument, a tuple the values of several; the others have the mark `thorough`.
    """
    cases = list(cases)
    step = (len(cases) - 1) / max(1, number - 1)
    return _marked(cases, {round(at * step) for at in range(number)})


def only(cases: Iterable[Any], tried: Callable[[Any], bool]) -> list[ParameterSet]:
    """Give cases for `parametrize`, of which the gate tries those that a condition holds for; see `spread`."""
    cases = list(cases)
    return _marked(cases, {number for number, case in enumerate(cases) if tried(case)})


def _marked(cases: list[Any], kept: set[int]) -> list[ParameterSet]:
    found = []
    for number, case in enumerate(cases):
        one = case if isinstance(case, ParameterSet) else pytest.param(*(case if isinstance(case, tuple) else (case,)))
        marks = one.marks if number in kept else (*one.marks, pytest.mark.thorough)
        found.append(pytest.param(*one.values, marks=marks, id=one.id))
    return found

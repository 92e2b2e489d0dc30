"""How many examples the properties are tried on: `fast` in the gate, `thorough` in `make test-thorough`.

`--hypothesis-profile=thorough` chooses; `fast` is what pytest runs without it. In `fast` the examples are the same in
each run, so that a change is never refused for what another one brought in; `thorough` draws new ones each time, and
finds what those do not show. Tests say with `examples` how many they need, and the profile takes its share of them.
"""

from __future__ import annotations

from hypothesis import HealthCheck, settings

FULL = 100
"""Examples of a property that asks for no number: Hypothesis's own default."""

# The first example of a property may compile kernels; how long one takes says nothing about the code.
_ALWAYS = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True)

settings.register_profile("fast", parent=_ALWAYS, max_examples=FULL // 10, derandomize=True)
settings.register_profile("thorough", parent=_ALWAYS, max_examples=FULL, derandomize=False)


def choose() -> None:
    """Take `fast`; the option `--hypothesis-profile` comes after this and may choose another one."""
    settings.load_profile("fast")


def examples(number: int) -> int:
    """Return the profile's share of a number of examples: all of them in `thorough`, a tenth in `fast`."""
    return max(1, number * settings().max_examples // FULL)


def thorough() -> bool:
    """Whether everything is tried, and not only what the gate has time for."""
    return settings.get_current_profile_name() == "thorough"

"""No figure about fewer records than the smallest class allowed: the rule, for counts, shares and an attempt."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from airflow_anon.disclosure.counts import count, difference
from airflow_anon.disclosure.fractions import share
from airflow_anon.disclosure.records import records

counts = st.none() | st.integers(0, 40)
smallest = st.integers(1, 20)


def few(value, k):
    return value is not None and 0 < abs(value) < k


def known(figure):
    return figure["value"] is not None


@given(counts, smallest)
def test_a_count_is_shown_if_it_is_none_or_enough(number, k):
    shown = count(number, k)
    assert shown == ({"value": None, "below": k} if few(number, k) else {"value": number, "below": None})


@given(st.integers(0, 40), st.integers(1, 10_000), smallest)
def test_a_share_tells_no_count_of_few(part, total, k):
    shown = share(part / total, total, k)
    assert known(shown) == (not few(part, k))
    assert shown["below"] == (k if few(part, k) else None)


@given(counts, counts, smallest)
def test_a_difference_tells_no_count_of_few(now, before, k):
    """Neither how many more, nor, with the count that is shown, the one that is not."""
    shown = difference(count(now, k), count(before, k), k)
    if now is None or before is None or few(now, k) or few(before, k):
        assert shown == {"value": None, "below": None}
    else:
        assert shown == count(now - before, k)


attempts = st.builds(
    lambda source, suppressed, drop, with_share: {
        "source": source,
        "released": source - suppressed if drop else source,
        "suppressed": suppressed,
        "suppressed_share": suppressed / source if with_share else None,
    },
    st.integers(60, 200),
    st.integers(0, 50),
    st.booleans(),
    st.booleans(),
)


@given(attempts, smallest)
def test_no_figures_of_a_release_together_tell_a_count_of_few(attempt, k):
    """By every way to compute the suppressed records from what is shown."""
    found = records(k, **attempt)
    suppressed = attempt["suppressed"]
    told = [found["suppressed"]["value"]]
    if known(found["source"]) and known(found["released"]):
        told.append(found["source"]["value"] - found["released"]["value"])
    if known(found["source"]) and known(found["suppressed_share"]):
        told.append(round(found["source"]["value"] * found["suppressed_share"]["value"]))
    assert not any(few(one, k) for one in told if one is not None)
    if not few(suppressed, k):
        assert found["suppressed"]["value"] == suppressed

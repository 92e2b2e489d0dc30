"""The static picture: read back by its own axes, it shows the report's figures."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from engine.frontiers.page.chart import picture
from engine.frontiers.page.chart_data import spans_decades
from engine.frontiers.page.scale import Scale
from tests.engine.frontiers.frontier_report import frontier_report

SVG = "{http://www.w3.org/2000/svg}"


def number(attribute):
    return float(attribute)


def drawn(report):
    return ET.fromstring(picture(report))  # noqa: S314 (our own text)


def texts(svg):
    return [
        (number(text.get("x")), number(text.get("y")), text.text) for text in svg.iter(f"{SVG}text") if text.get("x")
    ]


def axes_of(svg):
    """Give functions from pixels to risk and loss, fitted to the tick labels alone."""
    risks = [(x, float(label[:-1]) / 100) for x, _, label in texts(svg) if label.endswith("%")]
    losses = [(y - 4, float(label)) for _, y, label in texts(svg) if re.fullmatch(r"[0-9.]+", label) and x_of_ticks(_)]
    return fitted(risks), fitted(losses)


def x_of_ticks(x):
    """Tell labels of the vertical axis from the numbers of the short list, which lie right of it."""
    return x < 78


def fitted(ticks):
    places, values = np.array(ticks).T
    straight = np.polyfit(places, values, 1)
    if np.allclose(np.polyval(straight, places), values, rtol=1e-2, atol=1e-3 * values.max()):
        return lambda place: float(np.polyval(straight, place))
    steep = np.polyfit(places, np.log(values), 1)
    return lambda place: float(np.exp(np.polyval(steep, place)))


@pytest.mark.parametrize("count", [5, 120])
def test_marks_lie_where_the_ticks_say(count):
    """The frontier's points, and Safe Harbor's, within a pixel's worth."""
    report = frontier_report(count)
    svg = drawn(report)
    risk_at, loss_at = axes_of(svg)
    marks = [circle for circle in svg.iter(f"{SVG}circle") if circle.get("r") == "2.4"][1:]
    assert len(marks) == count
    for circle, entry in zip(marks, report["frontier"], strict=True):
        assert risk_at(number(circle.get("cx"))) == pytest.approx(entry["risk"], rel=0.02)
        assert loss_at(number(circle.get("cy"))) == pytest.approx(entry["utility_loss"], abs=0.01)
    diamonds = [path.get("d") for path in svg.iter(f"{SVG}path") if path.get("d").endswith("l8 8l-8 8l-8 -8z")]
    x, y = map(float, re.match(r"M([0-9.]+) ([0-9.]+)", diamonds[-1]).groups())
    assert risk_at(x) == pytest.approx(report["safe_harbor"]["risk"], rel=0.02)
    assert loss_at(y + 8) == pytest.approx(report["safe_harbor"]["utility_loss"], abs=0.01)


@pytest.mark.parametrize("count", [120, 1_200])
def test_numbers_of_the_short_list_do_not_cover_each_other(count):
    """A number is the place on the frontier; it may have four digits and a comma."""
    report = frontier_report(count)
    numbers = [f"{item['index'] + 1:,}" for item in report["shortlist"]]
    found = [(x, y, label) for x, y, label in texts(drawn(report)) if label in numbers and x > 78 and y > 80]
    assert [label for _, _, label in found] == numbers
    assert len(numbers) == 7
    for place, (x, y, label) in enumerate(found):
        assert all(abs(x - u) >= 4 * (len(label) + len(other)) or abs(y - v) >= 19 for u, v, other in found[:place])
        assert 78 + 4 * len(label) < x < 960 - 4 * len(label)


@pytest.mark.parametrize("corner", [(0.0, 1.0), (1.0, 0.0), (1.0, 1.0), (0.0, 0.0)])
def test_a_number_in_a_corner_is_inside(corner):
    report = frontier_report(2)
    for entry, (risk, loss) in zip(report["frontier"], (corner, (0.5, 0.5)), strict=True):
        entry.update(risk=0.02 + 0.06 * risk, utility_loss=2.4 * loss)
    report.update(shortlist=[{**report["frontier"][0], "index": 0, "why": "A."}])
    (found,) = [(x, y) for x, y, label in texts(drawn(report)) if label == "1" and x > 78]
    assert 88 <= found[0] <= 950
    assert 106 <= found[1] <= 540


def test_everything_may_be_missing():
    report = frontier_report(1, safe_harbor=False)
    report.update(current=None, k_anonymity={}, shortlist=[])
    labels = {label for _, _, label in texts(drawn(report))}
    assert "Frontier" in labels
    assert not labels & {"Safe Harbor", "Policy in use", "Worth a look, by number", "5-anonymity"}


def test_any_name_makes_a_document():
    """Markup stands as text; what XML cannot hold is replaced."""
    name = 'a<script>alert("x")</script>&\x00\x0b\ud800'
    svg = drawn(frontier_report(5, name=name))
    assert not list(svg.iter(f"{SVG}script"))
    assert 'a<script>alert("x")</script>&\ufffd\ufffd\ufffd' in svg.find(f"{SVG}title").text


values = st.floats(1e-9, 1e6)


@given(st.lists(values, min_size=1, max_size=20), st.booleans())
def test_an_axis_shows_all_values_in_their_order(found, logarithmic):
    axis = Scale.around(found, logarithmic=logarithmic)
    places = [axis.place(value) for value in sorted(found)]
    assert places == sorted(places)
    assert 0 <= places[0] <= places[-1] <= 1


@given(values, values, st.booleans())
def test_ticks_are_few_round_and_on_the_axis(low, high, logarithmic):
    assume(not logarithmic or spans_decades([low, high]))
    axis = Scale.around([low, high], logarithmic=logarithmic)
    ticks = axis.ticks()
    assert ticks == sorted(ticks)
    assert 2 <= len(ticks) <= 17
    assert all(-1e-9 <= axis.place(tick) <= 1 + 1e-9 if tick else not logarithmic for tick in ticks)
    if logarithmic:
        assert all(f"{tick:.0e}"[0] in "125" and float(f"{tick:.0e}") == pytest.approx(tick) for tick in ticks)


def test_equal_ratios_are_equal_distances_on_a_logarithmic_axis():
    axis = Scale.around([1e-4, 1e-1], logarithmic=True)
    steps = np.diff([axis.place(10.0**power) for power in (-4, -3, -2, -1)])
    assert steps == pytest.approx([steps[0]] * 3)


@pytest.mark.parametrize(
    ("risks", "expected"), [([], False), ([0.0, 1.0], False), ([0.1, 1.0], False), ([0.001, 1.0], True), ([0.5], False)]
)
def test_an_axis_is_logarithmic_if_it_spans_decades_and_has_no_zero(risks, expected):
    assert spans_decades(risks) is expected

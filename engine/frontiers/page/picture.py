"""The static picture of a frontier: SVG, without a browser or a drawing library.

In: the report. Out: one SVG document with axes, a legend, the frontier as a staircase (points above and to the right of
it are dominated), the k-anonymity frontiers, Safe Harbor, the current policy, and the short list by its numbers.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from xml.sax.saxutils import escape

from engine.frontiers.page.chart_data import chart_data
from engine.frontiers.page.scale import Scale

WIDTH, HEIGHT = 960, 600
LEFT, RIGHT, TOP, BOTTOM = 78, 24, 96, 64
BADGE = 10
"""Half the height of the number of a policy on the short list; all lengths are in pixels."""
INK, FAINT, GRID = "#1b1f24", "#57606a", "#e3e6ea"
COLOURS = ("#0072b2", "#009e73", "#aa4499", "#997700", "#44aa99")
"""Colours of the frontier and of the k-anonymity frontiers; colour-blind readers can distinguish them too."""
BETTER = "#e6f3ef"
SAFE_HARBOR, CURRENT = "#d55e00", "#1b1f24"
NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def picture(report: Mapping[str, Any]) -> str:
    """Draw the frontier.

    Parameters
    ----------
    report : mapping
        The report of a frontier.

    Returns
    -------
    str
        A well-formed SVG document without scripts, fonts or images from outside.
    """
    drawing = _Drawing(report)
    title = _text(f"Risk and utility of policies: {report['name']}")
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
        'role="img" font-family="system-ui, Helvetica, Arial, sans-serif" font-size="13">'
    )
    return "\n".join(
        [
            head,
            f"<title>{title}</title>",
            f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
            f'<text x="{LEFT}" y="34" font-size="19" font-weight="600" fill="{INK}">{title}</text>',
            *drawing.better(),
            *drawing.axes(),
            *drawing.legend(),
            *drawing.beaten(),
            *drawing.series(),
            *drawing.shortlist(),
            "</svg>\n",
        ]
    )


def _text(text: str) -> str:
    """Return text that is allowed in an XML document."""
    return escape(NOT_IN_XML.sub("\ufffd", text), {'"': "&quot;"})


class _Drawing:
    """The parts of the picture, on common axes."""

    def __init__(self, report: Mapping[str, Any]) -> None:
        self._data = chart_data(report)
        entries = self._data["entries"]
        self._risk = Scale.around([entry[0] for entry in entries], logarithmic=self._data["logarithmic"])
        self._loss = Scale.around([entry[1] for entry in entries], logarithmic=False)

    def _x(self, risk: float) -> float:
        return LEFT + self._risk.place(risk) * (WIDTH - LEFT - RIGHT)

    def _y(self, loss: float) -> float:
        return HEIGHT - BOTTOM - self._loss.place(loss) * (HEIGHT - TOP - BOTTOM)

    def _point(self, entry: int) -> tuple[float, float]:
        risk, loss = self._data["entries"][entry][:2]
        return self._x(risk), self._y(loss)

    def better(self) -> Iterator[str]:
        """Yield the area in which both figures are below those of Safe Harbor, if there is any."""
        found = [series["entries"][0] for series in self._data["series"] if series["kind"] == "safe-harbor"]
        for x, y in map(self._point, found):
            yield f'<path d="M{LEFT} {y:.1f}H{x:.1f}V{HEIGHT - BOTTOM}H{LEFT}z" fill="{BETTER}"/>'
            yield (
                f'<text x="{LEFT + 8}" y="{HEIGHT - BOTTOM - 9}" font-size="12" fill="{FAINT}">'
                "better than Safe Harbor in both</text>"
            )

    def axes(self) -> Iterator[str]:
        """Yield grid, ticks and titles of both axes."""
        floor, end = HEIGHT - BOTTOM, WIDTH - RIGHT
        for tick in self._risk.ticks():
            x = self._x(tick)
            yield f'<path d="M{x:.1f} {TOP}V{floor}" stroke="{GRID}"/>'
            yield f'<text x="{x:.1f}" y="{floor + 19}" text-anchor="middle" fill="{FAINT}">{100 * tick:.3g}%</text>'
        for tick in self._loss.ticks():
            y = self._y(tick)
            yield f'<path d="M{LEFT} {y:.1f}H{end}" stroke="{GRID}"/>'
            yield f'<text x="{LEFT - 9}" y="{y + 4:.1f}" text-anchor="end" fill="{FAINT}">{tick:.3g}</text>'
        yield f'<path d="M{LEFT} {TOP}V{floor}H{end}" fill="none" stroke="{FAINT}"/>'
        middle, centre = (LEFT + end) / 2, (TOP + floor) / 2
        risk, loss = _text(self._data["risk"]), _text(self._data["loss"])
        yield f'<text x="{middle}" y="{HEIGHT - 16}" text-anchor="middle" fill="{INK}">{risk}</text>'
        yield f'<text transform="translate(22 {centre}) rotate(-90)" text-anchor="middle" fill="{INK}">{loss}</text>'

    def _styled(self) -> Iterator[tuple[Mapping[str, Any], str]]:
        """Yield each series with its colour."""
        lines = itertools.cycle(COLOURS)
        for series in self._data["series"]:
            marks = {"safe-harbor": SAFE_HARBOR, "current": CURRENT}
            yield series, marks.get(series["kind"]) or next(lines)

    def legend(self) -> Iterator[str]:
        """Yield a mark and a name for each series, in one row under the title."""
        x = float(LEFT)
        for series, colour in self._styled():
            yield _mark(series["kind"], x + 6, 62, colour)
            yield f'<text x="{x + 19:.0f}" y="66" fill="{INK}">{_text(series["label"])}</text>'
            x += 42 + 7.2 * len(series["label"])
        if self._data["shortlist"]:
            yield _badge("n", x + 8, 62)
            yield f'<text x="{x + 24:.0f}" y="66" fill="{INK}">Worth a look, by number</text>'

    def series(self) -> Iterator[str]:
        """Yield lines and marks, single marks last so that no line hides them."""
        for series, colour in self._styled():
            points = [self._point(entry) for entry in series["entries"]]
            if series["kind"] in {"frontier", "k-anonymity"}:
                dashes = ' stroke-dasharray="4 4"' if series["kind"] == "k-anonymity" else ""
                yield f'<path d="{_staircase(points)}" fill="none" stroke="{colour}" stroke-width="1.6"{dashes}/>'
            marks = "".join(dict.fromkeys(_mark(series["kind"], x, y, colour) for x, y in points))
            yield f"<g><title>{_text(series['note'])}</title>{marks}</g>" if "note" in series else marks

    def beaten(self) -> Iterator[str]:
        """Yield the sentence that says why marks off the frontier are shown, if there are any."""
        if self._data["beaten"]:
            yield (
                f'<text x="{LEFT}" y="86" font-size="12" fill="{FAINT}">Marks off the frontier are shown for '
                "comparison: a policy of the frontier has less risk or less utility loss, and no more of the other."
                "</text>"
            )

    def shortlist(self) -> Iterator[str]:
        """Yield the numbers, each a little beside its policy, farther if another one or the edge is in the way."""
        taken: list[tuple[float, float, float]] = []
        for chosen in self._data["shortlist"]:
            x, y = self._point(chosen["entry"])
            # the entries begin with those of the frontier, whose places are the policies' numbers
            number = f"{chosen['entry'] + 1:,}"
            right, down = _beside(x, y, _half(number), taken)
            taken.append((x + right, y + down, _half(number)))
            yield f'<path d="M{x:.1f} {y:.1f}l{right:.1f} {down:.1f}" stroke="{INK}"/>'
            yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{INK}"/>'
            yield _badge(number, x + right, y + down)


def _beside(x: float, y: float, half: float, taken: Sequence[tuple[float, float, float]]) -> tuple[float, float]:
    """Return how far right and down of a policy its number has its place: the nearest free one, the upper right first.

    `taken` has the centre of each earlier number and half its width.
    """
    for distance in range(20, HEIGHT, BADGE):
        for right, down in ((distance, -distance), (-distance, distance), (-distance, -distance), (distance, distance)):
            u, v = x + right, y + down
            inside = LEFT + half < u < WIDTH - half and TOP + BADGE < v < HEIGHT - BOTTOM - BADGE
            if inside and all(abs(u - a) >= half + own or abs(v - b) >= 2 * BADGE for a, b, own in taken):
                return right, down
    return 20, -20


def _staircase(points: Sequence[tuple[float, float]]) -> str:
    """Return a path that keeps the loss up to the risk of the next policy; steps too small to see are left out."""
    path = [f"M{points[0][0]:.1f} {points[0][1]:.1f}"]
    steps = dict.fromkeys((f"{x:.1f}", f"{y:.1f}") for x, y in points[1:])
    path += [f"H{x}V{y}" for x, y in steps]
    return "".join(path)


def _mark(kind: str, x: float, y: float, colour: str) -> str:
    """Return a mark whose shape shows the kind of series, so colour is not needed."""
    if kind == "frontier":
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.4" fill="{colour}"/>'
    if kind == "k-anonymity":
        return f'<path d="M{x - 4:.1f} {y - 4:.1f}h8v8h-8z" fill="#ffffff" stroke="{colour}" stroke-width="2"/>'
    if kind == "safe-harbor":
        return f'<path d="M{x:.1f} {y - 8:.1f}l8 8l-8 8l-8 -8z" fill="{colour}" stroke="#ffffff"/>'
    return f'<path d="M{x - 6:.1f} {y - 6:.1f}l12 12m0 -12l-12 12" stroke="{colour}" stroke-width="3"/>'


def _half(text: str) -> int:
    """Return half the width of a number's badge."""
    return max(BADGE, 4 * len(text) + 3)


def _badge(text: str, x: float, y: float) -> str:
    half = _half(text)
    return (
        f'<rect x="{x - half:.1f}" y="{y - BADGE:.1f}" width="{2 * half}" height="{2 * BADGE}" rx="{BADGE}" '
        f'fill="{INK}"/>'
        f'<text x="{x:.1f}" y="{y + 4.5:.1f}" text-anchor="middle" font-weight="600" fill="#ffffff">{text}</text>'
    )

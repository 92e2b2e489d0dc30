"""Draw the rooms of both packages from the code: `make rooms`, or `python tools/rooms.py --check`.

In: the imports of every module (lazy ones and those for types included), the layers in `pyproject.toml`, and the first
sentence of each room's docstring. Out: `docs/images/rooms.svg`; with `--check` nothing is written, and the exit status
is 1 if the picture is out of date or files import each other in a circle.
"""

from __future__ import annotations

import argparse
import ast
import graphlib
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

import grimp

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[1]
PICTURE = ROOT / "docs" / "images" / "rooms.svg"
PACKAGES = ("airflow_anon", "engine")

WIDTH, BETWEEN, MARGIN, GAP = 640, 30, 16, 8
BOX_HEIGHT, ROW_GAP, HEAD = 54, 18, 50
NARROW = 150
"""Boxes narrower than this, in pixels, have no room for their text."""
COLOURS = {"airflow_anon": ("#e8f1fb", "#2b6cb0"), "engine": ("#eaf6ee", "#2f855a")}

Uses = Mapping[str, set[str]]
"""The names that each name imports from."""


@dataclass(frozen=True)
class Box:
    """A room in the picture: its package, name and text, and its place in pixels."""

    package: str
    name: str
    says: str
    x: float
    y: float
    width: float


def imports() -> dict[str, set[str]]:
    """Return the modules of both packages that each of their modules imports."""
    graph = grimp.build_graph(*PACKAGES, exclude_type_checking_imports=False)
    return {module: set(graph.find_modules_directly_imported_by(module)) for module in sorted(graph.modules)}


def circle(uses: Uses) -> list[str]:
    """Return modules that import each other in a circle, the first one again at the end; empty if there is none."""
    try:
        graphlib.TopologicalSorter(uses).prepare()
    except graphlib.CycleError as found:
        return list(found.args[1])
    return []


def layers(package: str) -> list[list[str]]:
    """Return the rows of rooms of a package, top row first, from the import rules."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    rows = next(contract["layers"] for contract in contracts if contract.get("containers") == [package])
    return [[room.strip() for room in row.split("|") if room.strip() != "__main__"] for row in rows]


def room_of(module: str) -> tuple[str, str]:
    """Return package and room of a module; a module directly in the package is its own room."""
    package, _, rest = module.partition(".")
    return package, rest.partition(".")[0]


def between_rooms(uses: Uses, package: str) -> dict[str, set[str]]:
    """Return which rooms of a package each of its rooms imports from."""
    known = {room for row in layers(package) for room in row}
    found: dict[str, set[str]] = {}
    for module, imported in uses.items():
        for other in imported:
            (here, room), (there, target) = room_of(module), room_of(other)
            if here == there == package and room in known and target in known and room != target:
                found.setdefault(room, set()).add(target)
    return found


def direct(uses: Uses) -> Iterator[tuple[str, str]]:
    """Yield the arrows between rooms that no longer path replaces (the transitive reduction)."""

    def reaches(start: str, end: str) -> bool:
        return any(step == end or reaches(step, end) for step in uses.get(start, ()))

    for room, targets in sorted(uses.items()):
        for target in sorted(targets):
            if not any(other != target and reaches(other, target) for other in targets):
                yield room, target


def says(package: str, room: str) -> str:
    """Return the first sentence of a room's docstring."""
    folder = ROOT / package / room
    file = folder / "__init__.py" if folder.is_dir() else folder.with_suffix(".py")
    text = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
    return " ".join(text.split("\n\n")[0].split()).partition(". ")[0].removesuffix(".")


def boxes(package: str, left: float) -> list[Box]:
    """Place the rooms of a package, row by row."""
    placed = []
    for number, row in enumerate(row for row in layers(package) if row):
        width = (WIDTH - GAP * (len(row) - 1)) / len(row)
        for place, room in enumerate(row):
            x, y = left + place * (width + GAP), HEAD + number * (BOX_HEIGHT + ROW_GAP)
            placed.append(Box(package, room, says(package, room), x, y, width))
    return placed


def drawn_box(box: Box) -> Iterator[str]:
    """Yield the SVG of a room."""
    fill, line = COLOURS[box.package]
    yield (
        f'<rect x="{box.x:.0f}" y="{box.y:.0f}" width="{box.width:.0f}" height="{BOX_HEIGHT}" rx="6" fill="{fill}" '
        f'stroke="{line}"/>'
    )
    size = 14 if box.width >= NARROW else 11
    yield (
        f'<text x="{box.x + 10:.0f}" y="{box.y + 18:.0f}" font-weight="bold" font-size="{size}" fill="{line}">'
        f"{escape(box.name)}</text>"
    )
    lines = textwrap.wrap(box.says, int(box.width / 5.8), max_lines=2, placeholder=" …") if box.width >= NARROW else []
    for number, text in enumerate(lines):
        yield f'<text x="{box.x + 10:.0f}" y="{box.y + 34 + number * 13:.0f}" font-size="11">{escape(text)}</text>'


def drawn_arrow(start: Box, end: Box, shares: tuple[float, float]) -> str:
    """Return the SVG of an arrow from the lower edge of a room to the upper edge of another."""
    x1, y1 = start.x + start.width * shares[0], start.y + BOX_HEIGHT
    x2, y2 = end.x + end.width * shares[1], end.y - 3
    return f'<path d="M{x1:.0f} {y1:.0f} L{x2:.0f} {y2:.0f}" stroke="#4a5568" fill="none" marker-end="url(#head)"/>'


def drawn_arrows(placed: Sequence[Box], uses: Uses) -> Iterator[str]:
    """Yield the arrows of a package; arrows of the same room start and end side by side."""
    at = {box.name: box for box in placed}
    arrows = list(direct(uses))
    for start, end in arrows:
        leaving = sorted((other for room, other in arrows if room == start), key=lambda name: at[name].x)
        reaching = sorted((room for room, other in arrows if other == end), key=lambda name: at[name].x)
        shares = (
            (leaving.index(end) + 1) / (len(leaving) + 1),
            (reaching.index(start) + 1) / (len(reaching) + 1),
        )
        yield drawn_arrow(at[start], at[end], shares)


def picture(uses: Uses) -> str:
    """Return the SVG of both packages, `airflow_anon` beside the engine that it calls."""
    parts, bottom = [], 0.0
    notes = {"airflow_anon": "calls only the names of engine itself", "engine": "knows nothing of Airflow"}
    for number, package in enumerate(PACKAGES):
        left = MARGIN + number * (WIDTH + BETWEEN)
        placed = boxes(package, left)
        bottom = max(bottom, *(box.y + BOX_HEIGHT for box in placed))
        parts.append(
            f'<text x="{left}" y="32" font-size="17" font-weight="bold">{package}/'
            f'<tspan font-weight="normal" font-size="12" fill="#718096" dx="8">{notes[package]}</tspan></text>'
        )
        parts += drawn_arrows(placed, between_rooms(uses, package))
        parts += [line for box in placed for line in drawn_box(box)]
    parts.append(
        f'<text x="{MARGIN}" y="{bottom + 26:.0f}" font-size="12" fill="#718096">A room imports only from rows below. '
        "An arrow that a longer path replaces is left out.</text>"
    )
    width, height = 2 * MARGIN + 2 * WIDTH + BETWEEN, bottom + 26 + MARGIN
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height:.0f}" width="{width}" '
        f'height="{height:.0f}" font-family="system-ui, sans-serif" font-size="14">\n'
        '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0 L8 4 L0 8 z" fill="#4a5568"/></marker></defs>\n'
        f'<rect width="{width}" height="{height:.0f}" fill="white"/>\n'
    )
    return head + "\n".join(parts) + "\n</svg>\n"


def main() -> int:
    """Write the picture or compare it."""
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--check", action="store_true", help="write nothing; exit with 1 if something is wrong")
    check = options.parse_args().check
    uses = imports()
    found = circle(uses)
    if found:
        print("a circle of imports: " + " -> ".join(found), file=sys.stderr)
        return 1
    made = picture(uses)
    if not check:
        PICTURE.write_text(made, encoding="utf-8")
        return 0
    if PICTURE.exists() and PICTURE.read_text(encoding="utf-8") == made:
        return 0
    print(f"{PICTURE.relative_to(ROOT)}: is out of date; run make rooms", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
